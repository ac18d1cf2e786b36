// SPDX-License-Identifier: GPL-2.0-only
/*
 * unread_at_end - which requests has nobody read when the window ends, and in what are those who could?  On which
 *               connections that were silent all along is the last word a question, if it is one?
 *
 * HOOKS   iter/task_file, iter/task, once each, at the end.
 * COST    a look at each open file of the host, of the target's sockets a few loads; of each thread of the target one
 *         copy of its line of time, if there is such a request.
 * CANNOT  see those on connections of MPTCP, nor behind the first 700 of a queue; tell when one came in on a unix socket
 *         that the window has not met before, nor in the queue of one at which the target has not accepted in the window;
 *         tell requests from other data on a connection that is read rarely; tell whose last word it was on a connection
 *         closer than a tick, nor on a unix socket at all; tell a question from what needs no answer.
 */
#include "wait/timeline.bpf.h"
#include "request/endpoint.bpf.h"
#include "core/record.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define MOST_NOT_ACCEPTED 700 /* of one socket that listens: what is written of one file has to fit 32 KiB */

/* What lies behind a client's end is its farewell, as TLS has it, more often than a request that it waits for. */
static __always_inline bool has_unread(const struct sock *sock, __u16 family)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sock;

	if (family == AF_UNIX)
		return LOAD(sock, sock, sk_receive_queue.qlen) > 0 && !(LOAD(sock, sock, sk_shutdown) & RCV_SHUTDOWN);
	return LOAD(sock, sock, __sk_common.skc_state) == TCP_ESTABLISHED &&
	       LOAD(tcp_sock, tcp, rcv_nxt) != LOAD(tcp_sock, tcp, copied_seq);
}

static __always_inline void describe_left(struct left_unread *left, struct sock *sock, __u16 family)
{
	const struct connection *connection = connection_of(sock);

	left->sock = (__u64)sock;
	left->direction = DIRECTION_ACCEPTED;
	left->object = connection ? connection->object : exchange_object(sock, family, DIRECTION_ACCEPTED);
	left->tid = connection ? connection->tid : 0;
	left->begun = connection && connection->readable_at ? connection->readable_at
							    : arrived_ns(sock, bpf_ktime_get_ns());
}

/* One whose request is being answered is no other one: the rest of that may lie there. */
static __always_inline bool is_left(const struct sock *sock, __u16 family)
{
	const struct connection *connection = connection_of(sock);

	if (connection && (connection->exchange == EXCHANGE_ASKED || connection->multiplexed ||
			   connection->direction != DIRECTION_ACCEPTED))
		return false;
	return has_unread(sock, family);
}

static __always_inline __u32 received_ticks(const struct sock *sock)
{
	return LOAD(inet_connection_sock, sock, icsk_ack.lrcvtime);
}

/*
 * Was the last word on a connection of TCP the client's?  Times are ticks.  Within one the sequence tells: the last segment
 * that acknowledged what was sent would have begun behind all that came in, had that been an answer.
 */
static __always_inline bool is_asked(const struct sock *sock)
{
	const struct tcp_sock *tcp = (const struct tcp_sock *)sock;
	__s32 later = received_ticks(sock) - LOAD(tcp_sock, tcp, lsndtime);

	if (!LOAD(tcp_sock, tcp, bytes_received) || LOAD(tcp_sock, tcp, snd_una) != LOAD(tcp_sock, tcp, write_seq))
		return false;
	return later > 0 || (!later && LOAD(tcp_sock, tcp, snd_wl1) != LOAD(tcp_sock, tcp, rcv_nxt));
}

/* Likewise the target's, which has connected; one within a tick is not seen: an answer to a keep-alive looks the same. */
static __always_inline bool has_asked(const struct sock *sock)
{
	const struct tcp_sock *tcp = (const struct tcp_sock *)sock;

	if (!LOAD(tcp_sock, tcp, bytes_sent))
		return false;
	return !LOAD(tcp_sock, tcp, bytes_received) ||
	       (__s32)(LOAD(tcp_sock, tcp, lsndtime) - received_ticks(sock)) > 0;
}

