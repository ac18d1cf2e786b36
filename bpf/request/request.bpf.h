/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests that come in on accepted connections. */
#pragma once
#include "request/follow.bpf.h"
#include "request/message_pause.bpf.h"
#include "request/ring_queue.bpf.h"
#include "request/request_name.bpf.h"
#include "request/read_delay.bpf.h"
#include "request/helper.bpf.h"
#include "request/own_timer.bpf.h"
#include "request/tls_frames.bpf.h"

/* What the thread has run since its last switch is the request's that it serves, on that connection. */
static __always_inline void credit(struct record *record, struct connection *connection, __u64 now)
{
	__u64 since = unbooked_since(record);

	record->serving_since = now;
	if (connection && connection->exchange != EXCHANGE_NONE && connection->tid == record->tid && now > since)
		add_to_part(connection, ACCOUNT_CPU_USER, 0, now - since);
	if (!connection || connection->exchange != EXCHANGE_ASKED || connection->tid != record->tid)
		count_beside(since, now);
}

/* From now on the thread works for that request, no longer for the one `before`. */
static __always_inline void turn_to(struct record *record, const struct socket_id *id, struct connection *before,
				    __u64 now)
{
	credit(record, before, now);
	record->serving = *id;
}

/* Who polls or works for a ring of io_uring moves the bytes of others' requests; who serves them is not told. */
static __always_inline bool moves_for_others(void)
{
	return bpf_get_current_task_btf()->flags & PF_IO_WORKER;
}

/* The thread works for that request, whatever it did before. */
static __always_inline void serve(struct record *record, const struct socket_id *id, __u64 now)
{
	if (moves_for_others() || (record->serving.cookie != id->cookie && is_moved_meanwhile(record)))
		return;
	record->serving_sure = 1;
	if (record->serving.cookie != id->cookie)
		turn_to(record, id, connection_at(&record->serving), now);
}

static __always_inline void begin_request(struct connection *connection, __u32 name, __u64 begun, __u64 now)
{
	if (connection->exchange == EXCHANGE_ANSWERED && begun + EARLY_NS < connection->last)
		COUNT_EXCHANGES(connection, early);
	end_request(connection);
	connection->bytes_in = 0; /* of a handshake, or of what wanted no answer */
	connection->name = name;
	connection->begun = begun;
	connection->read_delay_ns = now - begun;
	connection->arrived = now;
	connection->answered = connection->last = connection->peers_ns = connection->held_ns = 0;
	connection->after_peers_ns = 0;
	connection->worked_on = connection->calls = connection->lay_ns = connection->unread_peers_ns = 0;
	connection->untaken_ns = connection->full_since = connection->unread_error_ns = connection->resent_ns = 0;
	connection->several = connection->pauses = 0;
	connection->timer_ns = connection->behind_at = connection->paused_ns = 0;
	__builtin_memset(connection->limits, 0, sizeof(connection->limits));
	connection->unsure = connection->tells ? UNSURE_TELLS : 0;
	connection->missed = 0;
	connection->request++;
	connection->parts_used = connection->unread.used = 0; /* to clear them is as dear as all the rest of this */
	__builtin_memset(&connection->sql, 0, sizeof(connection->sql));
	connection->exchange = EXCHANGE_ASKED;
	enter(now);
}

/* One that came in since the thread runs needs no look at what it was in before. */
static __always_inline void explain_delay(const struct record *record, struct connection *connection, __u64 begun,
					  __u64 now)
{
	struct chain *chain;

	if (begun >= now)
		return;
	if (begun >= record->since) {
		add_ran(connection, record->serving_since > begun, now - begun);
		return;
	}
	chain = chain_of(bpf_get_current_task_btf());
	if (chain)
		book_unread(connection, chain, begun, record->serving_since, now);
}

/*
 * A server may read no further on a connection while a call for the request before is under way, though that is answered:
 * nginx, while a copy of it is (mirror).  As long as who reads was idle meanwhile, it has waited for that call's peer.
 */
static __always_inline void give_to_call_before(struct connection *connection, __u64 begun)
{
	union unread_in idle = { .account = ACCOUNT_WAIT_EVENTS, .root = ACCOUNT_WAIT_EVENTS };
	__u64 until = connection->released_at;

	connection->released_at = 0;
	if (until <= begun)
		return;
	connection->unread_peers_ns = take_unread_part(&connection->unread, idle.word, until - begun);
	connection->peers_ns = connection->unread_peers_ns;
}

#define PASSED_OVER 8 /* requests of a ring's queue that others have answered, or whose clients have left */

