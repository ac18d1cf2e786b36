/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request lay unread: in what was the thread meanwhile that reads it now?  Its own line of time tells, with the roots of
 * its waits, however seldom it turns.  This is a second view on the thread's time, in requests' time: it is never added to
 * the ledger's.
 */
#pragma once
#include "chain.bpf.h"
#include "connection.bpf.h"

struct unread {
	struct connection *connection;
	struct chain *chain;
	__u64 begun, now;
};

/* What finds no room is told as the rest. */
static __always_inline void add_to_unread(struct connection *connection, struct unread_in in, __u64 ns)
{
	for (int i = 0; i < UNREAD_PARTS; i++) {
		struct unread_part *part = &connection->unread[i];

		if (part->ns &&
		    (part->in.account != in.account || part->in.root != in.root || part->in.served != in.served))
			continue;
		part->in = in;
		part->ns += ns;
		break;
	}
}

static __always_inline void add_ran(struct connection *connection, bool served, __u64 ns)
{
	struct unread_in in = { .account = ACCOUNT_CPU_USER, .root = ACCOUNT_CPU_USER, .served = served };

	add_to_unread(connection, in, ns);
}

static __always_inline struct unread_in in_segment(const struct segment *segment, __u32 root)
{
	return (struct unread_in){ .account = segment->way.depth ? segment->way.steps[0] : root,
				   .root = root,
				   .served = segment->way.account };
}

static __always_inline __u64 add_part(struct connection *connection, const struct segment *segment, __u32 part,
				      __u32 root, __u64 whole_ns)
{
	__u64 ns = part_ns(segment, part, whole_ns);

	if (ns)
		add_to_unread(connection, in_segment(segment, root), ns);
	return ns;
}

/* A piece of a merged segment has of each of its parts as much as the whole: where in it they lay is not known. */
static __always_inline void add_segment(struct connection *connection, const struct segment *segment, __u64 ns)
{
	__u64 left_ns = ns - part_ns(segment, PART_UNKNOWN, ns);

	left_ns -= add_part(connection, segment, PART_RAN, ACCOUNT_CPU_USER, ns);
	left_ns -= add_part(connection, segment, PART_QUEUED, ACCOUNT_RUNQ_BUSY, ns);
	left_ns -= add_part(connection, segment, PART_WAKING, ACCOUNT_RUNQ_WAKING, ns);
	if (left_ns)
		add_to_unread(connection, in_segment(segment, segment->way.root), left_ns);
}

/* From the last segment back to the one in which the request arrived. */
static long book_segment(__u32 back, struct unread *unread)
{
	struct chain *chain = unread->chain;
	__u32 index = (chain->last - back) % CHAIN_SEGMENTS;
	const struct segment *segment = &chain->segments[index];
	__u64 begin = segment->begin > unread->begun ? segment->begin : unread->begun;
	__u64 end = end_of_segment(chain, index, back);

	if (back >= chain->valid || end <= unread->begun)
		return 1;
	if (end > begin)
		add_segment(unread->connection, segment, end - begin);
	return 0;
}

/*
 * From `begun` until now; the current thread has run since the end of its chain, and answered somebody last at
 * `served_at`.
 */
__weak __noinline int book_unread(struct connection *connection, struct chain *chain, __u64 begun, __u64 served_at,
				  __u64 now)
{
	struct unread unread = { connection, chain, begun, now };
	__u64 ran_since;

	if (!connection || !chain)
		return 0;
	ran_since = chain->end > begun ? chain->end : begun;
	if (now > ran_since)
		add_ran(connection, served_at > ran_since, now - ran_since);
	if (chain->end > begun)
		bpf_loop(CHAIN_SEGMENTS, book_segment, &unread, 0);
	return 0;
}
