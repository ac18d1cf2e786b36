/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls that the target makes on connections of its own, look-ups of names among them. */
#pragma once
#include "request/follow.bpf.h"
#include "request/own_timer.bpf.h"
#include "network/held.bpf.h"
#include "sql/sql_call.bpf.h"

#define ASKED_AGAIN_NS 100000000 /* after so long a look-up is sent once more; before, it is another one beside it */

/* A look-up that is sent again after a while has not been answered. */
static __always_inline void send_lookup(struct connection *connection, __u64 now)
{
	if (now - connection->asked < ASKED_AGAIN_NS)
		connection->pending++;
	else
		COUNT_EXCHANGES(connection, retries);
}

/* For whose request is it that the thread calls?  Since it waited for events only what it read then tells. */
static __always_inline struct connection *served_by(const struct record *record)
{
	return record->serving_sure ? connection_at(&record->serving) : NULL;
}

static __always_inline void take_owner(struct connection *connection, struct record *record)
{
	struct connection *owner = served_by(record);

	connection->owner = owner ? record->serving : (struct socket_id){};
	connection->request = owner ? owner->request : 0;
}

/*
 * The answer can be there before the kernel says that the question was sent: then that took no time to tell.  What came in
 * before any of the question was written answers something else.
 */
static __always_inline bool is_answered(const struct sock *sock, const struct connection *connection, __u32 bytes,
					__u64 now)
{
	const struct tcp_sock *tcp = (const struct tcp_sock *)sock;

	if (connection->readable_at <= connection->answered)
		return false;
	if (!is_tcp(sock))
		return now - connection->readable_at < EARLY_NS;
	return (__s32)(LOAD(tcp_sock, tcp, write_seq) - bytes - connection->written) < 0;
}

/*
 * Does a request ask on a connection where a call that is not its own is not answered?  Whoever answers there in turn
 * answers that one first.
 */
static __always_inline bool asks_behind(const struct record *record, const struct sock *sock,
					const struct connection *connection, __u64 now)
{
	struct connection *owner = served_by(record);

	if (!owner || owner->exchange != EXCHANGE_ASKED || connection->direction != DIRECTION_CONNECTED ||
	    (connection->owner.cookie == record->serving.cookie && connection->request == owner->request))
		return false;
	end_behind(owner);
	owner->behind = id_of(sock, connection);
	owner->behind_at = now;
	return true;
}

static __always_inline void send_call(struct record *record, const struct sock *sock, struct connection *connection,
				      __u32 bytes, __u64 now)
{
	bool multiplexed;

	if (connection->exchange == EXCHANGE_ASKED && connection->timed_out && !asks_by_datagrams(connection))
		give_up_call(connection, now);
	if (connection->exchange == EXCHANGE_ASKED) {
		if (asks_by_datagrams(connection))
			send_lookup(connection, now);
		else if (!asks_behind(record, sock, connection, now))
			connection->asked = now;
		if (connection->sql.server)
			note_sql_call(connection, bytes, true);
		return;
	}
	/* Who has connected for somebody's request asks for it first: by then the thread may have turned to others. */
	if (connection->answered || !connection->owner.cookie)
		take_owner(connection, record);
	if (connection->answered || !connection->set_off_at)
		connection->set_off_at = set_off_by_timer(record);
	multiplexed = connection->multiplexed;
	if (!is_named_call(connection, bytes) && knobs.sees_sql && connection->direction == DIRECTION_CONNECTED &&
	    note_sql_call(connection, bytes, false))
		return;
	if (connection->multiplexed && !multiplexed) /* several calls count as one from here on */
		COUNT_EXCHANGES(connection, declined);
	connection->pending = 1;
	begin_call(connection, now);
	if (is_answered(sock, connection, bytes, now))
		end_call(connection, now, 0);
}

/*
 * Something of an answer is read, or nothing: the peer has closed the connection.  Whoever serves a request and has waited
 * for more until then has waited for that end alone.  (Others may watch a connection that they keep for later.)
 * `read_all`: when nothing was left to read; 0: something is.
 */
