/* SPDX-License-Identifier: GPL-2.0-only */
/* What sockets receive and send, and when there is something to read: requests, calls, or none. */
#pragma once
#include "network/datagram.bpf.h"
#include "network/socket.bpf.h"
#include "request/connection_sample.bpf.h"
#include "request/answer.bpf.h"
#include "request/answer_status.bpf.h"
#include "request/outbound_call.bpf.h"
#include "request/full_send_buffer.bpf.h"
#include "wait/peer_time.bpf.h"

#define MSG_PEEK 2
#define EAGAIN 11

static __always_inline __u32 unread_bytes(const struct sock *sock)
{
	const struct tcp_sock *tcp = (const struct tcp_sock *)sock;

	return LOAD(tcp_sock, tcp, rcv_nxt) - LOAD(tcp_sock, tcp, copied_seq);
}

/* Is there more to read than was read? */
static __always_inline bool leaves_some(struct sock *sock)
{
	const struct tcp_sock *tcp;

	if (sock->__sk_common.skc_family == AF_UNIX)
		return sock->sk_receive_queue.qlen != 0;
	tcp = bpf_skc_to_tcp_sock(sock);
	return tcp && tcp->rcv_nxt != tcp->copied_seq;
}

/* Has the target never sent anything on a connection by which it got something before what it has read now? */
static __always_inline bool was_never_answered(const struct sock *sock, const struct connection *connection, int length)
{
	const struct tcp_sock *tcp = (const struct tcp_sock *)sock;

	if (connection->direction != DIRECTION_ACCEPTED || !is_tcp(sock))
		return false;
	return !LOAD(tcp_sock, tcp, bytes_sent) &&
	       LOAD(tcp_sock, tcp, bytes_received) > unread_bytes(sock) + length + 1; /* FIN */
}

/* Is what was read now the first that was said on that connection? */
static __always_inline bool is_first_word(const struct sock *sock, const struct connection *connection, int length)
{
	const struct tcp_sock *tcp = (const struct tcp_sock *)sock;

	return connection->direction == DIRECTION_ACCEPTED && is_tcp(sock) && !LOAD(tcp_sock, tcp, bytes_sent) &&
	       LOAD(tcp_sock, tcp, bytes_received) <= unread_bytes(sock) + length;
}

/*
 * The thread reads an answer that it has not waited for in this call, nor for a request of its own: whom it wakes now may
 * have waited for that.
 */
static __always_inline void note_answer_read(struct record *record, const struct connection *connection)
{
	if (connection->exchange != EXCHANGE_ANSWERED || connection->direction == DIRECTION_ACCEPTED ||
	    (!record->turned && (record->account == ACCOUNT_NET_RECEIVE || record->account == ACCOUNT_IPC_UNIX)) ||
	    is_serving(record))
		return;
	record->answer = (struct answer){ connection->begun, connection->answered, connection->object };
}

/* The thread has read from a connection that is not followed: it works for no request that is. */
static __always_inline int pass_over(struct record *record)
{
	struct socket_id nobody = {};
	__u64 now = bpf_ktime_get_ns();

	if (moves_for_others())
		return 0;
	turn_to(record, &nobody, connection_at(&record->serving), now);
	record->serving_sure = 0;
	record->requests_read += !record->requests_read;
	return 0;
}

static __always_inline int received(struct sock *sock, int length, int flags)
{
	struct connection *connection, *owner;
	struct record *record;
	struct socket_id id;
	__u64 now, begun;
	bool known;

	if (!knobs.window_open || length < 0 || (flags & MSG_PEEK))
		return 0;
	record = record_of(bpf_get_current_task_btf());
	if (!record)
		return 0;
	if (is_left_out(sock)) {
		if (length)
			count_read(false);
		return pass_over(record);
	}
	connection = is_datagram(sock) ? datagram_from(sock, &known) : met(sock, &known);
	if (!connection)
		return 0;
	if (knobs.connection_mask && length && may_be_left_out(connection))
		count_read(true);
	if (is_plain_datagram(connection))
		COUNT_EXCHANGES(connection, untimed);
	id = id_of(sock, connection);
	now = bpf_ktime_get_ns();
	if (!known && !connection->readable_at)
		connection->readable_at = arrived_ns(sock, now);
	if (!known) {
		connection->one_way = was_never_answered(sock, connection, length);
		connection->fresh = is_first_word(sock, connection, length);
	}
	begun = connection->readable_at && connection->readable_at < now ? connection->readable_at : now;
	connection->readable_at = 0;
	if (connection->direction == DIRECTION_ACCEPTED) {
		let_go(sock, connection, begun, now);
		if (length) {
			receive_request(record, connection, &id, length, begun, now);
			connection->left_at = leaves_some(sock) ? now : 0;
		} else {
			end_untaken(connection, is_full(sock), now);
			end_request(connection);
		}
		connection->bytes_in += length; /* after the request before has been summed up */
		return 0;
	}
	connection->bytes_in += length;
	record->idled = record->by_time = 0; /* what it does next may be an answer made of that */
	record->has_read = 1;
	record->set_off_at = connection->exchange == EXCHANGE_ANSWERED ? connection->set_off_at : 0;
	note_answer_read(record, connection);
	read_answer(record, connection, length, leaves_some(sock) ? 0 : now);
	if (length && (connection->status_due || (knobs.sees_failures && connection->direction == DIRECTION_CONNECTED)))
		look_at_answer(connection, length);
	if (awaits_number(connection))
		take_number(connection, length);
	owner = owner_of(connection);
	if (owner && owner->exchange == EXCHANGE_ASKED) {
		owner->worked_on = now;
		serve(record, &connection->owner, now);
	}
	return 0;
}

