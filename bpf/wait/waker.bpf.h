/* SPDX-License-Identifier: GPL-2.0-only */
/* At a wake-up: what was the waker in while it was waited for? */
#pragma once
#include "wait/timeline.bpf.h"
#include "core/ledger.bpf.h"
#include "request/helper.bpf.h"

/*
 * Waits that another thread can end.  Those for a device, a server or memory are roots themselves, also where a thread of
 * the kernel reports their end.
 */
static __always_inline bool waits_for_thread(__u32 account)
{
	switch (account) {
	case ACCOUNT_WAIT_PARKED:
	case ACCOUNT_LOCK_FILE:
	case ACCOUNT_LOCK_KERNEL:
	case ACCOUNT_LOCK_DATABASE:
	case ACCOUNT_IPC_PIPE:
	case ACCOUNT_IPC_UNIX:
	case ACCOUNT_NET_RECEIVE:
	case ACCOUNT_NET_SEND:
	case ACCOUNT_REMOTE_FS: /* a server of FUSE is a process of this host */
	case ACCOUNT_WAIT_EVENTS:
	case ACCOUNT_WAIT_CHILD:
	case ACCOUNT_WAIT_SIGNAL:
	case ACCOUNT_KERNEL_OTHER: return true;
	}
	return false;
}

static __always_inline __u16 short_of(__u64 object)
{
	return object * 0x9e3779b97f4a7c15ULL >> 48;
}

/*
 * The way to the root of a wait for `account` that was for a thread which was in a segment.  Who waits in the queue of
 * a lock waits for what those before it wait for: the same lock is no further step.
 */
static __always_inline union way way_behind(const struct segment *segment, __u32 account, __u16 first)
{
	union way way = segment->way, longer;
	__u32 depth = way.depth & ~CHAIN_CUT;

	way.account = 0; /* whom the other thread served */
	longer = way;
	if (depth && way.steps[0] == account && way.first == first)
		return way;
	longer.depth = depth < CHAIN_STEPS ? depth + 1 : CHAIN_STEPS | CHAIN_CUT;
	longer.depth |= way.depth & CHAIN_CUT;
	longer.steps[0] = account;
	longer.steps[1] = way.steps[0];
	longer.steps[2] = way.steps[1];
	longer.first = first;
	return longer;
}

/* The same as of a reason, which stands beside its account: that is not one of the steps. */
static __always_inline union way way_of_reason(union way behind, __u32 account, const struct segment *segment)
{
	union way way = segment->way;

	way.account = 0;
	if (behind.word == way.word) { /* through the same queue */
		way.steps[0] = way.steps[1];
		way.steps[1] = way.steps[2];
		way.steps[2] = 0;
		way.depth--;
	}
	way.account = account;
	way.first = 0;
	return way;
}

struct following {
	struct record *record, *waker;
	struct chain *chain, *other;
	__u32 from;   /* how many segments before the last one */
	__u32 inside; /* the wait is one of a request */
	__u64 now;
	__u64 until; /* so far the waker's segments tell what it waited for */
};

static __always_inline void book_reason(struct following *following, struct reason *reason, __u32 root, __u64 object,
					__u64 ns)
{
	reason->ns = ns;
	reason->way.root = root;
	reason->root_object = object;
	add_reason(following->chain, reason, following->record->tgid);
}

/* Returns what of a segment was merged into it, which has been booked. */
static __always_inline __u64 book_part_of(struct following *following, struct reason *reason,
					  const struct segment *segment, __u32 part, __u32 account, __u64 whole_ns)
{
	__u64 ns = part_ns(&segment->merged, part, whole_ns);

	if (ns)
		book_reason(following, reason, account, 0, ns);
	return ns;
}

/* The part of one segment of the waker that lies in the wait: what the segment becomes. */
static __always_inline void take_part(struct following *following, struct segment *part, __u64 ends)
{
	struct record *record = following->record;
	struct chain *chain = following->chain;
	__u16 first = short_of(record->object);
	__u64 end = ends < following->until ? ends : following->until, ns, left_ns;
	struct reason reason = {};
	union way way;

	if (part->begin < chain->end)
		part->begin = chain->end;
	if (end <= part->begin)
		return;
	ns = end - part->begin;
	way = way_behind(part, record->account, first);
	reason.object = record->object;
	reason.way = way_of_reason(way, record->account, part);
	reason.way.first = following->inside;
	reason.wait = record->since;
	reason.tid = part->tid;
	way.account = following->inside;
	part->way = way;
	append(chain, part, end);
	left_ns = ns - part_ns(&part->merged, PART_UNKNOWN, ns);
	left_ns -= book_part_of(following, &reason, part, PART_RAN, ACCOUNT_CPU_USER, ns);
	left_ns -= book_part_of(following, &reason, part, PART_QUEUED, ACCOUNT_RUNQ_BUSY, ns);
	left_ns -= book_part_of(following, &reason, part, PART_WAKING, ACCOUNT_RUNQ_WAKING, ns);
	book_reason(following, &reason, part->way.root, part->object, left_ns);
}

