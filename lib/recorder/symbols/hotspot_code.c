// SPDX-License-Identifier: GPL-2.0-only
/*
 * CodeCache: heaps of blobs.  A heap's map has a byte for each segment: how many to go back towards the first one of
 * the block, 0 there, 255 where there is none.  A block is a header and a blob, and a blob of a method leads to it.
 */
#define _GNU_SOURCE
#include "symbols/hotspot_code.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "symbols/symbol_lookup.h"

#define HOPS_MAX 256 /* on the way to the start of a block: each is up to 254 segments */
#define NO_BLOCK 255
#define LARGEST_SHIFT 16 /* 7 usually */
#define LARGEST_HEAP (1ULL << 32)
#define LONGEST_CLASS 256
#define LONGEST_METHOD 128
#define UNKNOWN UINT64_MAX

/* Some have other names in other versions. */
static int read_layout(struct loaded_object *library, struct code_layout *at)
{
	const struct hotspot_wanted fields[] = {
		{ "CodeCache", "_heaps", &at->heaps },
		{ "GrowableArrayBase", "_len", &at->count },
		{ "GenericGrowableArray", "_len", &at->count },
		{ "GrowableArray<int>", "_data", &at->list },
		{ "CodeHeap", "_memory", &at->space },
		{ "CodeHeap", "_segmap", &at->segments },
		{ "CodeHeap", "_log2_segment_size", &at->shift },
		{ "VirtualSpace", "_low", &at->low },
		{ "VirtualSpace", "_high", &at->high },
		{ "HeapBlock::Header", "_used", &at->used },
		{ "CodeBlob", "_name", &at->blob_name },
		{ "CompiledMethod", "_method", &at->method },
		{ "nmethod", "_method", &at->method },
		{ "Method", "_constMethod", &at->const_method },
		{ "ConstMethod", "_constants", &at->constants },
		{ "ConstMethod", "_name_index", &at->name_index },
		{ "ConstantPool", "_length", &at->pool_length },
		{ "ConstantPool", "_pool_holder", &at->pool_holder },
		{ "Klass", "_name", &at->class_name },
		{ "Symbol", "_length", &at->symbol_length },
		{ "Symbol", "_body", &at->symbol_body },
	};
	const struct hotspot_wanted sizes[] = {
		{ "HeapBlock", NULL, &at->block_bytes },
		{ "ConstantPool", NULL, &at->pool_bytes },
	};
	const size_t field_count = sizeof(fields) / sizeof(*fields), size_count = sizeof(sizes) / sizeof(*sizes);
	int err;

	memset(at, 0xff, sizeof(*at));
	err = hotspot_layout_fields(library, fields, field_count);
	if (!err)
		err = hotspot_layout_sizes(library, sizes, size_count);
	for (size_t i = 0; i < field_count && !err; i++)
		err = *fields[i].value == UNKNOWN ? -ENOENT : 0;
	for (size_t i = 0; i < size_count && !err; i++)
		err = *sizes[i].value == UNKNOWN ? -ENOENT : 0;
	return err;
}

/* Goes on to what the word at an offset of `at` points to. */
static bool follow(const struct hotspot_code *code, uint64_t *at, uint64_t offset)
{
	return memory_read(code->memory, *at + offset, at, sizeof(*at)) && *at;
}

static bool read_heap(const struct hotspot_code *code, uint64_t at, struct code_heap *heap)
{
	const uint64_t space = at + code->at.space, segments = at + code->at.segments;
	uint64_t end = segments;

	heap->low = heap->high = space;
	heap->map = segments;
	if (!follow(code, &heap->low, code->at.low) || !follow(code, &heap->high, code->at.high) ||
	    !follow(code, &heap->map, code->at.low) || !follow(code, &end, code->at.high) ||
	    !memory_read(code->memory, at + code->at.shift, &heap->shift, sizeof(heap->shift)))
		return false;
	heap->segments = end - heap->map;
	return heap->high > heap->low && heap->high - heap->low <= LARGEST_HEAP && heap->shift <= LARGEST_SHIFT;
}

int hotspot_code_read(struct loaded_object *library, struct hotspot_code *ret)
{
	struct hotspot_code *code = ret;
	uint64_t array = 0, list;
	uint32_t count;
	int err;

	*code = (struct hotspot_code){ .memory = library->memory };
	err = read_layout(library, &code->at);
	if (err)
		return err;
	if (!follow(code, &array, code->at.heaps))
		return -ENODATA;
	list = array;
	if (!memory_read(code->memory, array + code->at.count, &count, sizeof(count)) ||
	    !follow(code, &list, code->at.list))
		return -ENOEXEC;
	for (uint32_t i = 0; i < count && i < CODE_HEAPS; i++) {
		uint64_t heap = list;

		if (follow(code, &heap, i * sizeof(heap)) && read_heap(code, heap, &code->heap[code->heaps]))
			code->heaps++;
	}
	return 0;
}

