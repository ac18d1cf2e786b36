/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the libjvm.so of HotSpot exports of its own layout, for its debugger: where its static variables are, at which
 * offsets the fields of its types lie, and how large those are.  Read out of the memory of the process that runs it.
 */
#pragma once
#include "base/memory_symbols.h"
#include "base/process_files.h"

struct hotspot_library {
	struct loaded_object object;
	uint64_t inode; /* 0: it was not found */
};

/* To be called with each of the mappings of a process, in their order: takes the first libjvm.so. */
void hotspot_library_add(struct hotspot_library *library, const struct mapping *mapping);

struct hotspot_wanted {
	const char *type, *field; /* field NULL: the size of the type */
	uint64_t *value; /* the address of a static variable, the offset of any other field; kept if it has none */
};

/* 0; -ENOENT: it exports no layout; -ENOEXEC: one that makes no sense. */
int hotspot_layout_fields(struct loaded_object *library, const struct hotspot_wanted *wanted, size_t count);
int hotspot_layout_sizes(struct loaded_object *library, const struct hotspot_wanted *wanted, size_t count);
