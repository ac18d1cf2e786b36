// SPDX-License-Identifier: GPL-2.0-only
/* Names of code in a virtual machine that this program plays, as HotSpot lays it out, and lies of it. */
/* SOURCES: symbols/hotspot_code.c base/hotspot_layout.c base/memory_symbols.c */
/* LIBS: -rdynamic -Wl,--hash-style=gnu */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <elf.h>
#include "symbols/hotspot_code.h"
#include "symbols/symbol_lookup.h"
#include "check.h"

#define MUTATIONS 3000
#define SHIFT 7
#define SEGMENT (1 << SHIFT)
#define SEGMENTS 512
#define NOWHERE ((void *)8)

struct symbol {
	uint16_t length;
	char body[70000];
};

struct space {
	void *low, *high;
};

struct block {
	uint64_t length;
	bool used;
	struct {
		const char *name;
		struct method *method;
	} blob;
};

/* All that may lie; the rest is read only by what stands here. */
static struct image {
	struct array {
		int32_t length;
		struct heap **list;
	} array, *heaps;
	struct heap {
		struct space memory, map;
		int32_t shift;
	} heap, *list[2];
	struct method {
		struct const_method *const_method;
	} method;
	struct const_method {
		struct pool *constants;
		uint16_t name;
	} const_method;
	struct pool {
		struct klass *holder;
		int32_t length;
		struct symbol *entries[3];
	} pool;
	struct klass {
		struct symbol *name;
	} klass;
	uint8_t map[SEGMENTS];
} image, good;

static struct symbol class_name = { 16, "com/example/Shop" }, method_name = { 4, "sell" };
static _Alignas(SEGMENT) uint8_t memory[SEGMENTS * SEGMENT];

#define FIELD(type, name, offset)                                                                                      \
	{                                                                                                              \
		type, name, "", 0, offset, NULL                                                                        \
	}
static struct field {
	const char *type, *name, *type_text;
	int is_static;
	uint64_t offset;
	void *address;
} fields[] = {
	{ "CodeCache", "_heaps", "", 1, 0, &image.heaps },
	FIELD("GrowableArrayBase", "_len", offsetof(struct array, length)),
	FIELD("GrowableArray<int>", "_data", offsetof(struct array, list)),
	FIELD("CodeHeap", "_memory", offsetof(struct heap, memory)),
	FIELD("CodeHeap", "_segmap", offsetof(struct heap, map)),
	FIELD("CodeHeap", "_log2_segment_size", offsetof(struct heap, shift)),
	FIELD("VirtualSpace", "_low", offsetof(struct space, low)),
	FIELD("VirtualSpace", "_high", offsetof(struct space, high)),
	FIELD("HeapBlock::Header", "_used", offsetof(struct block, used)),
	FIELD("CodeBlob", "_name", offsetof(struct block, blob.name) - offsetof(struct block, blob)),
	FIELD("nmethod", "_method", offsetof(struct block, blob.method) - offsetof(struct block, blob)),
	FIELD("Method", "_constMethod", offsetof(struct method, const_method)),
	FIELD("ConstMethod", "_constants", offsetof(struct const_method, constants)),
	FIELD("ConstMethod", "_name_index", offsetof(struct const_method, name)),
	FIELD("ConstantPool", "_length", offsetof(struct pool, length)),
	FIELD("ConstantPool", "_pool_holder", offsetof(struct pool, holder)),
	FIELD("Klass", "_name", offsetof(struct klass, name)),
	FIELD("Symbol", "_length", offsetof(struct symbol, length)),
	FIELD("Symbol", "_body", offsetof(struct symbol, body)),
	{},
};
static struct type {
	const char *name;
	uint64_t size;
} types[] = {
	{ "HeapBlock", offsetof(struct block, blob) },
	{ "ConstantPool", offsetof(struct pool, entries) },
	{},
};
const struct field *gHotSpotVMStructs = fields;
uint64_t gHotSpotVMStructEntryArrayStride = sizeof(struct field);
uint64_t gHotSpotVMStructEntryTypeNameOffset = offsetof(struct field, type);
uint64_t gHotSpotVMStructEntryFieldNameOffset = offsetof(struct field, name);
uint64_t gHotSpotVMStructEntryOffsetOffset = offsetof(struct field, offset);
uint64_t gHotSpotVMStructEntryAddressOffset = offsetof(struct field, address);
const struct type *gHotSpotVMTypes = types;
uint64_t gHotSpotVMTypeEntryArrayStride = sizeof(struct type);
uint64_t gHotSpotVMTypeEntryTypeNameOffset = offsetof(struct type, name);
uint64_t gHotSpotVMTypeEntrySizeOffset = offsetof(struct type, size);

