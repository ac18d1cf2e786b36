/* SPDX-License-Identifier: GPL-2.0-only */
/* The request that a call is made for, which waits for its peer meanwhile. */
#pragma once
#include "request/connection.bpf.h"

/* The connection whose request this one was made, or asked for something, for; NULL: not known, or answered since. */
static __always_inline struct connection *owner_of(const struct connection *connection)
{
	struct connection *owner = connection_at(&connection->owner);

	return owner && owner->request == connection->request ? owner : NULL;
}

/* For so long the request for which this connection was made, or asked for something, waited for the peer. */
static __always_inline void give_to_owner(const struct connection *connection, __u64 ns)
{
	struct connection *owner = owner_of(connection);

	if (!owner)
		return;
	__sync_fetch_and_add(&owner->peers_ns, ns);
	__sync_fetch_and_add(&owner->calls, -1);
	if (owner->exchange == EXCHANGE_ANSWERED && owner->readable_at)
		owner->released_at = bpf_ktime_get_ns();
}

/* A call ends without an answer; returns for how long the request for which it was made waited for that. */
static __always_inline __u64 give_up_for_owner(const struct connection *connection, __u64 now)
{
	struct connection *owner = owner_of(connection);
	__u64 until = owner && owner->exchange == EXCHANGE_ANSWERED ? owner->answered : now, ns;

	if (!owner || owner->exchange == EXCHANGE_NONE)
		return 0;
	ns = until > connection->begun ? until - connection->begun : 0;
	give_to_owner(connection, ns);
	owner->worked_on = now; /* until now it has waited for the peer, whatever woke its thread */
	return ns;
}

/* The request for which this connection is made, or asks for something, waits for the peer from now on. */
static __always_inline void count_for_owner(const struct connection *connection)
{
	struct connection *owner = owner_of(connection);

	if (owner)
		__sync_fetch_and_add(&owner->calls, 1);
}
