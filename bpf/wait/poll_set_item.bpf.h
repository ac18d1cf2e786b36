/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one descriptor says of a set that a thread waits for: who owes it an answer there, may work come by it, or only
 * what wakes it?
 */
#pragma once
#include "wait/file.bpf.h"
#include "network/socket.bpf.h"

#define SET_ITEMS 16	/* descriptors; of a larger set it is not told what is in it */
#define OWN_PIPE_NEXT 2 /* pipe() hands out two descriptors in a row, as a rule */

/* What the answer is besides a descriptor, see wait_of(). */
#define SET_EVENTS -1
#define SET_TIMER -2
#define SET_LARGE -3
#define SET_SERVES -4 /* events, clients' requests among them */

/* A set of descriptors that is looked at, one after the other. */
struct set {
	struct task_struct *task;
	/* The one that is looked at: */
	struct file *file;
	__u32 fd, class;
	/* What was found: */
	__u32 items;
	__s32 peer, asked; /* the last of those that answer, and of those that owe an answer: see wait_of() */
	__u32 peers, pipes;
	__s32 pipe;   /* one by which somebody else writes, if any does: see wait_of() */
	__u64 object; /* whose answer is owed */
	bool mixed;   /* work may come by it as well, or answers of several, or it cannot be told */
	bool serves;  /* a client's request, or a client, may come by it */
	bool own;     /* a pipe of which the process holds both ends */
	bool tree;    /* of an epoll instance; else: */
	/* Where it goes on: addresses of poll's descriptors, or select's; or nodes of an epoll instance's tree. */
	__u64 next, before;
	/* What select's sets hold: so many descriptors, so many words have been read, and of the last one is left: */
	__u32 limit, words;
	__u64 reading, writing;
};

/* A wait for one descriptor, in that way. */
static __always_inline __s32 wait_of(__u32 fd, __u32 class)
{
	return class << 24 | (fd & 0xffffff);
}

/* Is it a descriptor by which only the process itself, or time, wakes the thread? */
static __always_inline bool wakes_only(struct file *file)
{
	return is_of_kind(file, "[eventfd") || is_of_kind(file, "[timerfd") || is_of_kind(file, "[signalf");
}

/* Does the process hold the other end of the pipe as well?  Then that is how its threads wake each other. */
static __always_inline bool is_own_pipe(struct set *set, __u64 inode)
{
	for (__u32 next = 1; next <= OWN_PIPE_NEXT; next++) {
		struct file *file = file_of(set->task, set->fd + next);

		if (file && LOAD(inode, LOAD(file, file, f_inode), i_ino) == inode)
			return true;
	}
	return false;
}

static __always_inline void note_asked_item(struct set *set, __u64 object, __u32 class)
{
	if (set->asked != SET_EVENTS && set->object != object)
		set->mixed = true;
	set->object = object;
	set->asked = wait_of(set->fd, class);
}

static __always_inline void note_peer(struct set *set)
{
	set->peers++;
	set->peer = wait_of(set->fd, set->class);
}

/* One of a pair that the process made for itself, as an own pipe: neither end has a name. */
static __always_inline bool is_own_pair(struct set *set, struct sock *sock)
{
	struct pid *peer = LOAD(sock, sock, sk_peer_pid);
	struct sock *other = LOAD(unix_sock, sock, peer);

	return peer && LOAD(pid, peer, numbers[0].nr) == LOAD(task_struct, set->task, tgid) && other &&
	       !LOAD(unix_sock, sock, addr) && !LOAD(unix_sock, other, addr);
}

static __always_inline void look_at_unix(struct set *set, struct sock *sock, const struct connection *connection)
{
	if (connection && connection->direction == DIRECTION_CONNECTED && connection->exchange == EXCHANGE_ASKED)
		note_asked_item(set, connection->object, SYSCALL_RECEIVE);
	else if (is_own_pair(set, sock))
		return;
	else if (unix_direction(sock) == DIRECTION_CONNECTED)
		note_peer(set);
	else
		set->mixed = set->serves = true;
}

static __always_inline void look_at_internet(struct set *set, struct sock *sock, __u16 family,
					     const struct connection *connection)
{
	__u8 state = LOAD(sock, sock, __sk_common.skc_state);
	__u16 protocol = LOAD(sock, sock, sk_protocol);

	if (protocol == IPPROTO_MPTCP)
		protocol = IPPROTO_TCP;
	if (state == TCP_LISTEN || is_accepted(sock))
		set->mixed = set->serves = true;
	else if (!LOAD(sock, sock, __sk_common.skc_dport) || (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP))
		set->mixed = true;
	else if (protocol == IPPROTO_TCP && (state == TCP_SYN_SENT || set->class == SYSCALL_SEND))
		note_asked_item(set, peer_object(sock, family), SYSCALL_SEND);
	else if (connection && is_plain_datagram(connection) && !connection->answered)
		set->mixed = true; /* who feeds others has such a socket in its loop, too */
	else if (connection && connection->exchange == EXCHANGE_ASKED)
		note_asked_item(set, connection->object, SYSCALL_RECEIVE);
	else
		note_peer(set);
}

static __always_inline void look_at_socket(struct set *set)
{
	struct file *file = set->file;
	struct socket *socket = LOAD(file, file, private_data);
	struct sock *sock = LOAD(socket, socket, sk);
	__u16 family = LOAD(sock, sock, __sk_common.skc_family);
	struct connection *connection = knobs.sees_requests ? connection_of(sock) : NULL;

	if (family == AF_UNIX)
		look_at_unix(set, sock, connection);
	else if (family == AF_INET || family == AF_INET6)
		look_at_internet(set, sock, family, connection);
	else
		set->mixed = true;
}

static __always_inline void note_pipe(struct set *set)
{
	if (set->own)
		return;
	set->mixed = true;
	set->pipes++;
	if (set->pipes == 1 || set->class == SYSCALL_RECEIVE)
		set->pipe = wait_of(set->fd, set->class);
}

/* Looks at one descriptor more; not 0: no other one can change the answer. */
__weak __noinline int look_at_item(struct set *set)
{
	struct open_file open;

	if (!set)
		return 1;
	if (read_file(set->file, &open)) {
		set->mixed = true;
	} else if ((open.mode & S_IFMT) == S_IFSOCK) {
		look_at_socket(set);
	} else if ((open.mode & S_IFMT) == S_IFIFO) {
		set->own = is_own_pipe(set, open.inode);
		note_pipe(set);
	} else {
		set->mixed |= !wakes_only(open.file);
	}
	set->items++;
	set->mixed |= set->items > SET_ITEMS;
	return set->items > SET_ITEMS || (set->serves && (set->tree || set->items > 1));
}
