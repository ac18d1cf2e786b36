/* SPDX-License-Identifier: GPL-2.0-only */
/* What keeps a sender from sending on whose send buffer is full. */
#pragma once
#include "core/compat.bpf.h"
#include "core/records.h"

/*
 * Of TCP: the peer's window, congestion on the way (a connection that has just begun, too), or, neither being full, the
 * buffer itself, which holds less than the way does.
 */
static __always_inline enum send_limit send_limit_of(const struct sock *sock)
{
	const struct tcp_sock *tcp = (const struct tcp_sock *)sock;
	__u32 window = LOAD(tcp_sock, tcp, snd_wnd), in_flight = LOAD(tcp_sock, tcp, packets_out);

	if (LOAD(tcp_sock, tcp, snd_nxt) - LOAD(tcp_sock, tcp, snd_una) + 1 >= window || (window && !in_flight))
		return SEND_LIMIT_WINDOW;
	return in_flight >= LOAD(tcp_sock, tcp, snd_cwnd) ? SEND_LIMIT_CONGESTION : SEND_LIMIT_BUFFER;
}

/* Has the program set the size of its send buffer?  Else the kernel makes it larger as the way takes more. */
static __always_inline bool is_buffer_fixed(const struct sock *sock)
{
	return BPF_CORE_READ_BITFIELD_PROBED(sock, sk_userlocks) & SOCK_SNDBUF_LOCK;
}