/* The thread has answered a request: it goes on with the next one that a ring has brought meanwhile. */
static __noinline int take_up_next(struct record *record, __u64 now)
{
	struct connection *connection = NULL;
	struct socket_id id;

	for (int i = 0; i < PASSED_OVER && record->next.cookie; i++) {
		id = record->next;
		connection = connection_at(&id);
		record->next.cookie = 0;
		if (!connection)
			return 0;
		record->next = connection->next;
		if (connection->exchange == EXCHANGE_ASKED && connection->tid == record->tid)
			break;
		connection = NULL;
	}
	if (!connection)
		return 0;
	explain_delay(record, connection, connection->begun, now);
	give_to_call_before(connection, connection->begun);
	connection->read_delay_ns = now - connection->begun;
	record->serving = id;
	record->serving_since = now;
	record->serving_sure = 1;
	return 0;
}

/* Texts of HTTP are answered, each of them. */
static __always_inline bool has_http_name(const struct connection *connection)
{
	return connection->name && connection->nameless != NAMES_COMMANDS;
}

enum looks { LOOKS_NEW, LOOKS_LIKE_REST, LOOKS_LIKE_NONE };

/* "HTTP/1.1 100 Continue": all that was answered before the rest of a request came. */
#define CONTINUE_BYTES 25

/* Of TLS only the beginnings of records of data are requests: the first of what was read, or behind a handshake's last. */
static __always_inline enum looks look_at_tls(struct connection *connection, const char *text, __u32 bytes)
{
	__u32 type = tls_type(text);
	bool own;

	if (type == TLS_HANDSHAKE && !connection->tls)
		connection->tls = TLS_SHAKES;
	note_offer(connection, bytes);
	own = type == TLS_DATA && is_tls_own(text, connection->tls == TLS_SHAKES);
	connection->tls_13 |= own;
	if (type != TLS_DATA || own) {
		if (connection->tls == TLS_TALKS || !(look_at_records(connection, bytes) & RECORDS_ASK))
			return LOOKS_LIKE_NONE;
	}
	connection->tls = TLS_TALKS;
	return LOOKS_NEW;
}

/* Who waits for the next request with a read of its first byte, as Go's server does, gets the rest of it by another. */
static __always_inline void keep_beginning(struct connection *connection, const struct call *call, __u32 bytes)
{
	barrier_var(bytes);
	if (bytes && bytes <= sizeof(connection->beginning) &&
	    !bpf_probe_read_user(connection->beginning, bytes, (void *)call->arguments[1]))
		connection->beginning_bytes = bytes;
}

/* The name of such a request, now that there is more of it. */
static __noinline int name_rest(struct connection *connection, __u32 bytes)
{
	__u32 kept = connection->beginning_bytes, room = REQUEST_BYTES - sizeof(connection->beginning);
	struct naming naming = {};
	struct call call;

	connection->beginning_bytes = 0;
	if (kept > sizeof(connection->beginning))
		return 0;
	read_call(bpf_get_current_task_btf(), &call);
	if (call.number < 0 || call.i386)
		return 0;
	naming.bytes = kept + bytes;
	__builtin_memcpy(naming.text, connection->beginning, sizeof(connection->beginning));
	if (bpf_probe_read_user(naming.text + kept, at_most(bytes, room), (void *)call.arguments[1]))
		return 0;
	if (is_known(naming.text) && !tls_type(naming.text) && *(__u32 *)naming.text != HTTP2_PREFACE)
		connection->name = name_request(&naming);
	return 0;
}

/* What came in on a connection on which all is answered: another request, the rest of the last one, or none? */
static __noinline enum looks look_at_request(struct connection *connection, __u32 bytes, __u32 *name)
{
	struct naming naming = { .bytes = bytes, .perhaps_frames = !connection->name && !connection->tls };
	struct call call;

	connection->beginning_bytes = 0;
	if (connection->nameless == NAMELESS)
		return LOOKS_NEW;
	if (has_http_name(connection) && connection->bytes_out == CONTINUE_BYTES)
		return LOOKS_LIKE_REST; /* whatever it begins with */
	read_call(bpf_get_current_task_btf(), &call);
	if (!find_text(&naming, &call)) {
		if (connection->tls) {
			note_offer(connection, bytes);
			return LOOKS_LIKE_NONE;
		}
		if (bytes <= TLS_HEADER) {
			keep_beginning(connection, &call, bytes);
			if (bytes > sizeof(connection->beginning) && !connection->name)
				connection->nameless = connection->request ? NAMELESS : NAMELESS_FIRST;
			return LOOKS_NEW; /* too little to tell what else it is */
		}
		if (connection->nameless == NAMES_COMMANDS)
			return LOOKS_NEW; /* the rest of a long one: the next may have its name again */
		connection->multiplexed = connection->name != 0; /* was HTTP: frames of a WebSocket and the like */
		connection->nameless = connection->request ? NAMELESS : NAMELESS_FIRST;
		return LOOKS_NEW;
	}
	if (connection->tls || tls_type(naming.text))
		return look_at_tls(connection, naming.text, bytes);
	if (naming.frames || *(__u32 *)naming.text == HTTP2_PREFACE) {
		connection->multiplexed = 1;
		connection->nameless = NAMELESS;
		return LOOKS_NEW;
	}
	if (naming.command) {
		connection->nameless = knobs.no_names ? NAMELESS : NAMES_COMMANDS;
		*name = knobs.no_names ? 0 : name_request(&naming);
		return LOOKS_NEW;
	}
	connection->nameless = NAMES;
	*name = name_request(&naming);
	return LOOKS_NEW;
}

