// SPDX-License-Identifier: GPL-2.0-only
/*
 * connection - how long do the requests take that the target serves, and the calls that it makes?
 *
 * HOOKS   tp_btf sock_recv_length, sock_send_length, sk_data_ready (Linux 6.3 and later), inet_sock_set_state.
 * COST    two or three look-ups in hashes each time the target sends or receives; for others' sockets one load.
 * CANNOT  tell requests apart that share a connection at the same time (HTTP/2, pipelines), whose bytes come by other
 *         ways than send and receive (splice() from a socket), or that have no answer.
 */
#include "call.bpf.h"
#include "exchange.bpf.h"
#include "request_name.bpf.h"
#include "socket.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define MSG_PEEK 2
#define LOOKUP_PORT 53
#define ASKED_AGAIN_NS 100000000 /* after so long a look-up is sent once more; before, it is another one beside it */

/* Local ports on which the target has accepted: new connections there are followed before anybody reads from them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, __u16);
	__type(value, __u8);
} accepting SEC(".maps");

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
	case IPPROTO_TCP: return is_accepted(sock) ? DIRECTION_ACCEPTED : DIRECTION_CONNECTED;
	case IPPROTO_UDP:
		return bpf_ntohs(LOAD(sock, sock, __sk_common.skc_dport)) == LOOKUP_PORT ? DIRECTION_LOOKUP : 0;
	}
	return 0;
}

/* The process at the other end; of an accepted one the file it listens at, which an abstract name has none of. */
static __always_inline __u64 unix_object(const struct sock *sock, __u32 direction)
{
	struct dentry *dentry = LOAD(unix_sock, sock, path.dentry);
	struct pid *peer = LOAD(sock, sock, sk_peer_pid);

	if (direction == DIRECTION_ACCEPTED)
		return dentry ? file_object(LOAD(dentry, dentry, d_inode)) : OBJECT(OBJECT_UNIX, 0);
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

/* Begins to follow a connection, of that direction. */
static __always_inline struct connection *follow(struct sock *sock, __u64 cookie, __u16 family, __u32 direction)
{
	struct connection *connection = FIND_OR_MAKE(connections, &cookie, COUNTER_CONNECTIONS_FULL, NULL);
	__u16 port = LOAD(sock, sock, __sk_common.skc_num);
	__u8 yes = 1;

	if (!connection || connection->direction)
		return connection;
	connection->object = exchange_object(sock, family, direction);
	connection->direction = direction;
	if (direction == DIRECTION_ACCEPTED && family != AF_UNIX && !bpf_map_lookup_elem(&accepting, &port))
		bpf_map_update_elem(&accepting, &port, &yes, BPF_ANY);
	return connection;
}

static __always_inline struct connection *met(struct sock *sock, __u64 *cookie)
{
	__u16 family = LOAD(sock, sock, __sk_common.skc_family);
	struct connection *connection = connection_of(sock);
	__u32 direction;

	if (connection) {
		*cookie = LOAD(sock, sock, __sk_common.skc_cookie.counter);
		return connection;
	}
	direction = direction_of(sock, family);
	if (!direction)
		return NULL;
	*cookie = bpf_get_socket_cookie(sock);
	return follow(sock, *cookie, family, direction);
}

/* What the thread has run since its last switch is the request's that it serves. */
static __always_inline void credit(struct record *record, __u64 now)
{
	__u64 since = record->serving_since > record->since ? record->serving_since : record->since;
	struct connection *connection = bpf_map_lookup_elem(&connections, &record->serving);

	record->serving_since = now;
	if (connection && connection->exchange != EXCHANGE_NONE && now > since)
		add_to_part(connection, ACCOUNT_CPU_USER, now - since);
}

/* From now on the thread works for that request. */
static __always_inline void serve(struct record *record, __u64 cookie, __u64 now)
{
	record->serving_sure = 1;
	if (record->serving == cookie)
		return;
	if (record->serving)
		credit(record, now);
	record->serving = cookie;
	record->serving_since = now;
}

static __always_inline void begin_request(struct connection *connection, __u32 name, __u64 begun, __u64 now)
{
	struct exchange_sum *sum;

	if (connection->exchange == EXCHANGE_ANSWERED && begun + EARLY_NS < connection->last) {
		sum = exchange_of(connection, false);
		if (sum)
			__sync_fetch_and_add(&sum->early, 1);
	}
	end_request(connection);
	connection->name = name;
	connection->begun = begun;
	connection->read_delay_ns = now - begun;
	connection->arrived = now;
	connection->answered = connection->last = connection->peers_ns = 0;
	connection->several = 0;
	connection->request++;
	__builtin_memset(connection->parts, 0, sizeof(connection->parts));
	connection->exchange = EXCHANGE_ASKED;
}

enum looks { LOOKS_NEW, LOOKS_LIKE_REST, LOOKS_LIKE_NONE };

/* "HTTP/1.1 100 Continue": all that was answered before the rest of a request came. */
#define CONTINUE_BYTES 25

/* Of TLS only the beginnings of records of data are requests. */
static __always_inline enum looks look_at_tls(struct connection *connection, const char *text)
{
	__u32 type = tls_type(text);

	if (type == TLS_HANDSHAKE && !connection->tls)
		connection->tls = TLS_SHAKES;
	if (type != TLS_DATA || is_tls_own(text, connection->tls == TLS_SHAKES))
		return LOOKS_LIKE_NONE;
	connection->tls = TLS_TALKS;
	return LOOKS_NEW;
}

/* What came in on a connection on which all is answered: another request, the rest of the last one, or none? */
static __always_inline enum looks look_at_request(struct connection *connection, __u32 bytes, __u32 *name)
{
	struct naming naming = { .bytes = bytes };
	struct call call;

	if (connection->nameless)
		return LOOKS_NEW;
	read_call(bpf_get_current_task_btf(), &call);
	if (!find_text(&naming, &call)) {
		if (connection->tls)
			return LOOKS_LIKE_NONE;
		if (connection->name && connection->bytes_out == CONTINUE_BYTES)
			return LOOKS_LIKE_REST;
		connection->multiplexed = connection->name != 0; /* was HTTP: frames of a WebSocket and the like */
		connection->nameless = 1;
		return LOOKS_NEW;
	}
	if (connection->tls || tls_type(naming.text))
		return look_at_tls(connection, naming.text);
	if (*(__u32 *)naming.text == HTTP2_PREFACE) {
		connection->multiplexed = connection->nameless = 1;
		return LOOKS_NEW;
	}
	*name = name_request(&naming);
	return LOOKS_NEW;
}

/* Does the thread turn from one connection to another, as event loops do?  A worker keeps one until it is closed. */
static __always_inline void note_turn(struct record *record, struct connection *connection, __u64 cookie)
{
	struct exchange_sum *sum;
	__u64 last = record->read_last;

	record->read_last = cookie;
	if (!last || last == cookie || !bpf_map_lookup_elem(&connections, &last))
		return;
	sum = exchange_of(connection, false);
	if (sum)
		__sync_fetch_and_add(&sum->turns, 1);
}

static __always_inline void receive_request(struct record *record, struct connection *connection, __u64 cookie,
					    __u32 bytes, __u64 begun, __u64 now)
{
	struct exchange_sum *sum;
	enum looks looks;
	__u32 name = 0;

	if (connection->multiplexed)
		return;
	if (connection->exchange == EXCHANGE_ASKED) {
		connection->several |= connection->tid != record->tid;
		connection->arrived = now;
		serve(record, cookie, now);
		return;
	}
	looks = look_at_request(connection, bytes, &name);
	if (looks == LOOKS_LIKE_NONE)
		return;
	if (connection->multiplexed) {
		end_request(connection);
		sum = exchange_of(connection, false);
		if (sum)
			__sync_fetch_and_add(&sum->declined, 1);
		return;
	}
	if (looks == LOOKS_LIKE_REST) {
		connection->exchange = EXCHANGE_ASKED;
		connection->arrived = now;
	} else {
		begin_request(connection, name, begun, now);
		connection->tid = record->tid;
		note_turn(record, connection, cookie);
	}
	serve(record, cookie, now);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(sock_recv_length, struct sock *sock, int length, int flags)
{
	struct record *record = record_of(bpf_get_current_task_btf());
	struct connection *connection, *owner;
	__u64 now, begun, cookie = 0;

	if (!record || length < 0 || (flags & MSG_PEEK))
		return 0;
	connection = met(sock, &cookie);
	if (!connection)
		return 0;
	now = bpf_ktime_get_ns();
	begun = connection->readable_at && connection->readable_at < now ? connection->readable_at : now;
	connection->readable_at = 0;
	connection->bytes_in += length;
	if (connection->direction == DIRECTION_ACCEPTED) {
		if (length)
			receive_request(record, connection, cookie, length, begun, now);
		else
			end_request(connection);
		return 0;
	}
	owner = bpf_map_lookup_elem(&connections, &connection->owner);
	if (owner && owner->request == connection->request && owner->exchange == EXCHANGE_ASKED)
		serve(record, connection->owner, now);
	return 0;
}

static __always_inline void send_answer(struct record *record, struct connection *connection, __u64 cookie, __u64 now)
{
	if (connection->exchange == EXCHANGE_NONE)
		return; /* nobody has asked: a greeting, or news */
	connection->several |= connection->tid != record->tid;
	serve(record, cookie, now);
	credit(record, now);
	for (int i = 0; i < REQUEST_PARTS; i++) {
		connection->parts[i].ns += connection->parts[i].after_ns;
		connection->parts[i].after_ns = 0;
	}
	connection->last = now;
	if (!connection->answered)
		connection->answered = now;
	connection->exchange = EXCHANGE_ANSWERED;
}

/* A look-up that is sent again after a while has not been answered. */
static __always_inline void send_lookup(struct connection *connection, __u64 now)
{
	struct exchange_sum *sum;

	if (now - connection->asked < ASKED_AGAIN_NS) {
		connection->pending++;
	} else {
		sum = exchange_of(connection, false);
		if (sum)
			__sync_fetch_and_add(&sum->retries, 1);
	}
}

/* For whose request is it that the thread calls?  Since it waited for events only what it read then tells. */
static __always_inline void take_owner(struct connection *connection, struct record *record)
{
	struct connection *owner = record->serving_sure ? bpf_map_lookup_elem(&connections, &record->serving) : NULL;

	connection->owner = owner ? record->serving : 0;
	connection->request = owner ? owner->request : 0;
}

static __always_inline void send_call(struct record *record, struct connection *connection, __u64 now)
{
	if (connection->exchange == EXCHANGE_ASKED) {
		if (connection->direction == DIRECTION_LOOKUP)
			send_lookup(connection, now);
		else
			connection->asked = now;
		return;
	}
	/* Who has connected for somebody's request asks for it first: by then the thread may have turned to others. */
	if (connection->answered || !connection->owner)
		take_owner(connection, record);
	connection->pending = 1;
	begin_call(connection, now);
	/* The answer can be there before the kernel says that the question was sent: then that took no time to tell. */
	if (connection->readable_at)
		end_call(connection, now);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sock_send_length, struct sock *sock, int length, int flags)
{
	struct record *record = record_of(bpf_get_current_task_btf());
	struct connection *connection;
	__u64 now, cookie = 0;

	if (!record || length <= 0)
		return 0;
	connection = met(sock, &cookie);
	if (!connection)
		return 0;
	connection->bytes_out += length;
	now = bpf_ktime_get_ns();
	if (connection->direction == DIRECTION_ACCEPTED)
		send_answer(record, connection, cookie, now);
	else
		send_call(record, connection, now);
	return 0;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(sk_data_ready, const struct sock *sock)
{
	struct connection *connection = connection_of(sock);
	__u64 now;

	if (!connection)
		return 0;
	now = bpf_ktime_get_ns();
	if (!connection->readable_at)
		connection->readable_at = now;
	if (connection->direction == DIRECTION_ACCEPTED || connection->exchange != EXCHANGE_ASKED)
		return 0;
	if (connection->direction == DIRECTION_LOOKUP && connection->pending > 1)
		connection->pending--;
	else
		end_call(connection, now);
	return 0;
}

/* A connection of the target's own is being made, was made, or could not be. */
static __always_inline void connect_state(struct sock *sock, int old, int new, __u64 now)
{
	__u16 family = LOAD(sock, sock, __sk_common.skc_family);
	struct connection *connection;
	struct exchange_sum *sum;
	struct record *record;
	__u32 resent;

	if (new == TCP_SYN_SENT) {
		record = record_of(bpf_get_current_task_btf());
		if (!record)
			return;
		connection = follow(sock, bpf_get_socket_cookie(sock), family, DIRECTION_CONNECTED);
		if (!connection)
			return;
		connection->connecting = now;
		take_owner(connection, record);
		return;
	}
	connection = connection_of(sock);
	if (!connection || !connection->connecting)
		return;
	sum = exchange_of(connection, false);
	if (!sum)
		return;
	resent = LOAD(tcp_sock, (const struct tcp_sock *)sock, total_retrans);
	__sync_fetch_and_add(&sum->retries, resent);
	__sync_fetch_and_add(new == TCP_ESTABLISHED ? &sum->connects : &sum->connects_failed, 1);
	count_latency(connection, MEASURE_CONNECT, now - connection->connecting);
	connection->connecting = 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(inet_sock_set_state, struct sock *sock, int old, int new)
{
	__u16 port = LOAD(sock, sock, __sk_common.skc_num);
	struct connection *connection;
	__u64 cookie, now;

	if (LOAD(sock, sock, sk_protocol) != IPPROTO_TCP)
		return 0;
	now = bpf_ktime_get_ns();
	if (new == TCP_SYN_SENT || old == TCP_SYN_SENT)
		connect_state(sock, old, new, now);
	if (old == TCP_SYN_RECV && new == TCP_ESTABLISHED && bpf_map_lookup_elem(&accepting, &port))
		follow(sock, bpf_get_socket_cookie(sock), LOAD(sock, sock, __sk_common.skc_family),
		       DIRECTION_ACCEPTED);
	if (new != TCP_CLOSE)
		return 0;
	connection = connection_of(sock);
	if (!connection)
		return 0;
	end_connection(connection, now);
	cookie = LOAD(sock, sock, __sk_common.skc_cookie.counter);
	bpf_map_delete_elem(&connections, &cookie);
	return 0;
}

static long end_one(void *map, const __u64 *cookie, struct connection *connection, const __u64 *now)
{
	struct exchange_sum *sum;

	if (connection->exchange != EXCHANGE_ASKED) {
		end_request(connection);
		return 0;
	}
	sum = exchange_of(connection, false);
	if (!sum)
		return 0;
	sum->open++;
	if (*now - connection->begun > sum->oldest_ns)
		sum->oldest_ns = *now - connection->begun;
	if (connection->direction != DIRECTION_ACCEPTED)
		end_busy(sum, *now);
	return 0;
}

/* Run once, at the end of the window. */
SEC("syscall")
int end_exchanges(void *context)
{
	__u64 now = bpf_ktime_get_ns();

	return bpf_for_each_map_elem(&connections, end_one, &now, 0) < 0;
}
