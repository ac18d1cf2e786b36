/* SPDX-License-Identifier: GPL-2.0-only */
/* Of a socket: which side of its connection the target has, what it is told by, and when something came in last. */
#pragma once
#include "request/connection.bpf.h"
#include "request/name_rules.h"
#include "network/socket.bpf.h"

#define LOOKUP_PORT 53

/* What is only read to its end is not followed again. */
static __always_inline bool can_send(const struct sock *sock)
{
	__u8 state = LOAD(sock, sock, __sk_common.skc_state);

	return state == TCP_ESTABLISHED || state == TCP_CLOSE_WAIT || state == TCP_SYN_SENT;
}

/* Has nobody closed that socket?  What was freed can be read: another one there has another cookie. */
static __always_inline bool is_open(const struct socket_id *id)
{
	const struct sock *sock = (const struct sock *)id->address;

	return LOAD(sock, sock, __sk_common.skc_cookie.counter) == id->cookie && LOAD(sock, sock, sk_socket);
}

/* 0: nothing that is followed. */
static __always_inline __u32 direction_of(const struct sock *sock, __u16 family)
{
	struct socket *socket = LOAD(sock, sock, sk_socket);
	int direction;

	if (!socket || !LOAD(socket, socket, file))
		return 0; /* the kernel's own: NFS sends in the context of who reads a file */
	if (family == AF_UNIX) {
		direction = unix_direction(sock);
		return direction < 0 ? 0 : direction;
	}
	if (family != AF_INET && family != AF_INET6)
		return 0;
	switch (LOAD(sock, sock, sk_protocol)) {
	case IPPROTO_MPTCP:
	case IPPROTO_TCP: return can_send(sock) ? is_accepted(sock) ? DIRECTION_ACCEPTED : DIRECTION_CONNECTED : 0;
	case IPPROTO_UDP:
		return bpf_ntohs(LOAD(sock, sock, __sk_common.skc_dport)) == LOOKUP_PORT ? DIRECTION_LOOKUP : 0;
	}
	return 0;
}

/* Names that are alike as far as they are kept are one. */
static __noinline __u64 abstract_object(const struct unix_address *address)
{
	char *text = (char *)address + bpf_core_field_offset(struct unix_address, name[0].sun_path[1]);
	/* 64 bits: of what is copied in 32, Linux 6.1 forgets the bounds. */
	__s64 bytes = LOAD(unix_address, address, len) - (__s64)offsetof(struct sockaddr_un, sun_path[1]);
	struct object_name name = {}, *room;
	__u64 hash = 0, word, object;

	if (bytes < 0)
		return OBJECT(OBJECT_ABSTRACT, 0);
	name.abstract.length = bytes < ABSTRACT_NAME_BYTES ? bytes : ABSTRACT_NAME_BYTES;
	bpf_probe_read_kernel(name.abstract.text, name.abstract.length, text);
	for (int i = 0; i < sizeof(name.abstract) / sizeof(word); i++) {
		__builtin_memcpy(&word, (char *)&name.abstract + i * sizeof(word), sizeof(word));
		hash = mix(hash, word);
	}
	object = OBJECT(OBJECT_ABSTRACT, hash);
	room = new_name(object);
	if (room)
		*room = name;
	return object;
}

/* The process at the other end; of an accepted one what it listens at: a file, or an abstract name. */
static __always_inline __u64 unix_object(const struct sock *sock, __u32 direction)
{
	struct dentry *dentry = LOAD(unix_sock, sock, path.dentry);
	struct pid *peer = LOAD(sock, sock, sk_peer_pid);

	if (direction == DIRECTION_ACCEPTED)
		return dentry ? file_object(LOAD(dentry, dentry, d_inode))
			      : abstract_object(LOAD(unix_sock, sock, addr));
	return OBJECT(OBJECT_UNIX, peer ? LOAD(pid, peer, numbers[0].nr) : 0);
}

static __always_inline __u64 exchange_object(const struct sock *sock, __u16 family, __u32 direction)
{
	__u64 object;

	if (family == AF_UNIX)
		return unix_object(sock, direction);
	if (direction == DIRECTION_ACCEPTED)
		return OBJECT(OBJECT_PORT, LOAD(sock, sock, __sk_common.skc_num));
	object = peer_object(sock, family);
	name_peer(sock, family, object);
	return object;
}

static __always_inline bool is_tcp(const struct sock *sock)
{
	return LOAD(sock, sock, sk_protocol) == IPPROTO_TCP && LOAD(sock, sock, __sk_common.skc_family) != AF_UNIX;
}

/* When the kernel's clock stood at so many ticks; 0: just now. */
static __always_inline __u64 ticks_ns(__u32 at_ticks, __u64 now)
{
	__u32 ticks = (__u32)bpf_jiffies64() - at_ticks;

	return ticks > 1 && ticks * knobs.tick_ns < now ? now - ticks * knobs.tick_ns : 0;
}

/* A request may have come in before its connection was followed: TCP knows when, to a tick. */
static __always_inline __u64 arrived_ns(const struct sock *sock, __u64 now)
{
	const struct sock *path = LOAD(sock, sock, __sk_common.skc_family) != AF_UNIX ? tcp_path(sock) : NULL;

	return path ? ticks_ns(LOAD(inet_connection_sock, path, icsk_ack.lrcvtime), now) : 0;
}
