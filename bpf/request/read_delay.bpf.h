/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request lay unread: in what was the thread meanwhile that reads it now?  Its own line of time tells, with the roots of
 * its waits, however seldom it turns.  This is a second view on the thread's time, in requests' time: it is never added to
 * the ledger's.
 */
#pragma once
#include "wait/timeline.bpf.h"
#include "request/connection.bpf.h"
#include "request/read_delay_parts.h"

struct unread {
	struct connection *connection;
	struct chain *chain;
	__u64 begun, until, error_ns;
};

static __always_inline void add_ran(struct connection *connection, bool served, __u64 ns)
{
	union unread_in in = { .account = ACCOUNT_CPU_USER, .root = ACCOUNT_CPU_USER, .served = served };

	add_unread_part(&connection->unread, in.word, ns);
}

static long book_segment(__u32 back, struct unread *unread)
{
	return !add_segment_before(&unread->connection->unread, unread->chain, back, unread->begun, &unread->until,
				   &unread->error_ns);
}

/*
 * From `begun` until now; the current thread has run since the end of its chain, and answered somebody last at
 * `served_at`.  Since Linux 7.0 the thread can lose its CPU in here: what its chain gets then is later than `now`.
 */
__weak __noinline int book_unread(struct connection *connection, struct chain *chain, __u64 begun, __u64 served_at,
				  __u64 now)
{
	struct unread unread = { connection, chain, begun, now, 0 };
	__u64 end;

	if (!connection || !chain)
		return 0;
	end = chain->end;
	if (end < now) {
		unread.until = end > begun ? end : begun;
		add_ran(connection, served_at > unread.until, now - unread.until);
	}
	bpf_loop(CHAIN_SEGMENTS, book_segment, &unread, 0);
	connection->unread_error_ns = unread.error_ns;
	return 0;
}