static __always_inline void read_answer(const struct record *record, struct connection *connection, int length,
					__u64 read_all)
{
	struct exchange_tally *tally;
	__u64 ns = connection->rest_ns;

	connection->rest_ns = 0;
	connection->last = connection->exchange == EXCHANGE_ANSWERED ? read_all : 0;
	if (length || !ns || connection->exchange != EXCHANGE_ANSWERED || !is_serving(record))
		return;
	tally = tally_of(connection);
	if (!tally)
		return;
	__sync_fetch_and_add(&tally->sums[0].until_end, 1);
	__sync_fetch_and_add(&tally->sums[0].until_end_ns, ns);
}

/*
 * More of an answer has come, and all that had come before was read: until now the request for which the call was made has
 * waited for that, at least since another call for it was over.  If it is being answered already, it has only if more of
 * its answer follows: then of the peer for which it waited longest.
 */
static __always_inline void receive_more(struct connection *connection, __u64 now)
{
	struct connection *owner = owner_of(connection);
	__u64 since = connection->last, ns;

	if (!since || !owner)
		return;
	if (owner->worked_on > since)
		since = owner->worked_on;
	connection->last = 0;
	ns = now > since ? now - since : 0;
	if (owner->exchange == EXCHANGE_ASKED) {
		add_rest(owner, connection->object, ns);
	} else if (owner->exchange == EXCHANGE_ANSWERED) {
		if (owner->after_peer != connection->object && owner->after_peers_ns > ns)
			return;
		owner->after_peers_ns = owner->after_peer == connection->object ? owner->after_peers_ns + ns : ns;
		owner->after_peer = connection->object;
	}
}

/* The peer says something first, on a connection on which it was not asked anything: SMTP, SSH and SQL begin so. */
static __always_inline void receive_greeting(struct connection *connection, __u64 now)
{
	struct connection *owner = owner_of(connection);
	__u64 ns = now - connection->last;
	struct exchange_tally *tally;

	connection->last = 0;
	tally = tally_of(connection);
	if (!tally)
		return;
	__sync_fetch_and_add(&tally->sums[0].greetings, 1);
	__sync_fetch_and_add(&tally->sums[0].greeting_ns, ns);
	if (owner && owner->exchange == EXCHANGE_ASKED)
		__sync_fetch_and_add(&owner->peers_ns, ns);
}

/* So long it took, or has taken so far, to be connected. */
static __always_inline void add_connect(struct exchange_tally *tally, __u64 ns)
{
	__sync_fetch_and_add(&tally->sums[0].connect_ns, ns);
	count_latency(&tally->latencies[MEASURE_CONNECT], ns);
}

/* A connection of the target's own is being made, was made, or could not be. */
static __always_inline void connect_state(struct sock *sock, int old, int new, __u64 now)
{
	__u16 family = LOAD(sock, sock, __sk_common.skc_family);
	struct connection *connection;
	struct exchange_tally *tally;
	struct exchange_sum *sum;
	struct record *record;
	__u32 resent;

	if (new == TCP_SYN_SENT) {
		record = record_of(bpf_get_current_task_btf());
		if (!record)
			return;
		connection = follow(sock, family, DIRECTION_CONNECTED);
		if (!connection)
			return;
		connection->connecting = now;
		connection->set_off_at = set_off_by_timer(record);
		take_owner(connection, record);
		count_for_owner(connection);
		return;
	}
	connection = connection_given(sock);
	if (!connection || !connection->connecting)
		return;
	tally = tally_of(connection);
	if (!tally)
		return;
	sum = &tally->sums[0];
	resent = LOAD(tcp_sock, (const struct tcp_sock *)sock, total_retrans);
	__sync_fetch_and_add(&sum->retries, resent);
	__sync_fetch_and_add(new == TCP_ESTABLISHED ? &sum->connects : &sum->connects_failed, 1);
	add_connect(tally, now - connection->connecting);
	give_to_owner(connection, now - connection->connecting);
	connection->connecting = 0;
	connection->last = new == TCP_ESTABLISHED ? now : 0;
}
