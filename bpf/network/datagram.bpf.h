/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * UDP: what the target sends, and what comes back.  A socket has one peer at a time, the last one that it has sent to; what
 * comes in there is that one's, and with several questions outstanding it is counted and not timed.
 */
#pragma once
#include "wait/call.bpf.h"
#include "request/outbound_call.bpf.h"

struct user_address {
	__u16 family, port;
	__u32 address; /* of IPv6: flow information */
	struct in6_addr address6;
};

/* NULL: the call has none. */
static __always_inline void *address_argument(const struct call *call)
{
	void *address = NULL;

	if (call->number < 0 || call->i386)
		return NULL;
	if (call->number == NUMBER_SENDTO)
		return (void *)call->arguments[4];
	if (call->number == NUMBER_SENDMSG || call->number == NUMBER_SENDMMSG)
		bpf_probe_read_user(&address, sizeof(address), (void *)call->arguments[1]); /* of the first message */
	return address;
}

/* To whom, and to which port, the target sends a datagram just now; 0: not known. */
static __always_inline __u64 datagram_peer(const struct sock *sock, __u16 *port)
{
	struct user_address to = {};
	struct object_name *name;
	struct call call;
	__u64 words[2], object;
	void *address;

	*port = bpf_ntohs(LOAD(sock, sock, __sk_common.skc_dport));
	if (*port)
		return peer_object(sock, LOAD(sock, sock, __sk_common.skc_family));
	read_call(bpf_get_current_task_btf(), &call);
	address = address_argument(&call);
	if (!address || bpf_probe_read_user(&to, offsetof(struct user_address, address6), address))
		return 0;
	*port = bpf_ntohs(to.port);
	if (to.family == AF_INET)
		return OBJECT(OBJECT_PEER, (__u64)bpf_ntohl(to.address) << 16 | *port);
	if (to.family != AF_INET6 || bpf_probe_read_user(&to, sizeof(to), address))
		return 0;
	__builtin_memcpy(words, &to.address6, sizeof(words));
	object = OBJECT(OBJECT_PEER6, ((words[0] * 31 + words[1]) * 0x9e3779b97f4a7c15ULL >> 8) + *port);
	name = new_name(object);
	if (name) {
		__builtin_memcpy(&name->peer.address, &to.address6, sizeof(to.address6));
		name->peer.port = *port;
		name->peer.family = AF_INET6;
	}
	return object;
}

static __always_inline bool is_datagram(const struct sock *sock)
{
	__u16 family = sock->__sk_common.skc_family;

	return sock->sk_protocol == IPPROTO_UDP && (family == AF_INET || family == AF_INET6);
}

static __always_inline __u32 datagram_direction(__u16 port)
{
	return port == LOOKUP_PORT ? DIRECTION_LOOKUP : DIRECTION_DATAGRAM;
}

/*
 * Was it given an address or a port of its own, to be found there?  What it sends before it has received anything in the
 * window may be an answer to what it got before: taken for a question, the next question would be its answer.  Who asks
 * lets the kernel choose, but for name servers, which choose a port by chance.
 */
static __always_inline bool may_serve(const struct sock *sock, __u16 port)
{
	return port != LOOKUP_PORT &&
	       BPF_CORE_READ_BITFIELD_PROBED(sock, sk_userlocks) & (SOCK_BINDADDR_LOCK | SOCK_BINDPORT_LOCK);
}

/* Where others ask: a port of this host. */
static __always_inline struct connection *follow_port(struct sock *sock)
{
	struct connection *connection = follow(sock, sock->__sk_common.skc_family, DIRECTION_DATAGRAM_PORT);

	if (connection)
		connection->object = OBJECT(OBJECT_PORT, LOAD(sock, sock, __sk_common.skc_num));
	return connection;
}

/* It asks somebody else now: what it asked the one before has no answer, or not yet. */
static __always_inline void turn_to_peer(struct connection *connection, __u64 peer, __u16 port, __u64 now)
{
	if (connection->exchange == EXCHANGE_ASKED && now - connection->asked < ASKED_AGAIN_NS)
		give_up_call(connection, now);
	else
		end_connection(connection, now);
	connection->exchange = EXCHANGE_NONE;
	connection->object = peer;
	connection->direction = datagram_direction(port);
}

/* The connection of a socket of UDP that sends; NULL: none that is followed. */
static __always_inline struct connection *datagram_to(struct sock *sock, __u64 now, bool *known)
{
	struct connection *connection = connection_given(sock);
	__u64 peer;
	__u16 port;

	*known = connection;
	if (connection && connection->direction == DIRECTION_DATAGRAM_PORT)
		return connection;
	peer = datagram_peer(sock, &port);
	if (connection && peer && peer != connection->object)
		turn_to_peer(connection, peer, port, now);
	if (connection || !peer)
		return connection;
	if (may_serve(sock, port))
		return follow_port(sock);
	connection = follow(sock, sock->__sk_common.skc_family, datagram_direction(port));
	if (connection)
		connection->object = peer;
	return connection;
}

/* The same of one that receives: where nothing was sent before, others ask. */
static __always_inline struct connection *datagram_from(struct sock *sock, bool *known)
{
	struct connection *connection = connection_given(sock);

	*known = connection;
	if (connection || sock->__sk_common.skc_dport)
		return connection;
	return follow_port(sock);
}