/* Of TCP only those that are open are kept. */
static __always_inline bool is_kept_open(const struct socket_id *id, const struct connection *connection)
{
	return OBJECT_KIND(connection->object) == OBJECT_PORT ||
	       (is_open(id) && can_send((const struct sock *)id->address));
}

/*
 * The thread takes a request up, or will: it `waits`.  Does it turn from one connection to another, as event loops do?  A
 * worker keeps one until it is closed.  What it served before is as a rule what it read last.
 */
static __always_inline void take_up(struct record *record, struct connection *connection, const struct socket_id *id,
				    bool waits, __u64 now)
{
	struct socket_id last = record->read_last;
	struct connection *before = last.cookie != id->cookie ? connection_at(&last) : NULL;

	connection->tid = record->tid;
	connection->tgid = record->tgid;
	connection->turned = before && is_kept_open(&last, before);
	record->requests_read++;
	record->requests_turned += connection->turned;
	record->read_last = *id;
	if (waits) {
		queue_up(record, connection, id);
		return;
	}
	record->serving_sure = 1;
	if (record->serving.cookie == id->cookie)
		record->serving_since = now; /* before that it served the one before, or waited for this one */
	else if (record->serving.cookie == last.cookie)
		turn_to(record, id, before, now);
	else
		turn_to(record, id, connection_at(&record->serving), now);
}

/* More came before anything of an answer was sent; false: it is another request. */
static __always_inline bool receive_rest(struct record *record, struct connection *connection,
					 const struct socket_id *id, __u32 bytes, __u64 begun, __u64 now)
{
	__u64 lay_since, pause_ns = may_want_no_answer(connection) ? pause_before(connection, id, begun) : 0;

	if (pause_ns >= PAUSE_NS) {
		connection->unsure |= UNSURE_PAUSES;
		connection->paused_ns += pause_ns;
	}
	if (is_another(record, connection, pause_ns)) {
		leave_untimed(connection, now);
		return false;
	}
	connection->several |= connection->tid != record->tid;
	lay_since = connection->left_at ?: begun;
	book_own_timer(record, connection, lay_since);
	book_helper(record, connection, lay_since);
	connection->arrived = now;
	connection->lay_ns += now - lay_since;
	if (connection->beginning_bytes)
		name_rest(connection, bytes);
	serve(record, id, now);
	return true;
}

/* Its requests are told apart by its own frames only. */
__weak __noinline int decline(struct connection *connection, __u64 now)
{
	if (!connection)
		return 0;
	connection->multiplexed = 1;
	if (connection->exchange == EXCHANGE_ASKED)
		leave_untimed(connection, now);
	else
		end_request(connection);
	COUNT_EXCHANGES(connection, declined);
	return 0;
}

static __always_inline void receive_request(struct record *record, struct connection *connection,
					    const struct socket_id *id, __u32 bytes, __u64 begun, __u64 now)
{
	enum looks looks;
	__u32 name = 0;
	bool waits;

	if (connection->multiplexed)
		return;
	if (connection->one_way) {
		COUNT_EXCHANGES(connection, untimed);
		return;
	}
	if (connection->settings_looks) {
		connection->settings_looks--;
		if (look_at_records(connection, bytes) & RECORDS_ACKNOWLEDGE) {
			decline(connection, now);
			return;
		}
	}
	if (connection->exchange == EXCHANGE_ASKED && receive_rest(record, connection, id, bytes, begun, now))
		return;
	if (moves_for_others()) {
		end_request(connection);
		connection->exchange = EXCHANGE_NONE;
		COUNT_EXCHANGES(connection, untimed);
		return;
	}
	looks = look_at_request(connection, bytes, &name);
	if (looks == LOOKS_LIKE_NONE)
		return;
	if (connection->multiplexed) {
		decline(connection, now);
		return;
	}
	if (looks == LOOKS_LIKE_REST) {
		connection->exchange = EXCHANGE_ASKED;
		connection->arrived = now;
		enter(now);
		serve(record, id, now);
	} else {
		waits = is_moved_meanwhile(record);
		begin_request(connection, name, begun, now);
		if (!waits) {
			explain_delay(record, connection, begun, now);
			give_to_call_before(connection, begun);
		}
		take_up(record, connection, id, waits, now);
	}
}
