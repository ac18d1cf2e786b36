/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which accepted connections are followed where all are too many: those of TCP and MPTCP of whose hash some bits are not
 * set.  It is of both addresses and ports and of a secret of the kernel's, so that a client's next connection is another
 * draw; of MPTCP it is of the client's key.  Unix sockets have nothing of that kind, and are all followed.
 */
#pragma once
#include "core/own_costs.bpf.h"
#include "request/connection.bpf.h"

static __always_inline __u32 hash_of(const struct sock *sock)
{
	if (LOAD(sock, sock, sk_protocol) == IPPROTO_MPTCP && bpf_core_type_exists(struct mptcp_sock))
		return LOAD(mptcp_sock, sock, token);
	return LOAD(sock, sock, __sk_common.skc_hash);
}

static __always_inline __u32 mixed(__u32 hash)
{
	return ((hash ^ (__u32)knobs.seed) * 0x9E3779B1) >>
	       16; /* Knuth's multiplicative hash: its upper bits are mixed best */
}

static __always_inline bool is_left_out(const struct sock *sock)
{
	return knobs.connection_mask && mixed(hash_of(sock)) & knobs.connection_mask && is_accepted(sock);
}

/* Is it one that others of its kind are left out for? */
static __always_inline bool may_be_left_out(const struct connection *connection)
{
	return connection->direction == DIRECTION_ACCEPTED && OBJECT_KIND(connection->object) == OBJECT_PORT;
}

/*
 * One more of what a connection has: how much that adds to the variance of the estimate, by Horvitz and Thompson, divided by
 * how many it stands for.  If it stood for fewer before, that counts with the weight of then: the same connection is in
 * both.
 */
static __always_inline __u64 square_of_one_more(__u64 *beyond)
{
	__u64 square = 2 * *beyond + knobs.connection_mask;

	*beyond += knobs.connection_mask;
	return square;
}

/* Reads tell whether those that are left out are like those that are followed. */
static __always_inline void count_read(bool followed)
{
	__u32 program = TIMED_RECEIVED;
	struct own_cost *cost = bpf_map_lookup_elem(&own_costs, &program);

	if (!cost)
		return;
	cost->reads++;
	if (followed)
		cost->reads_told += knobs.connection_mask + 1;
}