static struct loaded_object library;

/* A block of some segments. */
static void add_block(int segment, int segments, const char *name, bool used)
{
	struct block *block = (struct block *)(memory + segment * SEGMENT);

	*block = (struct block){ segments, used, { name, &image.method } };
	for (int i = 0; i < segments; i++)
		image.map[segment + i] = i > 254 ? 254 : i;
}

static void fill(void)
{
	memset(image.map, 255, sizeof(image.map));
	image.array = (struct array){ 1, image.list };
	image.heaps = &image.array;
	image.list[0] = &image.heap;
	image.heap = (struct heap){ { memory, memory + sizeof(memory) }, { image.map, image.map + SEGMENTS }, SHIFT };
	image.method.const_method = &image.const_method;
	image.const_method = (struct const_method){ &image.pool, 2 };
	image.pool = (struct pool){ &image.klass, 3, { NULL, NULL, &method_name } };
	image.klass.name = &class_name;
	class_name.length = strlen("com/example/Shop");
	add_block(0, 3, "Interpreter", true);
	add_block(3, 1, "native nmethod", true);
	add_block(4, 400, "nmethod", true);
	add_block(410, 2, "nmethod", false);
	good = image;
}

static enum hotspot_kind name_at(const void *address, char name[HOTSPOT_NAME_BYTES])
{
	struct hotspot_code code;

	strcpy(name, "");
	if (hotspot_code_read(&library, &code))
		return HOTSPOT_NOTHING;
	CHECK(code.heaps <= CODE_HEAPS);
	return hotspot_code_name(&code, (uint64_t)address, name);
}

static void check_name(int segment, enum hotspot_kind kind, const char *expected)
{
	char name[HOTSPOT_NAME_BYTES];

	CHECK_NUMBER(name_at(memory + segment * SEGMENT + 100, name), kind);
	if (kind != HOTSPOT_NOTHING)
		CHECK_TEXT(name, expected);
}

static void check_nothing(void)
{
	check_name(4, HOTSPOT_NOTHING, NULL);
	image = good;
	check_name(4, HOTSPOT_METHOD, "com.example.Shop.sell");
}

static void code_of_all_kinds(void)
{
	char name[HOTSPOT_NAME_BYTES];

	check_name(0, HOTSPOT_OWN, "Interpreter");
	check_name(2, HOTSPOT_OWN, "Interpreter");
	check_name(3, HOTSPOT_METHOD, "com.example.Shop.sell");
	check_name(4, HOTSPOT_METHOD, "com.example.Shop.sell");
	check_name(403, HOTSPOT_METHOD, "com.example.Shop.sell");
	check_name(404, HOTSPOT_NOTHING, NULL);
	check_name(410, HOTSPOT_NOTHING, NULL);
	check_name(SEGMENTS - 1, HOTSPOT_NOTHING, NULL);
	CHECK_NUMBER(name_at((const void *)((uintptr_t)memory - 1), name), HOTSPOT_NOTHING);
	CHECK_NUMBER(name_at((const void *)((uintptr_t)memory + sizeof(memory)), name), HOTSPOT_NOTHING);
}

static void names_of_any_length(void)
{
	char name[HOTSPOT_NAME_BYTES];

	memset(class_name.body + 16, 'x', sizeof(class_name.body) - 16);
	class_name.length = UINT16_MAX;
	CHECK_NUMBER(name_at(memory + 4 * SEGMENT, name), HOTSPOT_METHOD);
	CHECK(!strncmp(name, "com.example.Shopxxx", 19) && strstr(name, "xxx.sell"));
	class_name.length = 0;
	check_name(4, HOTSPOT_NOTHING, NULL);
	fill();
}

