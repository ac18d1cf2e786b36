// SPDX-License-Identifier: GPL-2.0-only
/*
 * The counters in a copy of PerfMemory as text.  It begins with a head of 32 bytes, whose first ones say how it is laid
 * out, then come entries: lengths, offsets, a name, a value.  The format has been the same since JDK 1.5.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "facts/hotspot.h"

#define LITTLE_ENDIAN_BYTES 1
#define LONGEST_NAME 96
#define LONGEST_VALUE 64
#define ALLOWED_IN_NAMES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"

struct head {
	uint8_t magic[4]; /* ca fe c0 c0 */
	uint8_t byte_order, major, minor, accessible;
	uint32_t used, overflow;
	uint64_t modified;
	uint32_t first_entry, entries;
};

struct entry {
	uint32_t length, name, vector_length;
	uint8_t type, flags, units, variability;
	uint32_t value;
};

_Static_assert(sizeof(struct head) == PERF_MEMORY_HEAD && sizeof(struct entry) == 20, "as HotSpot lays them out");

/* Others hold the command line, properties or names of methods: they are none of a report's business. */
static const char *const wanted[] = {
	"java.cls.",
	"java.property.java.vm.name",
	"java.property.java.vm.version",
	"java.threads.",
	"sun.gc.",
	"sun.os.hrt.",
	"sun.rt._sync_",
	"sun.rt.applicationTime",
	"sun.rt.createVmBeginTime",
	"sun.rt.safepoint",
};

static const char *const left_out[] = { ".agetable.", ".tlab.", ".initCapacity", ".minCapacity", "enuring" };

static bool is_wanted(const char *name)
{
	if (name[strspn(name, ALLOWED_IN_NAMES)])
		return false;
	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
		if (strstr(name, left_out[i]))
			return false;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (!strncmp(name, wanted[i], strlen(wanted[i])))
			return true;
	return false;
}

size_t perf_memory_used(const void *bytes)
{
	static const uint8_t magic[] = { 0xca, 0xfe, 0xc0, 0xc0 };
	struct head head;

	memcpy(&head, bytes, sizeof(head));
	if (memcmp(head.magic, magic, sizeof(magic)) || head.byte_order != LITTLE_ENDIAN_BYTES || head.major != 2 ||
	    !head.accessible || head.used < sizeof(head) || head.used > PERF_MEMORY_MAX)
		return 0;
	return head.used;
}

/* The text at an offset of an entry, if it ends there and is no longer than to[size]; false: it is not wanted. */
static bool take_text(const uint8_t *at, uint32_t offset, uint32_t length, char *to, size_t size)
{
	size_t room = offset < length ? length - offset : 0,
	       bytes = strnlen((const char *)at + (room ? offset : 0), room);

	if (bytes == room || bytes >= size)
		return false;
	memcpy(to, at + offset, bytes + 1);
	return true;
}

static bool take_value(const uint8_t *at, const struct entry *entry, char *value, size_t size)
{
	int64_t number;

	if (entry->type == 'B' && entry->vector_length) {
		if (!take_text(at, entry->value, entry->length, value, size))
			return false;
		for (char *byte = value; *byte; byte++)
			if (!isascii(*byte) || !isprint(*byte))
				*byte = '?';
		return true;
	}
	if (entry->type != 'J' || entry->vector_length || entry->length < sizeof(number) ||
	    entry->value > entry->length - sizeof(number))
		return false;
	memcpy(&number, at + entry->value, sizeof(number));
	snprintf(value, size, "%" PRId64, number);
	return true;
}

static void add_line(struct fact_text *fact, size_t limit, const char *name, const char *value)
{
	size_t length = strlen(name) + strlen(value) + 2;

	if (fact->length + length >= limit) {
		fact->truncated = true;
		return;
	}
	fact->length += sprintf(fact->text + fact->length, "%s %s\n", name, value);
}

void perf_memory_text(const uint8_t *memory, size_t length, size_t limit, struct fact_text *fact)
{
	struct head head;
	size_t at;

	if (length < sizeof(head))
		return;
	memcpy(&head, memory, sizeof(head));
	at = head.first_entry;
	limit = limit < sizeof(fact->text) ? limit : sizeof(fact->text);
	for (uint32_t i = 0; i < head.entries && at <= length && length - at > sizeof(struct entry); i++) {
		char name[LONGEST_NAME], value[LONGEST_VALUE];
		struct entry entry;

		memcpy(&entry, memory + at, sizeof(entry));
		if (entry.length < sizeof(entry) || entry.length > length - at)
			return; /* no next entry can be found */
		if (take_text(memory + at, entry.name, entry.length, name, sizeof(name)) && is_wanted(name) &&
		    take_value(memory + at, &entry, value, sizeof(value)))
			add_line(fact, limit, name, value);
		at += entry.length;
	}
}
