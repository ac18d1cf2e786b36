/* SPDX-License-Identifier: GPL-2.0-only */
/* A request's time of which nothing is known but that its thread has waited for events meanwhile. */
#pragma once
#include "request/connection.bpf.h"

static __always_inline void take(__u64 *from, __u64 ns)
{
	*from -= *from < ns ? *from : ns;
}

/* How long the request had waited until then: since `since`, or since the last call for it was over. */
static __always_inline __u64 waited_ns(const struct connection *connection, __u64 since, __u64 until)
{
	if (connection->worked_on > since)
		since = connection->worked_on;
	return until > since ? until - since : 0;
}

/* How much of this time is in no part of the request, or in that of waiting for events. */
static __always_inline __u64 unknown_ns(const struct connection *connection, __u64 ns)
{
	bool asked = connection->exchange == EXCHANGE_ASKED;

	for (int i = 0; i < REQUEST_PARTS && i < connection->parts_used; i++)
		if (connection->parts[i].account != ACCOUNT_WAIT_EVENTS)
			take(&ns, asked ? connection->parts[i].ns : connection->parts[i].after_ns);
	return ns;
}

/* Another account has this time from now on. */
static __always_inline void take_from_events(struct connection *connection, __u64 ns)
{
	bool asked = connection->exchange == EXCHANGE_ASKED;

	for (int i = 0; i < REQUEST_PARTS && i < connection->parts_used; i++)
		if (connection->parts[i].account == ACCOUNT_WAIT_EVENTS)
			take(asked ? &connection->parts[i].ns : &connection->parts[i].after_ns, ns);
}