/* Event loops wait on no socket: how far away a peer is, and what is lost on the way, its calls tell. */
static __always_inline void note_called(const struct sock *sock, struct connection *connection)
{
	if (connection->direction != DIRECTION_CONNECTED || !is_tcp(sock))
		return;
	if (connection->calls_noted++ % 16 == 0)
		read_socket(sock, connection->object);
}

/* The answer to the first question of a socket can be there before the socket is followed. */
static __always_inline void note_early_answer(const struct sock *sock, struct connection *connection, __u64 now)
{
	if (asks_by_datagrams(connection) && LOAD(sock, sock, sk_receive_queue.qlen))
		connection->readable_at = now;
}

static __always_inline int sent(struct sock *sock, int length)
{
	struct connection *connection;
	struct record *record;
	struct socket_id id;
	__u64 now;
	bool known;

	if (!knobs.window_open || is_left_out(sock))
		return 0;
	if (length == -EAGAIN)
		note_refused(sock);
	if (length <= 0)
		return 0;
	record = record_of(bpf_get_current_task_btf());
	if (!record)
		return 0;
	now = bpf_ktime_get_ns();
	connection = is_datagram(sock) ? datagram_to(sock, now, &known) : met(sock, &known);
	if (!connection)
		return 0;
	if (is_plain_datagram(connection))
		COUNT_EXCHANGES(connection, unawaited);
	if (connection->direction == DIRECTION_DATAGRAM_PORT)
		return 0;
	id = id_of(sock, connection);
	if (connection->direction == DIRECTION_ACCEPTED) {
		send_answer(record, connection, &id, length, now);
		note_sent(sock, connection, now);
	} else {
		if (!known)
			note_early_answer(sock, connection, now);
		note_called(sock, connection);
		send_call(record, sock, connection, length, now);
	}
	connection->bytes_out += length;
	connection->held = holder_of(sock);
	return 0;
}

/* Is all there is to read that the peer sends no more (its FIN counts as one byte)? */
static __always_inline bool is_end_only(const struct sock *sock, const struct connection *connection)
{
	if (connection->direction != DIRECTION_CONNECTED || !is_tcp(sock) ||
	    sock->__sk_common.skc_state != TCP_CLOSE_WAIT)
		return false;
	return unread_bytes(sock) <= 1;
}

/*
 * There is something to read.  Of unix sockets the kernel says so when it has let go of the queue: who has read it empty
 * by now has said so already, or will.
 */
static __always_inline void note_readable(const struct sock *sock, struct connection *connection, __u64 now)
{
	if (connection->readable_at)
		return;
	if (connection->direction == DIRECTION_CONNECTED && is_tcp(sock))
		connection->written = LOAD(tcp_sock, (const struct tcp_sock *)sock, write_seq);
	connection->readable_at = now;
	barrier();
	if (sock->__sk_common.skc_family == AF_UNIX && !sock->sk_receive_queue.qlen)
		__sync_val_compare_and_swap(&connection->readable_at, now, 0);
}

/* A process of this host answers a call of the target: what was that in since it was asked?  However the target waits. */
static __always_inline void note_answered_here(const struct sock *sock, struct connection *connection, __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct record *peer;
	struct chain *chain;

	if (!knobs.follows_peers || knobs.closing || connection->direction > DIRECTION_DATAGRAM ||
	    connection->begun + WORTH_FOLLOWING_NS > now || !may_be_peer(task, 0) || record_of(task) ||
	    !is_sent_here(task, this_cpu(), sock))
		return;
	peer = peer_or_ask(task, connection->begun, now);
	chain = peer ? chain_of(task) : NULL;
	if (chain)
		book_peer_call(connection, peer, chain, now);
}

static __always_inline int is_readable(struct sock *sock)
{
	struct connection *connection;
	__u64 now;

	if (!knobs.window_open || is_left_out(sock))
		return 0;
	connection = connection_given(sock);
	if (!connection) {
		note_early(sock);
		return 0;
	}
	now = bpf_ktime_get_ns();
	note_readable(sock, connection, now);
	if (connection->direction == DIRECTION_CONNECTED && connection->last && !is_end_only(sock, connection)) {
		if (connection->exchange == EXCHANGE_ANSWERED)
			receive_more(connection, now);
		else if (connection->exchange == EXCHANGE_NONE)
			receive_greeting(connection, now);
	}
	if (connection->direction == DIRECTION_ACCEPTED || connection->exchange != EXCHANGE_ASKED)
		return 0;
	note_answered_here(sock, connection, now);
	if (asks_by_datagrams(connection) && connection->pending > 1)
		connection->pending--;
	else if (is_end_only(sock, connection))
		end_connection(connection, now);
	else
		end_call(connection, now, held_ns(sock, connection, now));
	return 0;
}