/* Those that the window has met say themselves what they have left. */
static __always_inline bool is_silent(const struct sock *sock, __u16 family, __u32 direction)
{
	if (connection_of(sock) || has_unread(sock, family))
		return false;
	if (family == AF_UNIX)
		return direction == DIRECTION_ACCEPTED && LOAD(sock, sock, __sk_common.skc_state) == TCP_ESTABLISHED;
	if (LOAD(sock, sock, __sk_common.skc_state) != TCP_ESTABLISHED)
		return false;
	return direction == DIRECTION_ACCEPTED ? is_asked(sock) : has_asked(sock);
}

/* False: its last word was just now, so it was used in a way that is not followed. */
static __always_inline bool describe_silent(struct left_unread *left, struct sock *sock, __u16 family, __u32 direction)
{
	const struct tcp_sock *tcp = (const struct tcp_sock *)sock;
	bool accepted = direction == DIRECTION_ACCEPTED;

	left->sock = (__u64)sock;
	left->object = exchange_object(sock, family, direction);
	left->direction = direction;
	left->silent = 1;
	if (family == AF_UNIX)
		return true;
	left->begun = ticks_ns(accepted ? received_ticks(sock) : LOAD(tcp_sock, tcp, lsndtime), bpf_ktime_get_ns());
	left->never = !(accepted ? LOAD(tcp_sock, tcp, bytes_sent) : LOAD(tcp_sock, tcp, bytes_received));
	return left->begun;
}

struct queue {
	struct seq_file *file;
	struct request_sock *next;
	struct left_unread left;
};

static long tell_next(__u32 number, struct queue *queue)
{
	struct request_sock *request = queue->next;
	struct sock *sock;

	if (!request)
		return 1;
	queue->next = LOAD(request_sock, request, dl_next);
	sock = LOAD(request_sock, request, sk);
	if (!sock || !is_left(sock, AF_INET))
		return 0;
	describe_left(&queue->left, sock, AF_INET);
	queue->left.queued = 1;
	bpf_seq_write(queue->file, &queue->left, sizeof(queue->left));
	return 0;
}

struct unix_queue {
	struct seq_file *file;
	struct sk_buff *next;
	const struct sk_buff_head *end;
	struct left_unread left;
};

/* Each message in the queue of a unix socket that listens carries a connection (unix_stream_connect()). */
static long tell_next_unix(__u32 number, struct unix_queue *queue)
{
	struct sk_buff *message = queue->next;
	struct connection *connection;
	struct sock *sock;
	__u64 address;

	if (!message || (void *)message == (void *)queue->end)
		return 1;
	queue->next = LOAD(sk_buff, message, next);
	sock = LOAD(sk_buff, message, sk);
	/* Nobody keeps the queue from changing meanwhile: what is no connection of it is in another one. */
	if (!sock || LOAD(sock, sock, __sk_common.skc_family) != AF_UNIX || LOAD(sock, sock, sk_socket))
		return 1;
	if (!is_left(sock, AF_UNIX))
		return 0;
	describe_left(&queue->left, sock, AF_UNIX);
	queue->left.queued = 1;
	address = (__u64)sock;
	connection = bpf_map_lookup_elem(&connections, &address);
	if (connection && connection->early_cookie == LOAD(sock, sock, __sk_common.skc_cookie.counter))
		queue->left.begun = connection->early_at;
	bpf_seq_write(queue->file, &queue->left, sizeof(queue->left));
	return 0;
}