static long find_begin(__u32 back, struct following *following)
{
	return goes_back_to(following->other, back, following->chain->end, &following->from);
}

/* A part of which nobody knows what the waker did in it is nobody's but the wait's own. */
static __always_inline void take_unknown(struct following *following, __u64 end)
{
	if (end > following->until)
		end = following->until;
	if (following->chain->end < end)
		append_own(following->chain, following->record, following->record->account, following->record->object,
			   end);
}

static long follow_segment(__u32 number, struct following *following)
{
	struct chain *other = following->other;
	__u32 back = following->from - 1 - number, place = segment_place(other, back);
	struct segment segment;
	__u64 end = other->end;

	if (place >= CHAIN_SEGMENTS)
		return 1;
	if (back)
		end = begin_of_next(other, place);
	read_segment(other, place, &segment);
	take_unknown(following, segment.begin);
	take_part(following, &segment, end);
	return 0;
}

static __always_inline void follow_until(struct following *following, __u64 until)
{
	following->until = until;
	following->from = 0;
	bpf_loop(CHAIN_SEGMENTS, find_begin, following, 0);
	bpf_loop(following->from, follow_segment, following, 0);
}

/* The request whose answer the waker has got waited for that since the call was made, whatever the waker did meanwhile. */
static long follow_call(__u32 number, struct following *following)
{
	const struct answer *answer = &following->waker->answer;
	struct segment call = { .begin = answer->asked,
				.object = answer->peer,
				.tid = following->waker->tid,
				.way.root = ACCOUNT_WAIT_EVENTS };

	following->until = answer->at < following->now ? answer->at : following->now;
	take_unknown(following, call.begin);
	take_part(following, &call, following->until);
	return 0;
}

/* Books the wait of a thread that is woken now to what its waker, the current task, was in meanwhile. */
__weak __noinline int follow(struct record *record, struct chain *chain, struct record *waker, struct chain *other,
			     __u64 now)
{
	struct following following = { record, waker, chain, other, .now = now };

	if (!record || !chain || !waker || !other)
		return 0;
	following.inside = is_serving(record);
	pass_time(record, chain, record->since, ACCOUNT_RUNQ_BUSY, record->since);
	if (chain->end != record->since)
		return 0; /* not the wait that is open */
	/* One that came in unseen: what it has been in since its own wake-up is not known. */
	if (waker->state == STATE_RUNNING)
		append_own(other, waker, running_account(waker->region),
			   region_object(waker->region, waker->region_detail), now);
	else if (waker->waking > waker->since && waker->waking < now)
		pass_time(waker, other, waker->waking, ACCOUNT_RUNQ_BUSY, waker->waking);
	if (waker->answer.at && record->account == ACCOUNT_WAIT_PARKED) {
		if (following.inside) {
			follow_until(&following, waker->answer.asked);
			bpf_loop(1, follow_call, &following, 0);
		} else {
			record->answer = waker->answer; /* it may be the one who wakes the request's */
		}
	}
	follow_until(&following, now);
	return 0;
}

/*
 * At sched_waking, of a thread that is blocked.  One that is only about to block on another CPU is not followed: what it
 * waits for is being written.
 */
static __always_inline void follow_waker(struct record *record, struct task_struct *task, struct task_struct *waker)
{
	struct record *by;
	struct chain *chain, *other;

	if (record->state != STATE_BLOCKED || record->waking < record->since + WORTH_FOLLOWING_NS ||
	    !waits_for_thread(record->account) || record->sequence & 1 || knobs.closing)
		return;
	by = record_of(waker);
	if (!by || !by->start || by->kernel_thread)
		return;
	chain = chain_of(task);
	other = chain_of(waker);
	if (!chain || !other)
		return;
	follow(record, chain, by, other, record->waking);
	keep_helper_time(record, by, other);
}
