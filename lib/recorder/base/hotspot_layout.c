// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "base/hotspot_layout.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libjvm.so"
#define DELETED " (deleted)"
#define ENTRIES_MAX 8192 /* of a table; JDK 17 has about 800 */
#define ENTRY_BYTES 256	 /* of one; 48 in all versions */
#define AT_ONCE_BYTES 4096
#define LONGEST_NAME 64

/* Variables that say where a table is, and how its entries are laid out: each part is a word, at most. */
enum { ENTRIES, STRIDE, TYPE, FIELD, VALUE, ADDRESS, VARIABLES };

static const char *const of_fields[VARIABLES] = {
	[ENTRIES] = "gHotSpotVMStructs",
	[STRIDE] = "gHotSpotVMStructEntryArrayStride",
	[TYPE] = "gHotSpotVMStructEntryTypeNameOffset",
	[FIELD] = "gHotSpotVMStructEntryFieldNameOffset",
	[VALUE] = "gHotSpotVMStructEntryOffsetOffset",
	[ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
};
static const char *const of_sizes[VARIABLES] = {
	[ENTRIES] = "gHotSpotVMTypes",
	[STRIDE] = "gHotSpotVMTypeEntryArrayStride",
	[TYPE] = "gHotSpotVMTypeEntryTypeNameOffset",
	[VALUE] = "gHotSpotVMTypeEntrySizeOffset",
};

static bool is_library(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !strcmp(name, LIBRARY) || !strcmp(name, LIBRARY DELETED);
}

/* The library's parts are neighbours, with anonymous memory behind them. */
void hotspot_library_add(struct hotspot_library *library, const struct mapping *mapping)
{
	if (!library->inode && mapping->inode && !mapping->offset && is_library(mapping->path)) {
		library->inode = mapping->inode;
		library->object.start = mapping->start;
	}
	if (library->inode && mapping->inode == library->inode)
		library->object.end = mapping->end;
}

struct table {
	int memory;
	uint64_t at[VARIABLES];
	uint64_t first, held; /* entries in bytes */
	uint8_t bytes[AT_ONCE_BYTES];
};

static int read_variables(struct loaded_object *library, const char *const names[VARIABLES], uint64_t at[VARIABLES])
{
	for (int i = 0; i < VARIABLES; i++) {
		uint64_t address = 0;
		int err = names[i] ? memory_symbol(library, names[i], &address) : 0;

		if (err)
			return err;
		if (names[i] && !memory_read(library->memory, address, &at[i], sizeof(at[i])))
			return -ENOEXEC;
	}
	if (at[STRIDE] > ENTRY_BYTES || at[STRIDE] < sizeof(uint64_t))
		return -ENOEXEC;
	for (int i = TYPE; i < VARIABLES; i++)
		if (at[i] > at[STRIDE] - sizeof(uint64_t))
			return -ENOEXEC;
	return 0;
}

/* NULL: it cannot be read. */
static const uint8_t *entry_of(struct table *table, uint64_t index)
{
	const uint64_t stride = table->at[STRIDE];
	ssize_t length;

	if (index >= table->first + table->held) {
		length = pread(table->memory, table->bytes, sizeof(table->bytes),
			       (off_t)(table->at[ENTRIES] + index * stride));
		table->first = index;
		table->held = length > 0 ? length / stride : 0;
	}
	return table->held ? table->bytes + (index - table->first) * stride : NULL;
}

static uint64_t word_at(const uint8_t *bytes, uint64_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static const struct hotspot_wanted *find(const struct hotspot_wanted *wanted, size_t count, const char *type,
					 const char *field)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(wanted[i].type, type) && (!field || !strcmp(wanted[i].field, field)))
			return &wanted[i];
	return NULL;
}

static int read_table(struct loaded_object *library, const char *const names[VARIABLES],
		      const struct hotspot_wanted *wanted, size_t count)
{
	char type[LONGEST_NAME] = "", field[LONGEST_NAME];
	struct table table = { .memory = library->memory };
	const uint64_t *at = table.at;
	uint64_t last_type = 0;
	int err = read_variables(library, names, table.at);

	for (int i = 0; i < ENTRIES_MAX && !err; i++) {
		const uint8_t *entry = entry_of(&table, i);
		const struct hotspot_wanted *found;
		uint64_t this_type;

		if (!entry)
			return -ENOEXEC;
		this_type = word_at(entry, at[TYPE]);
		if (!this_type)
			return 0;
		/* All fields of a type have the same text. */
		if (this_type != last_type && !memory_text(library->memory, this_type, type, sizeof(type)))
			*type = '\0';
		last_type = this_type;
		found = find(wanted, count, type, NULL);
		if (found && names[FIELD])
			found = memory_text(library->memory, word_at(entry, at[FIELD]), field, sizeof(field))
					? find(wanted, count, type, field)
					: NULL;
		if (found && names[ADDRESS] && word_at(entry, at[ADDRESS]))
			*found->value = word_at(entry, at[ADDRESS]);
		else if (found)
			*found->value = word_at(entry, at[VALUE]);
	}
	return err ?: -ENOEXEC;
}

int hotspot_layout_fields(struct loaded_object *library, const struct hotspot_wanted *wanted, size_t count)
{
	return read_table(library, of_fields, wanted, count);
}

int hotspot_layout_sizes(struct loaded_object *library, const struct hotspot_wanted *wanted, size_t count)
{
	return read_table(library, of_sizes, wanted, count);
}
