/* SPDX-License-Identifier: GPL-2.0-only */
/* What this host's kernel keeps back of what was sent, until the peer has acknowledged what came before, or more is sent. */
#pragma once
#include "request/connection.bpf.h"

/* Of tcp_sock.nonagle. */
#define TCP_NAGLE_OFF 1
#define TCP_NAGLE_CORK 2

/*
 * Why does the last piece stay here though path and peer have room for it?  It is smaller than a segment, and waits until
 * all before it is acknowledged (Nagle's algorithm, which TCP_NODELAY turns off), or for more from the sender, who has
 * said that more comes: TCP_CORK, or MSG_MORE, which leaves no flag: it is assumed where nothing is in flight.
 */
static __always_inline enum holder holder_of(struct sock *sock)
{
	const struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sock);
	__u8 nonagle;

	if (!tcp || tcp->write_seq == tcp->snd_nxt || tcp->write_seq - tcp->snd_nxt >= tcp->mss_cache ||
	    tcp->write_seq - tcp->snd_una > tcp->snd_wnd || tcp->packets_out >= tcp->snd_cwnd)
		return HELD_BY_NOBODY;
	nonagle = BPF_CORE_READ_BITFIELD(tcp, nonagle);
	if ((nonagle & TCP_NAGLE_CORK) || tcp->snd_nxt == tcp->snd_una)
		return HELD_BY_CORK;
	return nonagle & TCP_NAGLE_OFF ? HELD_BY_NOBODY : HELD_BY_NAGLE;
}

/* How long after `since` TCP has sent something last, to a tick; `now` at most. */
static __always_inline __u64 sent_after_ns(const struct sock *sock, __u64 since, __u64 now)
{
	__u64 waited = now > since ? now - since : 0;
	__u64 ago = (__u32)bpf_jiffies64() - LOAD(tcp_sock, (const struct tcp_sock *)sock, lsndtime);

	return ago * knobs.tick_ns < waited ? waited - ago * knobs.tick_ns : 0;
}

/* A call's answer is there: for so long the last of what was asked had been held. */
static __always_inline __u64 held_ns(const struct sock *sock, const struct connection *connection, __u64 now)
{
	return connection->held ? sent_after_ns(sock, connection->asked, now) : 0;
}

/*
 * The client has asked again, or hung up, `at` that time: the end of the last answer had left by then.  What was held
 * for less than a tick cannot be told from what left at once.
 */
static __always_inline void let_go(const struct sock *sock, struct connection *connection, __u64 at, __u64 now)
{
	__u64 ns, most_ns = at > connection->last ? at - connection->last : 0;
	__u8 held = connection->held;

	if (!held || connection->direction != DIRECTION_ACCEPTED)
		return;
	connection->held = HELD_BY_NOBODY;
	ns = sent_after_ns(sock, connection->last, now);
	if (ns > most_ns)
		ns = most_ns;
	if (connection->exchange != EXCHANGE_ANSWERED || ns <= knobs.tick_ns)
		return;
	connection->last += ns;
	connection->held_ns = ns;
	connection->corked = held == HELD_BY_CORK;
}
