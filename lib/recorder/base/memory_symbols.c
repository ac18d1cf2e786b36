// SPDX-License-Identifier: GPL-2.0-only
/* Through a hash table that the dynamic loader uses. */
#define _GNU_SOURCE
#include "base/memory_symbols.h"
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SEGMENTS_MAX 64
#define DYNAMIC_MAX 256
#define CHAIN_MAX 4096 /* symbols of one hash bucket */
#define LONGEST_SYMBOL 96

bool memory_read(int memory, uint64_t address, void *to, size_t length)
{
	return pread(memory, to, length, (off_t)address) == (ssize_t)length;
}

bool memory_says(int memory, uint64_t address, const char *text)
{
	char bytes[LONGEST_SYMBOL];
	size_t length = strlen(text) + 1;

	return length <= sizeof(bytes) && memory_read(memory, address, bytes, length) && !memcmp(bytes, text, length);
}

bool memory_text(int memory, uint64_t address, char *text, size_t size)
{
	ssize_t length = pread(memory, text, size, (off_t)address);

	return length > 0 && memchr(text, '\0', length);
}

/* glibc has made addresses of these, musl leaves them as the file has them. */
static uint64_t absolute(const struct loaded_object *object, uint64_t value)
{
	return value >= object->start && value < object->end ? value : value + object->bias;
}

static int read_dynamic(struct loaded_object *object, uint64_t address)
{
	uint64_t hash = 0, old_hash = 0;
	Elf64_Dyn entry;

	for (int i = 0; i < DYNAMIC_MAX; i++) {
		if (!memory_read(object->memory, address + i * sizeof(entry), &entry, sizeof(entry)))
			return -ENOEXEC;
		switch (entry.d_tag) {
		case DT_SYMTAB: object->symbols = absolute(object, entry.d_un.d_ptr); break;
		case DT_STRTAB: object->names = absolute(object, entry.d_un.d_ptr); break;
		case DT_GNU_HASH: hash = absolute(object, entry.d_un.d_ptr); break;
		case DT_HASH: old_hash = absolute(object, entry.d_un.d_ptr); break;
		case DT_NULL:
			object->old_hash = !hash;
			object->hash = object->symbols && object->names ? hash ?: old_hash : 0;
			return object->hash ? 0 : -ENOEXEC;
		}
	}
	return -ENOEXEC;
}

static int read_tables(struct loaded_object *object)
{
	uint64_t dynamic = 0;
	bool has_bias = false;
	Elf64_Ehdr header;

	if (!memory_read(object->memory, object->start, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > SEGMENTS_MAX)
		return -ENOEXEC;
	for (int i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;

		if (!memory_read(object->memory, object->start + header.e_phoff + i * sizeof(segment), &segment,
				 sizeof(segment)))
			return -ENOEXEC;
		if (segment.p_type == PT_LOAD && !segment.p_offset) {
			object->bias = object->start - segment.p_vaddr;
			has_bias = true;
		}
		if (segment.p_type == PT_DYNAMIC)
			dynamic = segment.p_vaddr;
	}
	return has_bias && dynamic ? read_dynamic(object, object->bias + dynamic) : -ENOEXEC;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (uint8_t)*name++;
	return hash;
}

/* 0; -ENOENT: it is another symbol, or not defined here. */
static int take(const struct loaded_object *object, const char *name, uint64_t index, uint64_t *address)
{
	Elf64_Sym symbol;

	if (!memory_read(object->memory, object->symbols + index * sizeof(symbol), &symbol, sizeof(symbol)))
		return -ENOEXEC;
	if (symbol.st_shndx == SHN_UNDEF || !memory_says(object->memory, object->names + symbol.st_name, name))
		return -ENOENT;
	*address = object->bias + symbol.st_value;
	return 0;
}

static uint32_t old_hash_of(const char *name)
{
	uint32_t hash = 0;

	while (*name) {
		hash = (hash << 4) + (uint8_t)*name++;
		hash = (hash ^ (hash >> 28 << 4)) & 0x0fffffff;
	}
	return hash;
}

/* The table: numbers of buckets and of chains, buckets, chains; a chain goes on until a 0. */
static int find_by_old_hash(const struct loaded_object *object, const char *name, uint64_t *address)
{
	uint32_t head[2], index;
	uint64_t buckets = object->hash + sizeof(head), at;
	int err = -ENOENT;

	if (!memory_read(object->memory, object->hash, head, sizeof(head)) || !head[0])
		return -ENOEXEC;
	at = buckets + old_hash_of(name) % head[0] * sizeof(index);
	for (int i = 0; i < CHAIN_MAX && err == -ENOENT; i++) {
		if (!memory_read(object->memory, at, &index, sizeof(index)))
			return -ENOEXEC;
		if (!index)
			break;
		err = take(object, name, index, address);
		at = buckets + ((uint64_t)head[0] + index) * sizeof(index);
	}
	return err;
}

/* The table: numbers of buckets, of symbols before the first, of words of the filter; filter, buckets, chains. */
static int find(const struct loaded_object *object, const char *name, uint64_t *address)
{
	uint32_t head[4], hash = hash_of(name), index, other = 0;
	uint64_t buckets;
	int err = -ENOENT;

	if (!memory_read(object->memory, object->hash, head, sizeof(head)) || !head[0])
		return -ENOEXEC;
	buckets = object->hash + sizeof(head) + head[2] * sizeof(uint64_t);
	if (!memory_read(object->memory, buckets + hash % head[0] * sizeof(index), &index, sizeof(index)))
		return -ENOEXEC;
	if (index < head[1])
		return -ENOENT;
	for (int i = 0; i < CHAIN_MAX && !(other & 1) && err == -ENOENT; i++, index++) {
		if (!memory_read(object->memory, buckets + ((uint64_t)head[0] + (index - head[1])) * sizeof(other),
				 &other, sizeof(other)))
			return -ENOEXEC;
		if ((other | 1) == (hash | 1))
			err = take(object, name, index, address);
	}
	return err;
}

int memory_symbol(struct loaded_object *object, const char *name, uint64_t *address)
{
	int err = object->hash ? 0 : read_tables(object);

	if (err)
		return err;
	return object->old_hash ? find_by_old_hash(object, name, address) : find(object, name, address);
}
