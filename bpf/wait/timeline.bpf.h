/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For what did a thread wait, when it waited for another thread?  Each keeps its last segments as a line of time, in
 * which a wait for another thread stands as what that one was in meanwhile: its root.  So whoever wakes a thread has
 * the root of each moment of that wait at hand, however long the chain, and nothing is ever followed further than to
 * the waker.  What is booked here is a second view on waits that the ledger has in full: it is never added to them.
 *
 * While a thread is blocked its chain is written by its waker, who holds its pi_lock; the waker's own is at rest, because
 * it is the current task and switches are off.  Otherwise by its own switches alone.
 */
#pragma once
#include "request/connection.bpf.h"
#include "wait/append.bpf.h"
#include "wait/reasons.bpf.h"

/* To follow a wait takes a quarter of a microsecond: of one of these a hundredth. */
#define WORTH_FOLLOWING_NS 20000

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct chain);
} chains SEC(".maps");

static __always_inline struct chain *chain_of(struct task_struct *task)
{
	return bpf_task_storage_get(&chains, task, NULL, 0);
}

static __always_inline void begin_chain(struct task_struct *task, __u64 now)
{
	struct chain *chain = bpf_task_storage_get(&chains, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!chain) {
		count_loss(COUNTER_STORAGE_FAILED);
		return;
	}
	chain->end = now;
	chain->merged[CHAIN_UNKNOWN].parts[PART_UNKNOWN] = 0xffff;
}

/*
 * One step back on another's line of time, to the segment in which a wait began: how many lie between that and the last one.
 * Returns whether to stop, as bpf_loop() has it.
 */
static __always_inline long goes_back_to(struct chain *other, __u32 back, __u64 begin, __u32 *from)
{
	__u32 place = segment_place(other, back);

	if (back >= other->valid || place >= CHAIN_SEGMENTS)
		return 1;
	*from = back + 1;
	return segment_begin(other, &other->segments[place]) <= begin;
}

/* When the segment after that at a place began, which is where that one ended. */
static __always_inline __u64 begin_of_next(struct chain *other, __u32 place)
{
	__u32 next = place + 1;

	barrier_var(next);
	if (next >= CHAIN_SEGMENTS)
		next = 0;
	return segment_begin(other, &other->segments[next]);
}

#define ROOM 4 /* segments that a thread pushes at a switch, and one */

/*
 * Where a chain is full, its oldest segment goes.  That may be a second that the thread waited before it took twenty locks
 * for a moment each, and it is the second that the next one waits for: so the short ones go instead.  Called where the stack
 * has room for it.
 */
__weak __noinline int make_room(struct chain *chain)
{
	if (!chain)
		return 0;
	for (int times = 0; times < ROOM && chain->valid > CHAIN_SEGMENTS - ROOM; times++)
		if (!keep_oldest(chain))
			break;
	return 0;
}

/* What a thread was in itself, from the end of its chain on.  It may have answered somebody while it ran. */
static __always_inline void append_own(struct chain *chain, const struct record *record, __u32 account, __u64 object,
				       __u64 end)
{
	struct segment segment = { .begin = chain->end,
				   .object = object,
				   .tid = record->tid,
				   .way = { .root = account,
					    .account = record->serving_since > chain->end || is_serving(record) } };

	append(chain, &segment, end);
}

/*
 * Writes what nobody has of a thread's time: it ran until it blocked, waited until it was `runnable`, and queued for a
 * CPU, in that account, until now.
 */
__weak __noinline int pass_time(struct record *record, struct chain *chain, __u64 runnable, __u32 queued, __u64 now)
{
	if (!record || !chain)
		return 0;
	if (chain->end < record->since)
		append_own(chain, record, running_account(record->region), 0, record->since);
	if (chain->end < runnable)
		append_own(chain, record, record->account, record->object, runnable);
	append_own(chain, record, queued, 0, now);
	return 0;
}

/*
 * What a new thread is asked for may have waited before there was one: for its maker, whose line of time it goes on with.
 */
static __always_inline void inherit_chain(struct task_struct *child, struct task_struct *maker,
					  const struct record *record, __u64 now)
{
	struct chain *chain = chain_of(child), *made_by = chain_of(maker);

	if (!chain || !made_by)
		return;
	/* Too long for clang to copy in line. */
	bpf_probe_read_kernel(chain, __builtin_offsetof(struct chain, reasons), made_by);
	append_own(chain, record, ACCOUNT_CPU_USER, 0, now);
}
