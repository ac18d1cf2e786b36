// SPDX-License-Identifier: GPL-2.0-only
/* Where PerfMemory begins, by what libjvm.so exports of its own layout. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include "facts/hotspot.h"

#define STRUCTS_MAX 8192 /* fields of gHotSpotVMStructs; JDK 17 has about 1,000 */
#define STRUCT_BYTES 256 /* of one field's entry; 48 in all versions */

static int read_variable(struct loaded_object *library, const char *name, uint64_t *value)
{
	uint64_t address = 0;
	int err = memory_symbol(library, name, &address);

	if (err)
		return err;
	return memory_read(library->memory, address, value, sizeof(*value)) ? 0 : -ENOEXEC;
}

/* The library says itself how the entries of gHotSpotVMStructs are laid out. */
struct layout {
	uint64_t entries, bytes, type, field, address;
};

static int read_layout(struct loaded_object *library, struct layout *layout)
{
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
	int err = 0;

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables) && !err; i++)
		err = read_variable(library, variables[i].name, variables[i].value);
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

int hotspot_perf_memory(struct loaded_object *library, uint64_t *address)
{
	uint64_t last_type = 0;
	struct layout layout;
	int err = read_layout(library, &layout);
	bool wanted = false;

	for (int i = 0; i < STRUCTS_MAX && !err; i++) {
		uint8_t entry[STRUCT_BYTES];
		uint64_t type;

		if (!memory_read(library->memory, layout.entries + i * layout.bytes, entry, layout.bytes))
			return -ENOEXEC;
		type = word_at(entry, layout.type);
		if (!type)
			return -ENOENT;
		if (type != last_type) /* all fields of a type have the same text */
			wanted = memory_says(library->memory, type, "PerfMemory");
		last_type = type;
		if (!wanted || !memory_says(library->memory, word_at(entry, layout.field), "_start"))
			continue;
		if (!memory_read(library->memory, word_at(entry, layout.address), address, sizeof(*address)))
			return -ENOEXEC;
		return *address ? 0 : -ENODATA;
	}
	return err ?: -ENOENT;
}
