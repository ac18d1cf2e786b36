/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which accepted connections are followed where all are too many: those of TCP of whose hash some bits are not set.  It is of
 * both addresses and ports and of a secret of the kernel's, so that a client's next connection is another draw.
 */
#pragma once
#include "core/maps.bpf.h"

static __always_inline __u32 mixed(__u32 hash)
{
	return ((hash ^ (__u32)knobs.seed) * 0x9E3779B1) >>
	       16; /* Knuth's multiplicative hash: its upper bits are mixed best */
}

/* Is that the target's end of an accepted connection of TCP?  (See is_accepted(); paths of MPTCP have no connection.) */
static __always_inline bool is_accepted_tcp(const struct sock *sock)
{
	return LOAD(sock, sock, sk_protocol) == IPPROTO_TCP && LOAD(sock, sock, sk_max_ack_backlog);
}

static __always_inline bool is_left_out(const struct sock *sock)
{
	return knobs.connection_mask && mixed(LOAD(sock, sock, __sk_common.skc_hash)) & knobs.connection_mask &&
	       is_accepted_tcp(sock);
}
