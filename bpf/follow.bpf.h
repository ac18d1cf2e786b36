/* SPDX-License-Identifier: GPL-2.0-only */
/* Which connections are followed, and what each is told by. */
#pragma once
#include "exchange.bpf.h"
#include "naming.h"
#include "socket.bpf.h"

#define LOOKUP_PORT 53

/*
 * Where the target has accepted: local ports, and addresses (struct unix_address), which a unix socket that listens
 * shares with its connections.  New connections there are followed before anybody reads from them.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u8);
} accepting SEC(".maps");

static bool accepts_unix;

static __always_inline __u64 where_accepted(const struct sock *sock, __u16 family)
{
	return family == AF_UNIX ? (__u64)LOAD(unix_sock, sock, addr) : LOAD(sock, sock, __sk_common.skc_num);
}

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

/*
 * Begins to follow a connection, of that direction.  (Two threads that use a new socket at an address that was another
 * one's, at the same instant, can lose the begin of what they do there: no lock is worth that.)
 */
static __always_inline struct connection *follow(struct sock *sock, __u16 family, __u32 direction)
{
	__u64 address = (__u64)sock, cookie = bpf_get_socket_cookie(sock);
	struct connection *connection = FIND_OR_MAKE(connections, &address, COUNTER_CONNECTIONS_FULL, NULL);
	__u64 early_at, before, where;
	__u8 yes = 1;

	if (!connection)
		return NULL;
	before = connection->cookie;
	if (before == cookie)
		return connection;
	early_at = connection->early_cookie == cookie ? connection->early_at : 0;
	if (before) {
		end_connection(connection, bpf_ktime_get_ns());
		__builtin_memset(connection, 0, sizeof(*connection));
	}
	connection->readable_at = early_at;
	connection->object = exchange_object(sock, family, direction);
	connection->direction = direction;
	connection->cookie = cookie;
	if (direction != DIRECTION_ACCEPTED)
		return connection;
	where = where_accepted(sock, family);
	if (bpf_map_lookup_elem(&accepting, &where))
		return connection;
	bpf_map_update_elem(&accepting, &where, &yes, BPF_ANY);
	if (family == AF_UNIX)
		accepts_unix = true;
	return connection;
}

/*
 * Something came in on a socket that is not followed.  Is it one that nobody has accepted yet, in the queue of a unix
 * socket at which the target accepts?  It is followed by who reads from it: what lay there before is left to that one.
 */
static __always_inline void note_early(struct sock *sock)
{
	__u64 where, cookie, address = (__u64)sock;
	struct connection *connection;

	/* Others' sockets come here, too: what may be loaded without a check is. */
	if (!accepts_unix || sock->__sk_common.skc_family != AF_UNIX ||
	    sock->__sk_common.skc_state != TCP_ESTABLISHED || sock->sk_socket)
		return;
	where = where_accepted(sock, AF_UNIX);
	if (!where || !bpf_map_lookup_elem(&accepting, &where))
		return;
	connection = FIND_OR_MAKE(connections, &address, COUNTER_CONNECTIONS_FULL, NULL);
	cookie = bpf_get_socket_cookie(sock);
	if (!connection || connection->early_cookie == cookie)
		return;
	connection->early_at = bpf_ktime_get_ns();
	connection->early_cookie = cookie;
}

/* The connection of a socket that the target uses; `known`: it was followed already. */
static __always_inline struct connection *met(struct sock *sock, bool *known)
{
	struct connection *connection = connection_given(sock);
	__u32 direction;

	*known = connection;
	if (connection)
		return connection;
	direction = direction_of(sock, sock->__sk_common.skc_family);
	return direction ? follow(sock, sock->__sk_common.skc_family, direction) : NULL;
}