/* The blob that an address belongs to; 0: it is not in use. */
static uint64_t find_blob(const struct hotspot_code *code, const struct code_heap *heap, uint64_t address)
{
	uint64_t segment = (address - heap->low) >> heap->shift, block;
	uint8_t back = NO_BLOCK, used = 0;

	for (int i = 0; i < HOPS_MAX && back; i++) {
		if (segment >= heap->segments || !memory_read(code->memory, heap->map + segment, &back, sizeof(back)) ||
		    back == NO_BLOCK || back > segment)
			return 0;
		segment -= back;
	}
	block = heap->low + (segment << heap->shift);
	if (back || !memory_read(code->memory, block + code->at.used, &used, sizeof(used)) || !used)
		return 0;
	return block + code->at.block_bytes;
}

static bool read_symbol(const struct hotspot_code *code, uint64_t symbol, char *text, size_t size)
{
	uint16_t length;

	if (!memory_read(code->memory, symbol + code->at.symbol_length, &length, sizeof(length)) || !length)
		return false;
	if (length >= size)
		length = size - 1;
	text[length] = '\0';
	return memory_read(code->memory, symbol + code->at.symbol_body, text, length);
}

static bool name_method(const struct hotspot_code *code, uint64_t blob, char name[HOTSPOT_NAME_BYTES])
{
	char class[LONGEST_CLASS], method[LONGEST_METHOD];
	uint64_t method_symbol, class_symbol;
	uint64_t pool, const_method = blob;
	uint16_t index;
	uint32_t length;

	if (!follow(code, &const_method, code->at.method) || !follow(code, &const_method, code->at.const_method))
		return false;
	pool = const_method;
	if (!follow(code, &pool, code->at.constants) ||
	    !memory_read(code->memory, const_method + code->at.name_index, &index, sizeof(index)) ||
	    !memory_read(code->memory, pool + code->at.pool_length, &length, sizeof(length)) || index >= length)
		return false;
	method_symbol = class_symbol = pool;
	if (!follow(code, &method_symbol, code->at.pool_bytes + index * sizeof(uint64_t)) ||
	    !follow(code, &class_symbol, code->at.pool_holder) || !follow(code, &class_symbol, code->at.class_name) ||
	    !read_symbol(code, method_symbol, method, sizeof(method)) ||
	    !read_symbol(code, class_symbol, class, sizeof(class)))
		return false;
	for (char *at = class; *at; at++)
		if (*at == '/')
			*at = '.';
	snprintf(name, HOTSPOT_NAME_BYTES, "%s.%s", class, method);
	return true;
}

enum hotspot_kind hotspot_code_name(const struct hotspot_code *code, uint64_t address, char name[HOTSPOT_NAME_BYTES])
{
	for (size_t i = 0; i < code->heaps; i++) {
		const struct code_heap *heap = &code->heap[i];
		uint64_t blob, text;

		if (address < heap->low || address >= heap->high)
			continue;
		text = blob = find_blob(code, heap, address);
		if (!blob || !follow(code, &text, code->at.blob_name) ||
		    !memory_text(code->memory, text, name, HOTSPOT_NAME_BYTES) || !*name)
			return HOTSPOT_NOTHING;
		if (strcmp(name, "nmethod") && strcmp(name, "native nmethod"))
			return HOTSPOT_OWN;
		return name_method(code, blob, name) ? HOTSPOT_METHOD : HOTSPOT_NOTHING;
	}
	return HOTSPOT_NOTHING;
}

/* Of a scanned stack only methods: that the interpreter or a stub has left its mark there tells nothing. */
void hotspot_symbols_find(struct loaded_object *library, struct lookup *lookups, size_t count)
{
	struct hotspot_code code;

	if (hotspot_code_read(library, &code))
		return;
	for (size_t i = 0; i < count; i++) {
		char name[HOTSPOT_NAME_BYTES];
		enum hotspot_kind kind = HOTSPOT_NOTHING;

		if (lookups[i].file)
			kind = hotspot_code_name(&code, lookups[i].address, name);
		if (kind == HOTSPOT_NOTHING || (kind == HOTSPOT_OWN && lookups[i].only_code))
			continue;
		lookups[i].of_machine = strdup(name);
		lookups[i].is_method = kind == HOTSPOT_METHOD;
	}
}
