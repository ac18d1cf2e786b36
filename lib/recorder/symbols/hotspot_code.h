/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of code that HotSpot makes at run time, read out of the memory of the virtual machine: methods that its
 * compilers made, and parts of its own, as the interpreter.  All that is read there is what the process says and may be
 * a lie: counts and lengths are bounded, and an address is no more than a place to read from, where a wrong one is an
 * error.
 *
 * CANNOT  tell a method that was inlined into another from that one; nor read JDK 8, which has one heap of code only.
 */
#pragma once
#include "base/hotspot_layout.h"

#define HOTSPOT_NAME_BYTES 400
#define CODE_HEAPS 8 /* three, or one */

struct hotspot_code {
	int memory;
	struct code_layout {
		/* an address, offsets and sizes, by what they belong to */
		uint64_t heaps, count, list;
		uint64_t space, segments, shift, low, high;
		uint64_t block_bytes, used;
		uint64_t blob_name, method;
		uint64_t const_method, constants, name_index;
		uint64_t pool_bytes, pool_length, pool_holder, class_name;
		uint64_t symbol_length, symbol_body;
	} at;
	struct code_heap {
		uint64_t low, high;	/* of its code */
		uint64_t map, segments; /* a byte each */
		uint32_t shift;		/* how many bytes have a segment, as a power of two */
	} heap[CODE_HEAPS];
	size_t heaps;
};

/* 0 or -errno: there is none, or its layout is not known. */
int hotspot_code_read(struct loaded_object *library, struct hotspot_code *ret);

enum hotspot_kind { HOTSPOT_NOTHING, HOTSPOT_METHOD, HOTSPOT_OWN };
/* What is at an address, with its name: "java.util.ArrayList.indexOf", "Interpreter". */
enum hotspot_kind hotspot_code_name(const struct hotspot_code *code, uint64_t address, char name[HOTSPOT_NAME_BYTES]);
