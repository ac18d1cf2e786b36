/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests of an event loop that wait for a timer of its own: a delay, a pause before a retry, a limit of rate. */
#pragma once
#include "request/connection.bpf.h"

/* Did the thread wake up because its own time had come, and has read nothing since but requests? */
static __always_inline bool woke_by_time(const struct record *record)
{
	return record->by_time && (record->account == ACCOUNT_WAIT_EVENTS || record->account == ACCOUNT_NET_REQUEST ||
				   record->account == ACCOUNT_NET_ACCEPT);
}

static __always_inline void take(__u64 *from, __u64 ns)
{
	*from -= *from < ns ? *from : ns;
}

/*
 * It goes on with a request for which it has waited for events: what does not end by an event ends by time.  From when
 * it left the request until it woke up that waited for the timer, whatever the thread did for others meanwhile.  Calls
 * that are outstanding are what the time is the limit of: the request has waited for these.
 */
__weak __noinline int book_own_timer(struct record *record, struct connection *connection)
{
	__u64 left, ns;
	bool asked;

	if (!record || !connection)
		return 0;
	asked = connection->exchange == EXCHANGE_ASKED;
	left = asked ? connection->arrived : connection->last;
	if (!woke_by_time(record) || connection->tid != record->tid || connection->calls > 0)
		return 0;
	if (connection->worked_on > left)
		left = connection->worked_on;
	if (record->waking <= left)
		return 0;
	ns = record->waking - left;
	for (int i = 0; i < REQUEST_PARTS && i < connection->parts_used; i++)
		if (connection->parts[i].account != ACCOUNT_WAIT_EVENTS)
			take(&ns, asked ? connection->parts[i].ns : connection->parts[i].after_ns);
	for (int i = 0; i < REQUEST_PARTS && i < connection->parts_used; i++)
		if (connection->parts[i].account == ACCOUNT_WAIT_EVENTS)
			take(asked ? &connection->parts[i].ns : &connection->parts[i].after_ns, ns);
	if (ns)
		add_to_part(connection, ACCOUNT_WAIT_TIMER, 0, ns);
	return 0;
}