/* On a stack of its own: the program's has no room for more. */
static __noinline int tell_unix_queue(struct seq_file *file, const struct sock *listening, __u32 tgid)
{
	struct unix_queue queue = { .file = file, .left.tgid = tgid };

	queue.end = (const struct sk_buff_head *)((const char *)listening +
						  bpf_core_field_offset(struct sock, sk_receive_queue));
	queue.next = LOAD(sk_buff_head, queue.end, next);
	bpf_loop(MOST_NOT_ACCEPTED, tell_next_unix, &queue, 0);
	return 0;
}

/* Does anybody wait at that socket, or has it in an epoll? */
static __always_inline bool is_watched(const struct sock *sock)
{
	struct socket_wq *queue = LOAD(sock, sock, sk_wq);
	struct list_head *head;

	if (!queue)
		return false;
	head = (struct list_head *)((char *)queue + bpf_core_field_offset(struct socket_wq, wait.head));
	return LOAD(list_head, head, next) != head;
}

/* A question by UDP that has no answer: who feeds others does not look at what comes. */
static __always_inline void note_awaited(const struct sock *sock)
{
	struct connection *connection = connection_of(sock);

	if (connection && asks_by_datagrams(connection) && connection->exchange == EXCHANGE_ASKED && is_watched(sock))
		connection->awaited = 1;
}

SEC("iter/task_file")
int tell_left_unread(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct queue queue = {};
	struct record *record;
	struct socket *socket;
	struct sock *sock;
	__u32 direction;
	__u16 family;

	if (!task || !file || (LOAD(inode, LOAD(file, file, f_inode), i_mode) & S_IFMT) != S_IFSOCK)
		return 0;
	record = record_of(task);
	if (!record || !record->start)
		return 0;
	socket = LOAD(file, file, private_data);
	sock = LOAD(socket, socket, sk);
	if (!sock)
		return 0;
	queue.left.tgid = task->tgid;
	family = LOAD(sock, sock, __sk_common.skc_family);
	if (family == AF_INET || family == AF_INET6)
		note_awaited(sock);
	if (family != AF_UNIX && LOAD(sock, sock, __sk_common.skc_state) == TCP_LISTEN) {
		const struct sock *listening = tcp_path(sock);

		if (!listening)
			return 0;
		queue.file = ctx->meta->seq;
		queue.next = LOAD(inet_connection_sock, listening, icsk_accept_queue.rskq_accept_head);
		bpf_loop(MOST_NOT_ACCEPTED, tell_next, &queue, 0);
		return 0;
	}
	if (family == AF_UNIX && LOAD(sock, sock, __sk_common.skc_state) == TCP_LISTEN)
		return tell_unix_queue(ctx->meta->seq, sock, task->tgid);
	if (family != AF_UNIX && !is_tcp(sock))
		return 0;
	direction = direction_of(sock, family);
	if (direction == DIRECTION_ACCEPTED && is_left(sock, family))
		describe_left(&queue.left, sock, family);
	else if (!direction || !is_silent(sock, family, direction) ||
		 !describe_silent(&queue.left, sock, family, direction))
		return 0;
	bpf_seq_write(ctx->meta->seq, &queue.left, sizeof(queue.left));
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct chain_copy);
} chain_scratch SEC(".maps");

SEC("iter/task")
int copy_chains(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct record *record = task ? record_of(task) : NULL;
	struct chain *chain = record && record->start ? chain_of(task) : NULL;
	struct chain_copy *copy;
	__u32 zero = 0;

	copy = bpf_map_lookup_elem(&chain_scratch, &zero);
	if (!chain || !copy)
		return 0;
	copy->tid = record->tid;
	copy->tgid = record->tgid;
	copy->account = record->state == STATE_BLOCKED	  ? record->account
			: record->state == STATE_RUNNABLE ? ACCOUNT_RUNQ_BUSY
							  : ACCOUNT_CPU_USER;
	copy->served = is_serving(record);
	copy->at = bpf_ktime_get_ns();
	bpf_probe_read_kernel(&copy->chain, sizeof(copy->chain), chain);
	bpf_seq_write(ctx->meta->seq, copy, sizeof(*copy));
	return 0;
}
