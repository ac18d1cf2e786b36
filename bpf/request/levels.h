/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many at once, and for how long: slots for levels.  Up to 31 each level has a slot of its own; above that two levels
 * share one, from 64 on four.  Plain C: the recorder writes the slots, and a test asks for each boundary.
 */
#pragma once
#include "core/records.h"

/* LEVELS: there is no slot for so many. */
static __always_inline __u32 level_slot(__u64 level)
{
	if (level < 32)
		return level;
	if (level < 64)
		return 16 + level / 2;
	return level < MOST_LEVEL ? 32 + level / 4 : LEVELS;
}

static __always_inline __u32 lowest_of_slot(__u32 slot)
{
	if (slot < 32)
		return slot;
	return slot < 48 ? (slot - 16) * 2 : (slot - 32) * 4;
}