static void layouts_of_other_versions(void)
{
	for (struct field *field = fields; field->type; field++) {
		const char *name = field->name;

		field->name = "_other";
		check_name(0, HOTSPOT_NOTHING, NULL);
		field->name = name;
	}
	types[1].name = "ConstantPoo";
	check_name(0, HOTSPOT_NOTHING, NULL);
	types[1].name = "ConstantPool";
	fields[1].type = "GenericGrowableArray";
	fields[10].type = "CompiledMethod";
	check_name(4, HOTSPOT_METHOD, "com.example.Shop.sell");
	fields[1].type = "GrowableArrayBase";
	fields[10].type = "nmethod";
	gHotSpotVMTypeEntrySizeOffset = sizeof(struct type) - 4;
	check_name(4, HOTSPOT_NOTHING, NULL);
	gHotSpotVMTypeEntrySizeOffset = offsetof(struct type, size);
}

static void pointers_to_nowhere(void)
{
	void *const pointers[] = {
		&image.heaps,
		&image.array.list,
		&image.list[0],
		&image.heap.memory.low,
		&image.heap.map.low,
		&image.method.const_method,
		&image.const_method.constants,
		&image.pool.holder,
		&image.pool.entries[2],
		&image.klass.name,
	};

	for (size_t i = 0; i < sizeof(pointers) / sizeof(*pointers); i++) {
		*(void **)pointers[i] = NOWHERE;
		check_nothing();
		*(void **)pointers[i] = (void *)UINT64_MAX;
		check_nothing();
		*(void **)pointers[i] = NULL;
		check_nothing();
	}
}

static void numbers_beyond_bounds(void)
{
	image.const_method.name = 3;
	check_nothing();
	image.heap.shift = 64;
	check_nothing();
	image.heap.shift = -1;
	check_nothing();
	image.heap.memory.high = (void *)INT64_MAX;
	check_nothing();
	image.heap.map.high = image.map + 4;
	check_nothing();
	image.map[4] = 5; /* to before the first */
	check_nothing();
	image.array.length = INT32_MAX; /* the first heap is good, what follows is not */
	check_name(4, HOTSPOT_METHOD, "com.example.Shop.sell");
	image = good;
	for (int i = 0; i < SEGMENTS; i++) /* it leads back, but not for ever */
		image.map[i] = i > 0;
	check_name(200, HOTSPOT_OWN, "Interpreter");
	check_name(300, HOTSPOT_NOTHING, NULL);
	image = good;
}

/* Whatever stands there: no read or write outside, as the sanitizers see, and an end. */
static void any_bytes(void)
{
	char name[HOTSPOT_NAME_BYTES];

	srand(23);
	for (int i = 0; i < MUTATIONS; i++) {
		for (int n = rand() % 4; n >= 0; n--)
			((uint8_t *)&image)[rand() % sizeof(image)] = rand() % 3 ? rand() : 0xff;
		if (name_at(memory + rand() % sizeof(memory), name) != HOTSPOT_NOTHING)
			CHECK(*name && strlen(name) < sizeof(name));
		image = good;
	}
}

static void what_has_no_better_name(void)
{
	struct mapped_file file = {};
	struct lookup lookups[] = {
		{ .address = (uint64_t)memory, .file = &file },
		{ .address = (uint64_t)memory, .file = &file, .only_code = true },
		{ .address = (uint64_t)memory + 4 * SEGMENT, .file = &file, .only_code = true },
		{ .address = (uint64_t)memory + 4 * SEGMENT },
	};

	hotspot_symbols_find(&library, lookups, 4);
	CHECK_TEXT(lookups[0].of_machine, "Interpreter");
	CHECK(!lookups[0].is_method);
	CHECK_TEXT(lookups[1].of_machine, NULL);
	CHECK_TEXT(lookups[2].of_machine, "com.example.Shop.sell");
	CHECK(lookups[2].is_method);
	CHECK_TEXT(lookups[3].of_machine, NULL);
	free(lookups[0].of_machine);
	free(lookups[2].of_machine);
}

int main(void)
{
	library.start = getauxval(AT_PHDR) - sizeof(Elf64_Ehdr);
	library.end = library.start + (1 << 20);
	library.memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	fill();
	RUN(code_of_all_kinds);
	RUN(names_of_any_length);
	RUN(layouts_of_other_versions);
	RUN(pointers_to_nowhere);
	RUN(numbers_beyond_bounds);
	RUN(any_bytes);
	RUN(what_has_no_better_name);
	close(library.memory);
	return check_result();
}
