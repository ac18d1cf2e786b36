/* SPDX-License-Identifier: GPL-2.0-only */
/* At a wake-up: does a thread outside of the target end the wait, or one of a peer's? */
#pragma once
#include "wait/peer_time.bpf.h"

/* Waits that a process at the other end ends; of a peer also those for another thread of its own. */
static __always_inline bool waits_for_peer(const struct record *record)
{
	switch (record->account) {
	case ACCOUNT_WAIT_PARKED:
	case ACCOUNT_LOCK_KERNEL:
	case ACCOUNT_WAIT_CHILD: return record->is_peer;
	case ACCOUNT_NET_RECEIVE:
	case ACCOUNT_IPC_UNIX:
	case ACCOUNT_IPC_PIPE:
	case ACCOUNT_LOCK_FILE:
	case ACCOUNT_REMOTE_FS: return true;
	}
	return false;
}

/* Does the current task end the wait of a thread?  Time does, too; signals see signalled.bpf.h. */
static __always_inline bool ends_wait(const struct record *record, struct task_struct *waker,
				      const struct cpu_state *cpu)
{
	switch (record->account) {
	case ACCOUNT_NET_RECEIVE:
		return record->awaited > AWAITED_PIPE && is_sent_here(waker, cpu, (const struct sock *)record->awaited);
	case ACCOUNT_IPC_UNIX: return cpu && !cpu->interrupts && is_sending(waker);
	case ACCOUNT_IPC_PIPE:
		/* Who waits for room waits for a reader. */
		return cpu && !cpu->interrupts && (is_sending(waker) || class_of_call_of(waker) == SYSCALL_FD_READ);
	}
	return cpu && !cpu->interrupts;
}

struct inheriting {
	struct chain *chain, *other;
	__u32 from; /* how many segments of the other's before its last one */
	__u64 now;
};

static long find_first(__u32 back, struct inheriting *inheriting)
{
	return goes_back_to(inheriting->other, back, inheriting->chain->end, &inheriting->from);
}

static long inherit_segment(__u32 number, struct inheriting *inheriting)
{
	struct chain *chain = inheriting->chain, *other = inheriting->other;
	__u32 back = inheriting->from - 1 - number, place = segment_place(other, back);
	__u64 end = inheriting->now;
	struct segment segment;

	if (place >= CHAIN_SEGMENTS)
		return 1;
	if (back)
		end = begin_of_next(other, place);
	read_segment(other, place, &segment);
	segment.begin = chain->end;
	append(chain, &segment, end);
	return 0;
}

/*
 * The wait of a peer's thread becomes what the thread was in that ends it.  As in follow(), but for whom somebody waits only
 * the root counts, not the way there, and nothing is booked.
 */
__weak __noinline int inherit_wait(struct record *record, struct chain *chain, struct record *waker,
				   struct chain *other, __u64 now)
{
	struct inheriting inheriting = { chain, other, .now = now };

	if (!record || !chain || !waker || !other)
		return 0;
	pass_time(record, chain, record->since, ACCOUNT_RUNQ_BUSY, record->since);
	if (waker->state == STATE_RUNNING)
		append_own(other, waker, ACCOUNT_CPU_USER, 0, now);
	if (chain->end != record->since || other->end < now)
		return 0; /* not the wait that is open, or what the other has been in last is not known */
	bpf_loop(CHAIN_SEGMENTS, find_first, &inheriting, 0);
	bpf_loop(inheriting.from, inherit_segment, &inheriting, 0);
	return 0;
}

/* At sched_waking, of a thread of the target, or of a peer's, that another process may have ended the wait of. */
static __noinline int follow_peer(struct record *record, struct task_struct *task, struct task_struct *waker,
				  struct cpu_state *cpu)
{
	struct record *by;
	struct chain *chain, *other;

	if (record->state != STATE_BLOCKED || record->waking < record->since + WORTH_FOLLOWING_NS ||
	    !waits_for_peer(record) || record->sequence & 1 || knobs.closing ||
	    !may_be_peer(waker, record->is_peer ? 0 : record->tgid) || !ends_wait(record, waker, cpu))
		return 0;
	by = record_of(waker);
	/* Waits of the target for its own: see follow_waker().  In a softirq its line of time may be being written. */
	if (by && (!record->is_peer || cpu->interrupts))
		return 0;
	if (!by)
		by = peer_or_ask(waker, record->since, record->waking);
	if (!by)
		return 0;
	chain = chain_of(task);
	other = chain_of(waker);
	if (!chain || !other || !by->start)
		return 0;
	return record->is_peer ? inherit_wait(record, chain, by, other, record->waking)
			       : book_peer_wait(record, by, other, record->waking);
}
