/* SPDX-License-Identifier: GPL-2.0-only */
/* What objects are called whose 56 bits cannot hold that. */
#pragma once
#include "core/maps.bpf.h"

/* Room for the name of an object; NULL if it has one already, or there is no room. */
static __always_inline struct object_name *new_name(__u64 object)
{
	bool made = false;
	struct object_name *name = FIND_OR_MAKE(names, &object, COUNTER_NAMES_FULL, &made);

	return made ? name : NULL;
}

/* A process has another name after its exec: the last one that somebody met stays. */
static __always_inline void rename_object(__u64 object, const struct object_name *name)
{
	struct object_name *room = FIND_OR_MAKE(names, &object, COUNTER_NAMES_FULL, NULL);

	if (room)
		*room = *name;
}
