// SPDX-License-Identifier: GPL-2.0-only
/*
 * connection - how long do the requests take that the target serves, and the calls that it makes?
 *
 * HOOKS   tp_btf sock_recv_length, sock_send_length, sk_data_ready (Linux 6.3 and later), tcp_probe,
 *         inet_sock_set_state; before, functions: fexit inet_recvmsg, inet_sendmsg, the same of inet6 and unix_stream,
 *         fentry sock_def_readable.
 * COST    one to three look-ups in hashes each time the target sends or receives, one or two more where names have limits
 *         of their own, three more and a read of its text each call that names what it asks for; two loads each segment
 *         of TCP that comes in, whosever it is; for others' sockets one load, but for a look-up of unix ones that nobody
 *         has accepted yet, where the target accepts on one; a hash and three loads for a connection of the target that a
 *         budget leaves out (connection_sample.bpf.h).
 * CANNOT  tell requests apart that share a connection at the same time (HTTP/2, pipelines), whose bytes come by other
 *         ways than send and receive (splice() from a socket), or that have no answer; see a client not take an answer
 *         where nobody tries to send more before there is room, or where it is not TCP; see of MPTCP what is left unread,
 *         or held back; before Linux 6.3 see what is sent by sendfile(), or what a thread gets by a call that it
 *         waited in before this was attached; tell of an answer that it is an error where its first piece does not, or
 *         where it is one of HTTP/2.
 */
#include "core/own_costs.bpf.h"
#include "request/socket_events.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sock_recv_length")
int BPF_PROG(sock_recv_length, struct sock *sock, int length, int flags)
{
	return TIMED(TIMED_RECEIVED, received(sock, length, flags));
}

SEC("fexit/inet_recvmsg")
int BPF_PROG(inet_recvmsg, struct socket *socket, void *message, __u64 size, int flags, int length)
{
	return TIMED(TIMED_RECEIVED, received(socket->sk, length, flags));
}

SEC("fexit/inet6_recvmsg")
int BPF_PROG(inet6_recvmsg, struct socket *socket, void *message, __u64 size, int flags, int length)
{
	return TIMED(TIMED_RECEIVED, received(socket->sk, length, flags));
}

SEC("fexit/unix_stream_recvmsg")
int BPF_PROG(unix_stream_recvmsg, struct socket *socket, void *message, __u64 size, int flags, int length)
{
	return TIMED(TIMED_RECEIVED, received(socket->sk, length, flags));
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sock_send_length, struct sock *sock, int length, int flags)
{
	return TIMED(TIMED_SENT, sent(sock, length));
}

SEC("fexit/inet_sendmsg")
int BPF_PROG(inet_sendmsg, struct socket *socket, void *message, __u64 size, int length)
{
	return TIMED(TIMED_SENT, sent(socket->sk, length));
}

SEC("fexit/inet6_sendmsg")
int BPF_PROG(inet6_sendmsg, struct socket *socket, void *message, __u64 size, int length)
{
	return TIMED(TIMED_SENT, sent(socket->sk, length));
}

