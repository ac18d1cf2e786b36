/* SPDX-License-Identifier: GPL-2.0-only */
/* Which connections are followed, and what each is told by. */
#pragma once
#include "request/endpoint.bpf.h"
#include "request/exchange.bpf.h"

/*
 * Where the target has accepted: local ports, and addresses (struct unix_address), which a unix socket that listens
 * shares with its connections.  New connections there are followed before anybody reads from them.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u8);
} accepting SEC(".maps");

static bool accepts_unix;

static __always_inline __u64 where_accepted(const struct sock *sock, __u16 family)
{
	return family == AF_UNIX ? (__u64)LOAD(unix_sock, sock, addr) : LOAD(sock, sock, __sk_common.skc_num);
}

/*
 * Begins to follow a connection, of that direction.  (Two threads that use a new socket at an address that was another
 * one's, at the same instant, can lose the begin of what they do there: no lock is worth that.)
 */
static __always_inline struct connection *follow(struct sock *sock, __u16 family, __u32 direction)
{
	__u64 address = (__u64)sock, cookie = bpf_get_socket_cookie(sock);
	struct connection *connection = FIND_OR_MAKE(connections, &address, COUNTER_CONNECTIONS_FULL, NULL);
	__u64 early_at, before, where;
	__u8 yes = 1;

	if (!connection)
		return NULL;
	before = connection->cookie;
	if (before == cookie)
		return connection;
	early_at = connection->early_cookie == cookie ? connection->early_at : 0;
	if (before) {
		end_unseen(connection, bpf_ktime_get_ns());
		__builtin_memset(connection, 0, sizeof(*connection));
	}
	connection->readable_at = early_at;
	connection->object = exchange_object(sock, family, direction);
	connection->direction = direction;
	connection->cookie = cookie;
	if (direction != DIRECTION_ACCEPTED)
		return connection;
	__sync_fetch_and_add(&inside.accepted, 1);
	if (may_be_left_out(connection))
		__sync_fetch_and_add(&inside.may_be_left_out, 1);
	where = where_accepted(sock, family);
	if (bpf_map_lookup_elem(&accepting, &where))
		return connection;
	bpf_map_update_elem(&accepting, &where, &yes, BPF_ANY);
	if (family == AF_UNIX)
		accepts_unix = true;
	return connection;
}

/*
 * Something came in on a socket that is not followed.  Is it one that nobody has accepted yet, in the queue of a unix
 * socket at which the target accepts?  It is followed by who reads from it: what lay there before is left to that one.
 */
static __always_inline void note_early(struct sock *sock)
{
	__u64 where, cookie, address = (__u64)sock;
	struct connection *connection;

	/* Others' sockets come here, too: what may be loaded without a check is. */
	if (!accepts_unix || sock->__sk_common.skc_family != AF_UNIX ||
	    sock->__sk_common.skc_state != TCP_ESTABLISHED || LOAD_TRUSTED(sock, sock, sk_socket))
		return;
	where = where_accepted(sock, AF_UNIX);
	if (!where || !bpf_map_lookup_elem(&accepting, &where))
		return;
	connection = FIND_OR_MAKE(connections, &address, COUNTER_CONNECTIONS_FULL, NULL);
	cookie = bpf_get_socket_cookie(sock);
	if (!connection || connection->early_cookie == cookie)
		return;
	connection->early_at = bpf_ktime_get_ns();
	connection->early_cookie = cookie;
}

/* The connection of a socket that the target uses; `known`: it was followed already. */
static __always_inline struct connection *met(struct sock *sock, bool *known)
{
	struct connection *connection = connection_given(sock);
	__u32 direction;

	*known = connection;
	if (connection)
		return connection;
	direction = direction_of(sock, sock->__sk_common.skc_family);
	return direction ? follow(sock, sock->__sk_common.skc_family, direction) : NULL;
}
