/* SPDX-License-Identifier: GPL-2.0-only */
/* How long an answer could not be written, because the send buffer was full of what the client had not taken. */
#pragma once
#include "network/send_limit.bpf.h"
#include "request/follow.bpf.h"

/*
 * Did the last send, or who asked whether one can be made, find the send buffer full?  TCP says so until an
 * acknowledgement has made enough room again to wake up who waits for that (sk_stream_write_space()).
 */
static __always_inline bool is_full(const struct sock *sock)
{
	const struct socket *socket = LOAD_TRUSTED(sock, sock, sk_socket);

	return socket && LOAD(socket, socket, flags) & 1 << SOCK_NOSPACE;
}

/* The same of a socket that may have been closed. */
static __always_inline bool is_full_still(const struct socket_id *id)
{
	const struct sock *sock = (const struct sock *)id->address;
	const struct socket *socket = is_open(id) ? LOAD(sock, sock, sk_socket) : NULL;

	return socket && LOAD(socket, socket, flags) & 1 << SOCK_NOSPACE;
}

/*
 * A part of the answer was sent.  What that call has waited itself is the thread's, net.send: here begins what passes
 * until the next one.
 */
static __always_inline void note_sent(const struct sock *sock, struct connection *connection, __u64 now)
{
	if (connection->full_since && connection->room_at > connection->full_since)
		connection->untaken_ns += connection->room_at - connection->full_since;
	connection->full_since = connection->exchange != EXCHANGE_NONE && is_full(sock) ? now : 0;
}

/* The connection or the window ends: what of an answer finds no room now, its client has not taken. */
static __always_inline void end_untaken(struct connection *connection, bool full, __u64 now)
{
	if (!full || !connection->full_since || connection->exchange != EXCHANGE_ANSWERED ||
	    now < connection->full_since)
		return;
	connection->untaken_ns += now - connection->full_since;
	connection->full_since = 0;
	connection->last = now;
}

/* Nothing was: there was no room, as the call before, which found what there was, could not know. */
static __always_inline void note_refused(const struct sock *sock)
{
	struct connection *connection = connection_given(sock);

	if (connection && connection->direction == DIRECTION_ACCEPTED && connection->exchange != EXCHANGE_NONE &&
	    !connection->full_since && is_full(sock))
		connection->full_since = bpf_ktime_get_ns();
}

/*
 * A segment came in while the buffer is full: maybe the one that makes room.  Whoever writes later is late himself.  By
 * the first one all that may be sent has been sent, so it shows what kept the rest.
 */
static __always_inline void note_room(const struct sock *sock, struct connection *connection, __u64 now)
{
	enum send_limit limit;

	if (!connection->full_since)
		return;
	limit = connection->room_at < connection->full_since ? send_limit_of(sock) : SEND_LIMITS;
	if (limit == SEND_LIMIT_BUFFER && !is_buffer_fixed(sock))
		limit = SEND_LIMIT_CONGESTION; /* of a way that it has not seen yet */
	if (limit < SEND_LIMITS && connection->limits[limit] < 255)
		connection->limits[limit]++;
	connection->room_at = now;
}
