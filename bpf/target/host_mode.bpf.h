/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Host mode: which tasks get a record?  Those that run, and those that wait for something.  A host has 10,000 threads
 * that sleep all along; what such a one would say is known, and costs 4 kB and a copy at each snapshot.
 */
#pragma once
#include "core/maps.bpf.h"

/* perfdiag's own processes, and the helpers of those: what they take stands in the footer. */
static __always_inline bool is_left_out(struct task_struct *task)
{
	__u32 tgid = task->tgid, parent = BPF_CORE_READ(task, real_parent, tgid);

	for (int i = 0; i < 2; i++)
		if (knobs.left_out[i] && (knobs.left_out[i] == tgid || knobs.left_out[i] == parent))
			return true;
	return false;
}

/* The same without the children of perfdiag's Python: who joins a group later can be one that somebody else started. */
static __always_inline bool is_own(struct task_struct *task)
{
	__u32 tgid = task->tgid;

	return tgid == knobs.left_out[0] || tgid == knobs.left_out[1] ||
	       knobs.left_out[0] == BPF_CORE_READ(task, real_parent, tgid);
}

/* Does a task that is met by a sweep do anything, or wait for more than work?  A hang that began before is one. */
static __always_inline bool host_wants(struct task_struct *task)
{
	__u32 state = task_state(task);

	if (is_left_out(task))
		return false;
	knobs.meets_later = !may_allocate_anywhere();
	if (knobs.meeting || !state || task->on_cpu || BPF_CORE_READ_BITFIELD(task, in_iowait))
		return true;
	return (state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == TASK_UNINTERRUPTIBLE;
}
