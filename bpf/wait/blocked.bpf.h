/* SPDX-License-Identifier: GPL-2.0-only */
/* A task that blocks, what it waits for, and what its stack says of that. */
#pragma once
#include "wait/call.bpf.h"
#include "wait/marker.bpf.h"

/* A task that blocks, as far as the classification needs it; scalars, so that global functions can take it. */
struct blocked {
	struct task_struct *task;
	__u32 state, flags;
	__s32 marker; /* innermost marker on its stack, -1: none, MARKER_UNKNOWN: not asked yet */
	bool in_iowait;
	bool frozen;	  /* on its way back to user space */
	bool other_task;  /* not the current one */
	bool serves;	  /* out: a client's request may end it */
	bool needs_stack; /* out: the answer would be better with a marker */
	__u64 file_inode; /* out: struct inode of the file that a wait for a disk reads, or flushes; 0: none */
	__u64 awaited;	  /* out: as in struct record */
	struct call call;
};

#define MARKER_UNKNOWN -2

struct wait {
	__u32 account;
	__u64 object;
};

#define WAIT(a, o) ((struct wait){ .account = (a), .object = (o) })

/*
 * By the freezer of cgroup v2.  Who waits for a child made by vfork() is marked so, too, and who is asked to freeze need
 * not be there yet.
 */
static __always_inline bool is_frozen(struct task_struct *task)
{
	return task->jobctl & JOBCTL_TRAP_FREEZE && bpf_core_field_exists(task->frozen) &&
	       BPF_CORE_READ_BITFIELD(task, frozen);
}

static __always_inline void describe(struct task_struct *task, struct blocked *blocked)
{
	blocked->task = task;
	blocked->state = task_state(task);
	blocked->flags = task->flags;
	blocked->in_iowait = BPF_CORE_READ_BITFIELD(task, in_iowait);
	blocked->frozen = is_frozen(task);
	blocked->marker = MARKER_UNKNOWN;
	blocked->needs_stack = false;
	blocked->other_task = task != bpf_get_current_task_btf();
	read_call(task, &blocked->call);
}

/* Asks the stack; `otherwise` is what the call alone suggests. */
static __always_inline struct wait ask_stack(struct blocked *blocked, struct wait otherwise)
{
	int marker = blocked->marker;
	__u32 account;

	if (marker == MARKER_UNKNOWN)
		blocked->needs_stack = true;
	if (marker < 0 || marker >= MARKERS)
		return otherwise;
	account = knobs.markers[marker].account;
	if (account == ACCOUNT_LOCK_KERNEL || account == ACCOUNT_KERNEL_OTHER)
		return WAIT(account, OBJECT(OBJECT_FUNCTION, marker));
	if (account == ACCOUNT_MEMORY_CGROUP)
		return WAIT(account, OBJECT(OBJECT_LIMIT, knobs.markers[marker].limit));
	/* The writes of a flush are part of it. */
	if (account == ACCOUNT_DISK_WRITE && otherwise.account == ACCOUNT_DISK_FLUSH)
		return otherwise;
	return WAIT(account, otherwise.object);
}

static __always_inline struct wait wait_in_call(struct call *call)
{
	return WAIT(ACCOUNT_KERNEL_OTHER, call_object(call));
}