SEC("fexit/unix_stream_sendmsg")
int BPF_PROG(unix_stream_sendmsg, struct socket *socket, void *message, __u64 size, int length)
{
	return TIMED(TIMED_SENT, sent(socket->sk, length));
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(sk_data_ready, struct sock *sock)
{
	return TIMED(TIMED_READABLE, is_readable(sock));
}

SEC("fentry/sock_def_readable")
int BPF_PROG(sock_def_readable, struct sock *sock)
{
	return TIMED(TIMED_READABLE, is_readable(sock));
}

/* Before TCP looks at it, a segment on a connection that is established: what it acknowledges makes room to send. */
static __always_inline int note_segment(struct sock *sock)
{
	struct connection *connection;

	if (!knobs.window_open || !is_full(sock) || is_left_out(sock))
		return 0;
	connection = connection_given(sock);
	if (connection)
		note_room(sock, connection, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(tcp_probe, struct sock *sock)
{
	return TIMED(TIMED_ROOM, note_segment(sock));
}

/* No more is sent: all that was asked there is answered, though its end is still to come. */
static __always_inline bool is_hung_up(int state)
{
	return state == TCP_FIN_WAIT1 || state == TCP_LAST_ACK;
}

/* The target has closed the socket: whatever it has asked there, it waits for no answer any more. */
static __always_inline bool is_given_up(const struct sock *sock, const struct connection *connection, int state)
{
	return connection->direction == DIRECTION_CONNECTED && is_hung_up(state) &&
	       LOAD(sock, sock, sk_shutdown) == SHUTDOWN_MASK;
}

/* A path of MPTCP: what is told of is the connection that it is part of. */
static __always_inline bool is_path(const struct sock *sock)
{
	return sock->sk_protocol == IPPROTO_TCP && bpf_core_field_exists(struct tcp_sock, is_mptcp) &&
	       LOAD(tcp_sock, sock, is_mptcp);
}

/* The last of what was answered has not arrived yet. */
static __always_inline bool is_on_its_way(struct sock *sock, const struct connection *connection)
{
	const struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sock);

	return tcp && connection->exchange == EXCHANGE_ANSWERED && tcp->snd_una != tcp->write_seq;
}

static __always_inline void follow_new(struct sock *sock)
{
	struct connection *connection = follow(sock, LOAD(sock, sock, __sk_common.skc_family), DIRECTION_ACCEPTED);

	if (connection)
		connection->fresh = 1;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(inet_sock_set_state, struct sock *sock, int old, int new)
{
	__u64 port = sock->__sk_common.skc_num;
	struct connection *connection;
	__u64 address = (__u64)sock, now;

	if (!knobs.window_open || (sock->sk_protocol != IPPROTO_TCP && sock->sk_protocol != IPPROTO_MPTCP))
		return 0;
	now = bpf_ktime_get_ns();
	if (sock->sk_protocol == IPPROTO_TCP && (new == TCP_SYN_SENT || old == TCP_SYN_SENT))
		connect_state(sock, old, new, now);
	if (old == TCP_SYN_RECV && new == TCP_ESTABLISHED && !is_path(sock) && !is_left_out(sock) &&
	    bpf_map_lookup_elem(&accepting, &port))
		follow_new(sock);
	connection = connection_given(sock);
	if (!connection || (new != TCP_CLOSE && !is_given_up(sock, connection, new) &&
			    (connection->direction != DIRECTION_ACCEPTED || (!is_hung_up(new) && !is_hung_up(old)))))
		return 0;
	if (!is_hung_up(old)) {
		let_go(sock, connection, now, now);
		end_untaken(connection, is_full(sock), now);
		if (is_hung_up(new) && is_on_its_way(sock, connection))
			return 0; /* it is told when that has arrived, or nobody tries any more */
	}
	end_connection(connection, now);
	bpf_map_delete_elem(&connections, &address);
	return 0;
}

#define STREAM_PAUSES 2

/* The last piece of an answer is no older than two pauses, so more may come: it has no end to be timed. */
static __always_inline bool is_stream(const struct connection *connection, __u64 now)
{
	__u64 age = now > connection->last ? now - connection->last : 0; /* the target runs on */

	return connection->exchange == EXCHANGE_ANSWERED && connection->pauses >= STREAM_PAUSES &&
	       age * connection->pauses < 2 * (connection->last - connection->answered);
}

static long end_one(void *map, const __u64 *address, struct connection *connection, const __u64 *now)
{
	struct socket_id id = { .address = *address, .cookie = connection->cookie };
	struct exchange_tally *tally;
	struct exchange_sum *sum;

	if (connection->direction == DIRECTION_ACCEPTED && is_left_out((const struct sock *)*address))
		return 0; /* it was used at the very moment when that was decided */
	if (is_stream(connection, *now)) {
		COUNT_EXCHANGES(connection, untimed);
		return 0;
	}
	if (!connection->connecting && (connection->exchange != EXCHANGE_ASKED || !is_open(&id))) {
		inside.unseen += connection->exchange == EXCHANGE_ASKED;
		end_untaken(connection, is_full_still(&id), *now);
		end_unseen(connection, *now);
		return 0;
	}
	tally = tally_of(connection);
	if (!tally)
		return 0;
	sum = &tally->sums[0];
	if (connection->connecting) {
		sum->connecting++;
		add_connect(tally, *now > connection->connecting ? *now - connection->connecting : 0);
		return 0;
	}
	sum->open++;
	sum->awaited += connection->awaited;
	if (owed_ns(connection, *now) > sum->oldest_ns) /* the target runs on: it may have begun just now */
		sum->oldest_ns = owed_ns(connection, *now);
	if (connection->direction != DIRECTION_ACCEPTED)
		end_busy(connection, tally, *now, *now);
	return 0;
}

/* Run once, at the end of the window. */
SEC("syscall")
int end_exchanges(void *context)
{
	__u64 now = bpf_ktime_get_ns();

	return bpf_for_each_map_elem(&connections, end_one, &now, 0) < 0;
}

struct thinning thinning;

/* The mixed hash, with so many of its lower bits not set, may be halved as often. */
static __always_inline __u32 halvings_of(__u32 hash)
{
	for (__u32 bit = 0; bit < MOST_HALVINGS; bit++)
		if (hash & (1U << bit))
			return bit;
	return MOST_HALVINGS;
}

static long thin_one(void *map, const __u64 *address, struct connection *connection, void *context)
{
	const struct sock *sock = (const struct sock *)*address;
	__u32 halvings;

	if (thinning.forget == FORGET_ALL) {
		bpf_map_delete_elem(&connections, address);
		return 0;
	}
	if (!may_be_left_out(connection))
		return 0;
	halvings = halvings_of(mixed(hash_of(sock)));
	if (thinning.forget == FORGET_LEFT_OUT && is_left_out(sock))
		bpf_map_delete_elem(&connections, address);
	else if (halvings <= MOST_HALVINGS)
		thinning.now[halvings]++;
	return 0;
}

/* Run in the window, first to count, and then, with a new mask, to drop. */
SEC("syscall")
int thin_connections(void *context)
{
	__builtin_memset(thinning.now, 0, sizeof(thinning.now));
	bpf_for_each_map_elem(&connections, thin_one, NULL, 0);
	return 0;
}
