// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table from which Go names the functions of a panic.  strip and -ldflags=-s keep it: of most servers in Go it is
 * the only one that names anything.
 *
 * CANNOT  read tables of before Go 1.18, nor those since 1.26 whose program begins in C (cgo): they do not say where
 * their code begins.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/param.h>
#include "symbols/go_symbols.h"

#define SINCE_1_18 0xfffffff0
#define SINCE_1_20 0xfffffff1 /* the same but for what it says of calls that were inlined */
#define LONGEST_NAME 4096

/* As src/runtime/symtab.go has it on machines of 64 bits; offsets are from its begin. */
struct go_header {
	uint32_t magic;
	uint8_t zero[2], smallest_instruction, pointer_bytes;
	uint64_t functions, files;
	uint64_t text; /* address of the first function's section; 0 since 1.26 */
	uint64_t names, units, file_names, lines;
	uint64_t table; /* of functions, by address, and behind it what is known of each */
};

struct go_entry {
	uint32_t start;	   /* from text */
	uint32_t function; /* from table */
};

struct go_function {
	uint32_t start;
	int32_t name; /* from names */
};

static bool is_header(const struct go_table *from, const struct go_header *header)
{
	uint64_t room;

	if ((header->magic != SINCE_1_18 && header->magic != SINCE_1_20) || header->zero[0] || header->zero[1] ||
	    header->pointer_bytes != sizeof(uint64_t) || header->table > from->bytes || header->names > from->bytes)
		return false;
	room = (from->bytes - header->table) / sizeof(struct go_entry);
	return header->functions && header->functions < room; /* one entry more is the end of the last function */
}

/* Copied, as a hostile file may put it at any address. */
static struct go_entry entry_at(const struct go_table *from, const struct go_header *header, uint64_t index)
{
	struct go_entry entry;

	memcpy(&entry, from->data + header->table + index * sizeof(entry), sizeof(entry));
	return entry;
}

static const char *name_of(const struct go_table *from, const struct go_header *header, struct go_entry entry)
{
	uint64_t at = header->table + entry.function, name;
	struct go_function function;

	if (at > from->bytes || from->bytes - at < sizeof(function))
		return NULL;
	memcpy(&function, from->data + at, sizeof(function));
	name = header->names + (uint32_t)function.name;
	if (name >= from->bytes || !memchr(from->data + name, '\0', MIN(from->bytes - name, LONGEST_NAME)))
		return NULL;
	return from->data + name;
}

/* Where the program begins, a function of Go begins as well if its code is all there is in the section of code. */
static bool begins_there(const struct go_table *from, const struct go_header *header)
{
	for (uint64_t i = 0; i < header->functions; i++)
		if (from->code + entry_at(from, header, i).start == from->entry)
			return true;
	return false;
}

void go_symbols_offer(const struct go_table *from, symbol_taker *take, void *context)
{
	struct go_header header;
	uint64_t text;

	if (from->bytes < sizeof(header))
		return;
	memcpy(&header, from->data, sizeof(header));
	if (!is_header(from, &header))
		return;
	text = header.text;
	if (!text && begins_there(from, &header))
		text = from->code;
	for (uint64_t i = 0; text && i < header.functions; i++) {
		struct go_entry entry = entry_at(from, &header, i), next = entry_at(from, &header, i + 1);
		const char *name = name_of(from, &header, entry);

		if (name && *name && next.start > entry.start)
			take(context, name, text + entry.start, next.start - entry.start);
	}
}
