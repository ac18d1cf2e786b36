/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests that wait for a timer of the target's own: a delay, a pause before a retry, a limit of rate; or the timeout of a
 * wait that nobody has ended though there was something to do.
 */
#pragma once
#include "request/event_time.bpf.h"

/* Did the thread wake up because its own time had come, and has read nothing since but requests? */
static __always_inline bool woke_by_time(const struct record *record)
{
	return record->by_time && (record->account == ACCOUNT_WAIT_EVENTS || record->account == ACCOUNT_NET_REQUEST ||
				   record->account == ACCOUNT_NET_ACCEPT);
}

/* When a timer ended the wait of a thread that now makes a call; 0: something else did. */
static __always_inline __u64 set_off_by_timer(const struct record *record)
{
	return woke_by_time(record) ? record->waking : 0;
}

/*
 * It goes on with a request, which it left at `left`, and for which it has waited for events: what does not end by an event
 * ends by time.  From then until it woke up that waited for the timer, whatever the thread did for others meanwhile.  Calls
 * that are outstanding are what the time is the limit of: the request has waited for these.  So has one that goes on with
 * the answer to a call which a timer has set off, as each try of one that looks again after a while: until that call.
 */
__weak __noinline int book_own_timer(struct record *record, struct connection *connection, __u64 left)
{
	__u64 ns, until;

	if (!record || !connection)
		return 0;
	until = record->has_read ? record->set_off_at : set_off_by_timer(record);
	if (!until || connection->tid != record->tid || connection->calls > 0)
		return 0;
	ns = unknown_ns(connection, waited_ns(connection, left, until));
	if (!ns)
		return 0;
	take_from_events(connection, ns);
	add_to_part(connection, ACCOUNT_WAIT_TIMER, 0, ns);
	return 0;
}

/*
 * It answers what another thread has read, and woke up because its own time had come.  As long as it had waited it did
 * nothing for anybody, and nobody told it that there was something to do.
 */
static __always_inline void note_timeout(const struct record *record, struct connection *connection)
{
	__u64 since = record->waited_since;

	if (!record->by_time || connection->tid == record->tid || connection->calls > 0 ||
	    (!woke_by_time(record) && record->account != ACCOUNT_WAIT_PARKED && record->account != ACCOUNT_WAIT_TIMER))
		return;
	if (connection->arrived > since)
		since = connection->arrived;
	since = waited_ns(connection, since, record->waking);
	if (since)
		connection->timer_ns = since;
}
