/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages that may want no answer: what comes after them, with a pause, is more of them or another one. */
#pragma once
#include "request/exchange.bpf.h"

/* The next piece of a request is later than an acknowledgement that a receiver delays, or than a segment sent again. */
#define PAUSE_NS 50000000
#define LONG_PAUSE_NS 250000000

/* Encrypted, so short a message is a frame of HTTP/2 or of a WebSocket that wants no answer: requests have heads. */
#define TLS_FRAMES_BYTES 90

static __always_inline bool may_want_no_answer(const struct connection *connection)
{
	return connection->tls ? connection->bytes_in <= TLS_FRAMES_BYTES : connection->nameless != NAMES;
}

/* How much later than the last piece the next one was sent, without the time on the way. */
static __always_inline __u64 pause_before(const struct connection *connection, const struct socket_id *id, __u64 begun)
{
	const struct sock *path = NULL;
	__u64 ns, on_way_ns = 0;

	if (connection->left_at || begun <= connection->arrived)
		return 0;
	ns = begun - connection->arrived;
	if (OBJECT_KIND(connection->object) == OBJECT_PORT)
		path = tcp_path((const struct sock *)id->address);
	if (path) /* as long as four windows of a sender that has more; the kernel keeps eight times the round trip */
		on_way_ns = 4 * 1000ULL * (LOAD(tcp_sock, path, srtt_us) >> 3);
	return ns > on_way_ns ? ns - on_way_ns : 0;
}

/*
 * What comes on a connection without names while no answer was sent: more of the same request, or another one, since that
 * one wanted no answer (a statement is closed, a message acknowledged)?  After a long pause, and without a call for the one
 * before, it is another: whichever it is, the server had nothing to do until now.
 */
static __always_inline bool is_another(const struct record *record, const struct connection *connection, __u64 pause_ns)
{
	return pause_ns >= LONG_PAUSE_NS && connection->tid == record->tid && !connection->calls &&
	       !connection->worked_on && !record->next.cookie;
}

/* A message that was read, and of which nothing tells whether it was answered, or had to be. */
static __always_inline void leave_untimed(struct connection *connection, __u64 now)
{
	COUNT_EXCHANGES(connection, untimed);
	if (connection->exchange == EXCHANGE_ASKED)
		leave(now);
	connection->exchange = EXCHANGE_NONE;
}
