/* SPDX-License-Identifier: GPL-2.0-only */
/* Which account a wait on a socket belongs to, its peer, and for TCP what the connection was like then. */
#pragma once
#include "network/send_limit.bpf.h"
#include "request/connection.bpf.h"
#include "wait/file.bpf.h"
#include "wait/syscall_class.h"
#include <bpf/bpf_endian.h>

/* 4,096 connections of 88 bytes. */
LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct socket_sum);
} sockets SEC(".maps");

/* The object of an internet socket: its peer.  IPv6 does not fit into 56 bits and is hashed. */
static __always_inline __u64 peer_object(const struct sock *sock, __u16 family)
{
	__u16 port = bpf_ntohs(LOAD(sock, sock, __sk_common.skc_dport));
	__u64 words[2];

	if (family == AF_INET)
		return OBJECT(OBJECT_PEER, (__u64)bpf_ntohl(LOAD(sock, sock, __sk_common.skc_daddr)) << 16 | port);
	BPF_CORE_READ_INTO(&words, sock, __sk_common.skc_v6_daddr);
	return OBJECT(OBJECT_PEER6, ((words[0] * 31 + words[1]) * 0x9e3779b97f4a7c15ULL >> 8) + port);
}

/* Keeps the address that the object of such a peer cannot hold. */
static __always_inline void name_peer(const struct sock *sock, __u16 family, __u64 object)
{
	struct object_name *name = OBJECT_KIND(object) == OBJECT_PEER6 ? new_name(object) : NULL;

	if (!name)
		return;
	BPF_CORE_READ_INTO(&name->peer.address, sock, __sk_common.skc_v6_daddr);
	name->peer.port = bpf_ntohs(LOAD(sock, sock, __sk_common.skc_dport));
	name->peer.family = family;
}

static __always_inline void read_tcp(const struct sock *sock, struct socket_sum *sum)
{
	const struct tcp_sock *tcp = (const struct tcp_sock *)sock;

	/* One that is being made has no round trip yet: what another one to the same peer had still holds. */
	if (!sum->sock || LOAD(tcp_sock, tcp, srtt_us)) {
		sum->rtt_us = LOAD(tcp_sock, tcp, srtt_us) >> 3; /* the kernel keeps eight times the smoothed value */
		sum->minimum_rtt_us = LOAD(tcp_sock, tcp, rtt_min.s[0].v);
	}
	sum->congestion_window = LOAD(tcp_sock, tcp, snd_cwnd);
	sum->in_flight = LOAD(tcp_sock, tcp, packets_out);
	sum->send_window_bytes = LOAD(tcp_sock, tcp, snd_wnd);
	sum->receive_window_bytes = LOAD(tcp_sock, tcp, rcv_wnd);
	sum->retransmits = LOAD(tcp_sock, tcp, total_retrans);
	if (sum->retransmits_seen)
		sum->duplicates_seen = duplicates_of(sock) - sum->duplicates;
}

/* Whether whoever receives here asked for something since the last wait: of several connections to a peer none tells. */
static __always_inline void note_asked(const struct sock *sock, struct socket_sum *sum, bool sending)
{
	__u32 write_sequence = LOAD(tcp_sock, (const struct tcp_sock *)sock, write_seq);

	if (!sending && sum->sock == (__u64)sock && sum->write_sequence == write_sequence)
		__sync_fetch_and_add(&sum->waits_unasked, 1);
	sum->sock = (__u64)sock;
	sum->write_sequence = write_sequence;
}

/* What the connection is like now, of all to one peer. */
static __always_inline struct socket_sum *read_socket(const struct sock *sock, __u64 object)
{
	bool made = false;
	struct socket_sum *sum = FIND_OR_MAKE(sockets, &object, COUNTER_NAMES_FULL, &made);

	if (!sum)
		return NULL;
	if (made) {
		sum->local_address = bpf_ntohl(LOAD(sock, sock, __sk_common.skc_rcv_saddr));
		sum->local_port = LOAD(sock, sock, __sk_common.skc_num);
		sum->family = LOAD(sock, sock, __sk_common.skc_family);
	}
	read_tcp(sock, sum);
	return sum;
}

