/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests for which another thread of the process works: an event loop hands them to a pool of threads, and goes on with
 * them when one of these wakes it.  What that one was in meanwhile is what they waited for.  This is requests' time only:
 * it is never added to the ledger's.
 */
#pragma once
#include "wait/timeline.bpf.h"
#include "request/event_time.bpf.h"

/* The line of time of who woke a loop last; its last segment ends where that was.  As a chain, but without its reasons. */
struct helper_time {
	__u64 words[__builtin_offsetof(struct chain, reasons) / sizeof(__u64)];
};

_Static_assert(sizeof(struct helper_time) == __builtin_offsetof(struct chain, reasons), "nothing of it is cut off");

#define LOOPS 256

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LOOPS);
	__type(key, __u32); /* tid of the loop */
	__type(value, struct helper_time);
} helper_times SEC(".maps");

/* A thread that serves requests is woken by another one of its process. */
static __always_inline void keep_helper_time(const struct record *record, struct record *waker,
					     const struct chain *chain)
{
	__u32 tid = record->tid;

	if (record->account != ACCOUNT_WAIT_EVENTS || !record->requests_read || record->tgid != waker->tgid)
		return;
	waker->helped++;
	bpf_map_update_elem(&helper_times, &tid, chain, BPF_ANY);
}

struct help {
	struct connection *connection;
	const struct chain *chain;
	__u64 begun, until;
	__u64 left_ns; /* of the request's time: of which nothing else is known */
};

/* A helper that waits for work does nothing for anybody. */
static __always_inline bool helps_in(__u32 account)
{
	return account != ACCOUNT_WAIT_PARKED && account != ACCOUNT_WAIT_EVENTS && account != ACCOUNT_NET_ACCEPT &&
	       account != ACCOUNT_NET_REQUEST;
}

static __always_inline void add_help(struct help *help, __u32 account, __u64 ns)
{
	if (ns > help->left_ns)
		ns = help->left_ns;
	if (!ns || !helps_in(account))
		return;
	help->left_ns -= ns;
	add_to_part(help->connection, account, 0, ns);
}

static long add_help_of_segment(__u32 back, struct help *help)
{
	__u32 place = segment_place(help->chain, back);
	struct segment segment;
	__u64 begin, ns, ran_ns, queued_ns, waking_ns;

	if (back >= help->chain->valid || place >= CHAIN_SEGMENTS || help->until <= help->begun)
		return 1;
	read_segment(help->chain, place, &segment);
	begin = segment.begin > help->begun ? segment.begin : help->begun;
	if (begin >= help->until)
		return 0;
	ns = help->until - begin;
	help->until = begin;
	ran_ns = part_ns(&segment.merged, PART_RAN, ns);
	queued_ns = part_ns(&segment.merged, PART_QUEUED, ns);
	waking_ns = part_ns(&segment.merged, PART_WAKING, ns);
	add_help(help, ACCOUNT_CPU_USER, ran_ns);
	add_help(help, ACCOUNT_RUNQ_BUSY, queued_ns);
	add_help(help, ACCOUNT_RUNQ_WAKING, waking_ns);
	add_help(help, segment.way.root,
		 ns - ran_ns - queued_ns - waking_ns - part_ns(&segment.merged, PART_UNKNOWN, ns));
	return 0;
}

/*
 * A loop that was woken by another thread goes on with a request, which it left at `left`, and for which no call is
 * outstanding.  So far as nothing else is known of the request's time since then, it has waited for that thread: also for
 * what that one did for others first.
 */
__weak __noinline int book_helper(struct record *record, struct connection *connection, __u64 left)
{
	struct help help = { .connection = connection };
	__u32 tid;

	if (!record || !connection || !record->waker || record->account != ACCOUNT_WAIT_EVENTS ||
	    connection->tid != record->tid || connection->calls > 0)
		return 0;
	tid = record->tid;
	help.chain = bpf_map_lookup_elem(&helper_times, &tid);
	if (!help.chain || help.chain->end != record->waking)
		return 0;
	help.until = record->waking;
	help.left_ns = waited_ns(connection, left, help.until);
	help.begun = help.until - help.left_ns;
	help.left_ns = unknown_ns(connection, help.left_ns);
	if (!help.left_ns)
		return 0;
	left = help.left_ns;
	bpf_loop(CHAIN_SEGMENTS, add_help_of_segment, &help, 0);
	take_from_events(connection, left - help.left_ns);
	return 0;
}
