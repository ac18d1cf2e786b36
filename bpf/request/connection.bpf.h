/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections that the target has sent or received on: whose side it has, and the request or call that is under way. */
#pragma once
#include "core/maps.bpf.h"

/*
 * By the address of the socket: nothing tells when those end that are not TCP, but who gets the address next does.
 * 131,072 connections of 856 bytes: allocated one by one, 134 MB if ever full (with its head each takes 1,024).
 */
LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 131072);
	__type(key, __u64);
	__type(value, struct connection);
} connections SEC(".maps");

/* NULL: none, or that socket is gone. */
static __always_inline struct connection *connection_at(const struct socket_id *id)
{
	__u64 address = id->address; /* Linux 6.1 takes no key from the argument of a global function */
	struct connection *connection = id->cookie ? bpf_map_lookup_elem(&connections, &address) : NULL;

	return connection && connection->cookie == id->cookie ? connection : NULL;
}

/* NULL: it is not followed; as a rule nobody has asked for its cookie then. */
static __always_inline struct connection *connection_of(const struct sock *sock)
{
	struct socket_id id = { .address = (__u64)sock, .cookie = LOAD(sock, sock, __sk_common.skc_cookie.counter) };

	return connection_at(&id);
}

/* The same of a socket that a tracepoint hands over: the verifier lets a program read that without a check. */
static __always_inline struct connection *connection_given(const struct sock *sock)
{
	struct socket_id id = { .address = (__u64)sock, .cookie = sock->__sk_common.skc_cookie.counter };

	return connection_at(&id);
}

/* How many segments the other end has said to have twice. */
static __always_inline __u32 duplicates_of(const struct sock *sock)
{
	return LOAD(tcp_sock, (const struct tcp_sock *)sock, dsack_dups);
}

static __always_inline struct socket_id id_of(const struct sock *sock, const struct connection *connection)
{
	return (struct socket_id){ .address = (__u64)sock, .cookie = connection->cookie };
}

/* Questions by UDP are outstanding together, and are asked again. */
static __always_inline bool asks_by_datagrams(const struct connection *connection)
{
	return connection->direction == DIRECTION_LOOKUP || connection->direction == DIRECTION_DATAGRAM;
}

/* By UDP, and it may need no answer. */
static __always_inline bool is_plain_datagram(const struct connection *connection)
{
	return connection->direction >= DIRECTION_DATAGRAM;
}

/*
 * The socket of TCP that a connection goes by: its own, of MPTCP the one of the first path, as long as that is there.
 * (Servers of Go 1.24 and later listen for MPTCP by themselves.)  NULL: none.
 */
static __always_inline const struct sock *tcp_path(const struct sock *sock)
{
	__u16 protocol = LOAD(sock, sock, sk_protocol);

	if (protocol == IPPROTO_MPTCP && bpf_core_type_exists(struct mptcp_sock))
		return LOAD(mptcp_sock, sock, first);
	return protocol == IPPROTO_TCP ? sock : NULL;
}

/*
 * Accepted connections are copies of the socket that listens (sk_clone_lock() in net/core/sock.c): they have its limit
 * of the queue, which others never set.  (listen() with a backlog of 0 leaves no trace: such are taken for connected.)
 */
static __always_inline bool is_accepted(const struct sock *sock)
{
	const struct sock *path = tcp_path(sock);

	return path && LOAD(sock, path, sk_max_ack_backlog) != 0;
}

/*
 * Likewise by its name, which it shares with the socket that listens: a name that a connecting socket has bound is its
 * own.  -1: neither (datagrams, and pairs, of which no end has a name).
 */
static __always_inline int unix_direction(const struct sock *sock)
{
	struct unix_address *address = LOAD(unix_sock, sock, addr);
	struct sock *peer = LOAD(unix_sock, sock, peer);

	if (LOAD(sock, sock, sk_type) != SOCK_STREAM)
		return -1;
	if (address && LOAD(unix_address, address, refcnt.refs.counter) > 1)
		return DIRECTION_ACCEPTED;
	return address || !peer || LOAD(unix_sock, peer, addr) ? DIRECTION_CONNECTED : -1;
}

/*
 * Is somebody who waits to receive here waiting for work: for the first byte of a request?  Not in the middle of one,
 * and not where the thread has asked for something itself.
 */
