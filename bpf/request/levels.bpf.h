/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time at each level, without a lock: each step of a level adds the clock to, or takes it from, the one slot that it
 * enters or leaves.  What is summed so is right whatever the order in which CPUs come.
 */
#pragma once
#include "core/maps.bpf.h"
#include "request/levels.h"

/* One more: it is this level now.  Two can race for the maximum, the smaller one then stays. */
static __always_inline void step_up(struct levels *levels, __u64 level, __u64 now)
{
	__u32 slot = level_slot(level);

	if (level > levels->most)
		levels->most = level;
	barrier_var(slot); /* or the compiler drops the check, which the verifier asks for */
	if (slot < LEVELS && level == lowest_of_slot(slot))
		__sync_fetch_and_add(&levels->at_least_ns[slot], -now);
}

/* One less: it was this level so far. */
static __always_inline void step_down(struct levels *levels, __u64 level, __u64 now)
{
	__u32 slot = level_slot(level);

	barrier_var(slot);
	if (slot < LEVELS && level == lowest_of_slot(slot))
		__sync_fetch_and_add(&levels->at_least_ns[slot], now);
}