/* Remembers a connection the thread is about to wait on. */
static __noinline int note_tcp(const struct sock *sock, __u64 object, bool sending)
{
	struct socket_sum *sum = read_socket(sock, object);

	if (!sum)
		return 0;
	note_asked(sock, sum, sending);
	if (!sending)
		return 0;
	switch (send_limit_of(sock)) {
	case SEND_LIMIT_WINDOW: __sync_fetch_and_add(&sum->waits_receiver, 1); break;
	case SEND_LIMIT_CONGESTION: __sync_fetch_and_add(&sum->waits_congestion, 1); break;
	default: __sync_fetch_and_add(&sum->waits_buffer, 1);
	}
	return 0;
}

static __always_inline bool sends(__u32 class)
{
	return class == SYSCALL_SEND || class == SYSCALL_FD_WRITE;
}

static __always_inline void classify_unix(const struct sock *sock, __u32 class, __u32 *account, __u64 *object)
{
	struct pid *peer = LOAD(sock, sock, sk_peer_pid);

	if (class == SYSCALL_ACCEPT || LOAD(sock, sock, __sk_common.skc_state) == TCP_LISTEN)
		*account = ACCOUNT_NET_ACCEPT;
	else if (!sends(class) && awaits_request(sock, AF_UNIX))
		*account = ACCOUNT_NET_REQUEST;
	else
		*account = ACCOUNT_IPC_UNIX;
	*object = peer ? OBJECT(OBJECT_UNIX, LOAD(pid, peer, numbers[0].nr)) : 0;
}

/* Who is waited for: at a socket of UDP that is not connected whom it has asked last. */
static __always_inline __u64 awaited_peer(const struct sock *sock, __u16 family)
{
	const struct connection *connection;
	__u64 object;

	if (LOAD(sock, sock, sk_protocol) == IPPROTO_UDP && !LOAD(sock, sock, __sk_common.skc_dport)) {
		connection = connection_of(sock);
		if (connection &&
		    (connection->direction == DIRECTION_DATAGRAM || connection->direction == DIRECTION_LOOKUP))
			return connection->object;
	}
	object = peer_object(sock, family);
	name_peer(sock, family, object);
	return object;
}

/* Returns the socket that is received from, 0: it is for something else. */
static __always_inline __u64 classify_socket(struct open_file *open, __u32 class, __u32 *account, __u64 *object)
{
	struct file *file = open->file;
	struct socket *socket = LOAD(file, file, private_data);
	struct sock *sock = LOAD(socket, socket, sk);
	__u16 family = LOAD(sock, sock, __sk_common.skc_family);
	bool sending = sends(class);
	__u8 state;

	if (family == AF_UNIX) {
		classify_unix(sock, class, account, object);
		return *account == ACCOUNT_IPC_UNIX && !sending ? (__u64)sock : 0;
	}
	if (family != AF_INET && family != AF_INET6 && family != AF_VSOCK) {
		*account = ACCOUNT_KERNEL_OTHER; /* netlink, packet, bluetooth: the kernel answers, no peer */
		*object = OBJECT(OBJECT_PORT, 0);
		return 0;
	}
	state = LOAD(sock, sock, __sk_common.skc_state);
	if (class == SYSCALL_ACCEPT || state == TCP_LISTEN) {
		*account = ACCOUNT_NET_ACCEPT;
		*object = OBJECT(OBJECT_PORT, LOAD(sock, sock, __sk_common.skc_num));
		return 0;
	}
	if (!sending && family != AF_VSOCK && state == TCP_ESTABLISHED && awaits_request(sock, family)) {
		*account = ACCOUNT_NET_REQUEST;
		*object = OBJECT(OBJECT_PORT, LOAD(sock, sock, __sk_common.skc_num));
		return 0;
	}
	*object = family == AF_VSOCK ? 0 : awaited_peer(sock, family);
	if (class == SYSCALL_CONNECT || state == TCP_SYN_SENT)
		*account = ACCOUNT_NET_CONNECT;
	else
		*account = sending ? ACCOUNT_NET_SEND : ACCOUNT_NET_RECEIVE;
	if (family != AF_VSOCK && LOAD(sock, sock, sk_protocol) == IPPROTO_TCP)
		note_tcp(sock, *object, sending);
	return *account == ACCOUNT_NET_RECEIVE ? (__u64)sock : 0;
}