static __always_inline bool awaits_request(const struct sock *sock, __u16 family)
{
	struct connection *connection;

	if (!knobs.sees_requests)
		return false;
	connection = connection_of(sock);
	if (connection)
		return connection->direction == DIRECTION_ACCEPTED && connection->exchange != EXCHANGE_ASKED;
	return family == AF_UNIX ? unix_direction(sock) == DIRECTION_ACCEPTED : is_accepted(sock);
}

/* Adds time to the account of a request: at once, or to what counts only if more of the answer follows. */
__weak __noinline int add_to_part(struct connection *connection, __u32 account, __u64 object, __u64 ns)
{
	bool after;

	if (!connection)
		return 0;
	after = connection->exchange == EXCHANGE_ANSWERED;
	for (int i = 0; i < REQUEST_PARTS; i++) {
		struct request_part *part = &connection->parts[i];

		if (i >= connection->parts_used) {
			*part = (struct request_part){ .account = account, .object = object };
			connection->parts_used = i + 1;
		} else if (part->account != account || part->object != object) {
			continue;
		}
		if (after)
			part->after_ns += ns;
		else
			part->ns += ns;
		break;
	}
	return 0;
}

extern struct inside inside;

/* CPU time of threads that serve no request that they have read, while some is in progress. */
LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} requests_beside SEC(".maps");

/*
 * A thread ran for none of its own requests: perhaps for one that another thread has read, as goroutines and executors go
 * from thread to thread.  What it did before there was one is not counted; of several times with requests only the last.
 */
__weak __noinline int count_beside(__u64 since, __u64 until)
{
	__u32 zero = 0;
	__u64 *sum;

	if (since < inside.busy_since)
		since = inside.busy_since;
	if (inside.requests <= 0 && until > inside.left_at)
		until = inside.left_at;
	if (until <= since)
		return 0;
	sum = bpf_map_lookup_elem(&requests_beside, &zero);
	if (sum)
		*sum += until - since;
	return 0;
}

/* Since when nothing that the thread ran is booked to a request, or known to be for none. */
static __always_inline __u64 unbooked_since(const struct record *record)
{
	return record->serving_since > record->since ? record->serving_since : record->since;
}

/*
 * The same nanoseconds once more, in the ledger of the request that the thread serves: that it has taken up itself, and
 * nobody else's since.  On a futex it may wait for work, if it has waited for events after it read the request.
 * Returns whether there is one that is not answered.
 */
__weak __noinline int book_request(struct record *record, __u32 account, __u64 ns)
{
	struct connection *connection;
	__u64 before, object;
	bool parked = account == ACCOUNT_WAIT_PARKED;

	if (!record || (parked && !record->serving_sure))
		return 0;
	before = record->serving_since > record->since ? record->serving_since - record->since : 0;
	connection = connection_at(&record->serving);
	if (!connection || connection->exchange == EXCHANGE_NONE || connection->tid != record->tid)
		return 0;
	object = parked ? record->object : 0;
	if (ns > before)
		add_to_part(connection, account, object, ns - before);
	return connection->exchange == EXCHANGE_ASKED;
}

/* Does the thread serve a request that it has taken up, for sure, and that is not answered yet? */
static __always_inline bool is_serving(const struct record *record)
{
	struct connection *connection;

	if (!record->serving_sure || !record->serving.cookie)
		return false;
	connection = connection_at(&record->serving);

	return connection && connection->exchange == EXCHANGE_ASKED && connection->tid == record->tid;
}

/*
 * A thread that waits for work serves nobody.  One that waits for events may wait for a peer on the request's behalf:
 * until it is answered.  `turns`: it waits in epoll, whatever for, and may turn to somebody else then.
 */
static __always_inline void end_service(struct record *record, bool turns)
{
	struct connection *connection = NULL;

	if (!record->serving.cookie)
		return;
	if (record->account == ACCOUNT_WAIT_EVENTS || record->account == ACCOUNT_WAIT_IO_URING)
		record->next.cookie = 0; /* it has come to all that its ring has brought */
	if (turns || record->account == ACCOUNT_WAIT_EVENTS) {
		record->serving_sure = 0;
		connection = connection_at(&record->serving);
	} else if (record->account != ACCOUNT_NET_ACCEPT && record->account != ACCOUNT_NET_REQUEST) {
		return;
	}
	if (!connection || connection->exchange != EXCHANGE_ASKED)
		record->serving.cookie = 0;
}
