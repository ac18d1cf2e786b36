// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exported variables of libjvm.so, found through the hash table that the dynamic loader uses.  It is in the process's
 * memory, so no file is opened: the library may have been replaced on disk, or be in another mount namespace.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "facts/hotspot.h"

#define SEGMENTS_MAX 64
#define DYNAMIC_MAX 256
#define CHAIN_MAX 4096	 /* symbols of one hash bucket */
#define STRUCTS_MAX 8192 /* fields of gHotSpotVMStructs; JDK 17 has about 1,000 */
#define STRUCT_BYTES 256 /* of one field's entry; 48 in all versions */
#define LONGEST_SYMBOL 64

struct tables {
	uint64_t bias, symbols, names, hash;
};

bool hotspot_read(int memory, uint64_t address, void *to, size_t length)
{
	return pread(memory, to, length, (off_t)address) == (ssize_t)length;
}

bool hotspot_says(int memory, uint64_t address, const char *text)
{
	char bytes[LONGEST_SYMBOL];
	size_t length = strlen(text) + 1;

	return length <= sizeof(bytes) && hotspot_read(memory, address, bytes, length) && !memcmp(bytes, text, length);
}

/* glibc has made addresses of these, musl leaves them as the file has them. */
static uint64_t absolute(const struct hotspot_library *library, uint64_t bias, uint64_t value)
{
	return value >= library->start && value < library->end ? value : value + bias;
}

static int read_dynamic(const struct hotspot_library *library, uint64_t address, struct tables *tables)
{
	Elf64_Dyn entry;

	for (int i = 0; i < DYNAMIC_MAX; i++) {
		if (!hotspot_read(library->memory, address + i * sizeof(entry), &entry, sizeof(entry)))
			return -ENOEXEC;
		switch (entry.d_tag) {
		case DT_SYMTAB: tables->symbols = absolute(library, tables->bias, entry.d_un.d_ptr); break;
		case DT_STRTAB: tables->names = absolute(library, tables->bias, entry.d_un.d_ptr); break;
		case DT_GNU_HASH: tables->hash = absolute(library, tables->bias, entry.d_un.d_ptr); break;
		case DT_NULL: return tables->symbols && tables->names && tables->hash ? 0 : -ENOEXEC;
		}
	}
	return -ENOEXEC;
}

static int read_tables(const struct hotspot_library *library, struct tables *tables)
{
	uint64_t dynamic = 0;
	bool has_bias = false;
	Elf64_Ehdr header;

	if (!hotspot_read(library->memory, library->start, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > SEGMENTS_MAX)
		return -ENOEXEC;
	for (int i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;

		if (!hotspot_read(library->memory, library->start + header.e_phoff + i * sizeof(segment), &segment,
				  sizeof(segment)))
			return -ENOEXEC;
		if (segment.p_type == PT_LOAD && !segment.p_offset) {
			tables->bias = library->start - segment.p_vaddr;
			has_bias = true;
		}
		if (segment.p_type == PT_DYNAMIC)
			dynamic = segment.p_vaddr;
	}
	return has_bias && dynamic ? read_dynamic(library, tables->bias + dynamic, tables) : -ENOEXEC;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (uint8_t)*name++;
	return hash;
}

/* The table: numbers of buckets, of symbols before the first, of words of the filter; filter, buckets, chains. */
static int find(const struct hotspot_library *library, const struct tables *tables, const char *name, uint64_t *address)
{
	uint32_t head[4], hash = hash_of(name), index, other = 0;
	uint64_t buckets;

	if (!hotspot_read(library->memory, tables->hash, head, sizeof(head)) || !head[0])
		return -ENOEXEC;
	buckets = tables->hash + sizeof(head) + head[2] * sizeof(uint64_t);
	if (!hotspot_read(library->memory, buckets + hash % head[0] * sizeof(index), &index, sizeof(index)))
		return -ENOEXEC;
	if (index < head[1])
		return -ENOENT;
	for (int i = 0; i < CHAIN_MAX && !(other & 1); i++, index++) {
		Elf64_Sym symbol;

		if (!hotspot_read(library->memory, buckets + ((uint64_t)head[0] + (index - head[1])) * sizeof(other),
				  &other, sizeof(other)))
			return -ENOEXEC;
		if ((other | 1) != (hash | 1))
			continue;
		if (!hotspot_read(library->memory, tables->symbols + (uint64_t)index * sizeof(symbol), &symbol,
				  sizeof(symbol)))
			return -ENOEXEC;
		if (symbol.st_shndx == SHN_UNDEF ||
		    !hotspot_says(library->memory, tables->names + symbol.st_name, name))
			continue;
		*address = tables->bias + symbol.st_value;
		return 0;
	}
	return -ENOENT;
}

int hotspot_symbol(const struct hotspot_library *library, const char *name, uint64_t *address)
{
	struct tables tables = {};

	return read_tables(library, &tables) ?: find(library, &tables, name, address);
}

static int read_variable(const struct hotspot_library *library, const struct tables *tables, const char *name,
			 uint64_t *value)
{
	uint64_t address = 0;
	int err = find(library, tables, name, &address);

	if (err)
		return err;
	return hotspot_read(library->memory, address, value, sizeof(*value)) ? 0 : -ENOEXEC;
}

/* The library says itself how the entries of gHotSpotVMStructs are laid out. */
struct layout {
	uint64_t entries, bytes, type, field, address;
};

static int read_layout(const struct hotspot_library *library, struct layout *layout)
{
	struct tables tables = {};
	const struct {
		const char *name;
		uint64_t *value;
	} variables[] = {
		{ "gHotSpotVMStructs", &layout->entries },
		{ "gHotSpotVMStructEntryArrayStride", &layout->bytes },
		{ "gHotSpotVMStructEntryTypeNameOffset", &layout->type },
		{ "gHotSpotVMStructEntryFieldNameOffset", &layout->field },
		{ "gHotSpotVMStructEntryAddressOffset", &layout->address },
	};
	int err = read_tables(library, &tables);

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables) && !err; i++)
		err = read_variable(library, &tables, variables[i].name, variables[i].value);
	if (!err && (layout->bytes > STRUCT_BYTES || layout->bytes < sizeof(uint64_t)))
		err = -ENOEXEC;
	for (size_t i = 2; i < sizeof(variables) / sizeof(*variables) && !err; i++)
		if (*variables[i].value > layout->bytes - sizeof(uint64_t))
			err = -ENOEXEC;
	return err;
}

static uint64_t word_at(const uint8_t *bytes, uint64_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

int hotspot_perf_memory(const struct hotspot_library *library, uint64_t *address)
{
	uint64_t last_type = 0;
	struct layout layout;
	int err = read_layout(library, &layout);
	bool wanted = false;

	for (int i = 0; i < STRUCTS_MAX && !err; i++) {
		uint8_t entry[STRUCT_BYTES];
		uint64_t type;

		if (!hotspot_read(library->memory, layout.entries + i * layout.bytes, entry, layout.bytes))
			return -ENOEXEC;
		type = word_at(entry, layout.type);
		if (!type)
			return -ENOENT;
		if (type != last_type) /* all fields of a type have the same text */
			wanted = hotspot_says(library->memory, type, "PerfMemory");
		last_type = type;
		if (!wanted || !hotspot_says(library->memory, word_at(entry, layout.field), "_start"))
			continue;
		if (!hotspot_read(library->memory, word_at(entry, layout.address), address, sizeof(*address)))
			return -ENOEXEC;
		return *address ? 0 : -ENODATA;
	}
	return err ?: -ENOENT;
}
