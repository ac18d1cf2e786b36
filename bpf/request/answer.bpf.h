/* SPDX-License-Identifier: GPL-2.0-only */
/* Answers to requests, and what is sent on accepted connections that is none. */
#pragma once
#include "request/answer_status.bpf.h"
#include "request/request.bpf.h"

/*
 * Requests that were read at once are one here, until the head of a second answer is sent.  (On a stack of its own: the
 * program's has no room for more on Linux 6.1.)
 */
static __noinline bool answers_another(const struct connection *connection, __u32 bytes)
{
	struct naming naming = { .bytes = bytes };
	struct call call;

	if (connection->exchange != EXCHANGE_ANSWERED || !has_http_name(connection) ||
	    connection->bytes_out == CONTINUE_BYTES)
		return false;
	read_call(bpf_get_current_task_btf(), &call);
	return find_text(&naming, &call) && *(__u32 *)naming.text == HTTP_ANSWER;
}

/* When the request was read, or its answer sent, as far as it was. */
static __always_inline __u64 left_off(const struct connection *connection)
{
	return connection->exchange == EXCHANGE_ASKED ? connection->arrived : connection->last;
}

/* Texts of HTTP are answered, and who could not send all at once goes on. */
static __always_inline bool has_more_to_tell(const struct connection *connection)
{
	return has_http_name(connection) || connection->full_since;
}

/* Who writes long answers by turns comes back sooner than after as long as the first of it took. */
static __always_inline bool is_much_later(const struct connection *connection, __u64 now)
{
	return now - connection->last > connection->answered - connection->begun;
}

/*
 * What is encrypted shows no names, but mostly has them: it is news only where nobody has asked, or so little that it may
 * want no answer, and after that anywhere on that connection.
 */
static __always_inline bool may_be_news(const struct connection *connection, __u64 now)
{
	if (has_more_to_tell(connection))
		return false;
	if (!connection->tls || connection->tells || may_want_no_answer(connection))
		return true;
	return connection->exchange == EXCHANGE_ANSWERED && is_much_later(connection, now);
}

/*
 * Has the thread waited for something to do, most of the time since it read the request or sent the last of its answer, and
 * read nothing since that an answer could be made of?
 */
static __always_inline bool was_idle(const struct record *record, const struct connection *connection, __u64 now)
{
	__u64 since = left_off(connection);

	return record->idled > since && 2 * (record->since - record->idled) > now - since &&
	       record->tid == connection->tid;
}

/* Then what it sends now may be of its own accord. */
static __always_inline bool is_perhaps_news(const struct record *record, const struct connection *connection, __u64 now)
{
	return was_idle(record, connection, now) && may_be_news(connection, now);
}

/*
 * An answer goes on after a pause, as a stream of events does: its sender had nothing to do, or a timer woke it, and there
 * was room for more all along.
 */
static __always_inline void note_pause(const struct record *record, struct connection *connection, __u64 now)
{
	if (connection->exchange == EXCHANGE_ANSWERED && connection->pauses < 255 && !connection->full_since &&
	    now - connection->last >= PAUSE_NS &&
	    (was_idle(record, connection, now) || set_off_by_timer(record) > connection->last))
		connection->pauses++;
}

/*
 * Whoever it is, the thread is at a request of somebody else, which came after the answer to this one, and has read nothing
 * that more of that answer could be made of: it tells who listens here of that request.
 */
static __always_inline bool is_at_later_request(const struct record *record, const struct connection *connection,
						const struct socket_id *id, __u64 now)
{
	struct connection *later;

	if (connection->exchange != EXCHANGE_ANSWERED || has_more_to_tell(connection) || record->has_read ||
	    record->serving.cookie == id->cookie || !is_much_later(connection, now))
		return false;
	later = connection_at(&record->serving);
	return later && later->direction == DIRECTION_ACCEPTED && later->arrived > connection->last;
}

/* What is sent now may be none of the answer: so long its sender had waited for something else to do. */
static __always_inline void note_late(struct connection *connection, __u64 ns)
{
	connection->unsure |= UNSURE_LATE;
	if (ns > connection->paused_ns)
		connection->paused_ns = ns;
}

/* What the client has said first is answered, however late: who subscribes to news gets several. */
static __always_inline void note_late_answer(struct connection *connection, __u64 ns)
{
	if (connection->fresh && connection->request == 1)
		connection->unsure |= UNSURE_LATE_FIRST;
	else
		note_late(connection, ns);
}

/* Nobody has asked: a greeting, or news.  Who sends news may have sent some instead of the answer, too. */
static __always_inline bool sends_unasked(const struct record *record, struct connection *connection,
					  const struct socket_id *id, __u64 now)
{
	connection->one_way = 0;
	if (connection->exchange == EXCHANGE_NONE) {
		connection->tells |= connection->request != 0;
		connection->fresh &= connection->tls != 0; /* of a handshake nothing is known but that it came first */
		return true;
	}
	if (is_at_later_request(record, connection, id, now)) {
		note_late(connection, now - connection->last);
		return true;
	}
	if (!is_perhaps_news(record, connection, now))
		return false;
	if (connection->exchange == EXCHANGE_ASKED && !connection->tells) {
		note_late_answer(connection, record->since - record->idled);
		return false;
	}
	connection->tells = 1;
	if (connection->exchange == EXCHANGE_ASKED || connection->unsure & (UNSURE_LATE | UNSURE_LATE_FIRST))
		leave_untimed(connection, now);
	else
		end_request(connection);
	return true;
}

static __always_inline void count_unasked(struct connection *connection, __u32 bytes)
{
	__sync_fetch_and_add(&inside.unasked, 1);
	__sync_fetch_and_add(&inside.unasked_bytes, bytes);
	if (connection->told < 2 && ++connection->told == 2)
		__sync_fetch_and_add(&inside.unasked_connections, 1);
}

static __always_inline void send_answer(struct record *record, struct connection *connection,
					const struct socket_id *id, __u32 bytes, __u64 now)
{
	if (sends_unasked(record, connection, id, now)) {
		count_unasked(connection, bytes);
		return;
	}
	if (answers_another(connection, bytes))
		COUNT_EXCHANGES(connection, early);
	note_pause(record, connection, now);
	connection->several |= connection->tid != record->tid;
	book_own_timer(record, connection, left_off(connection));
	book_helper(record, connection, left_off(connection));
	if (connection->exchange == EXCHANGE_ASKED) {
		note_timeout(record, connection);
		if (has_http_name(connection))
			look_at_own_answer(connection, bytes, now);
		if (connection->timer_ns && may_be_news(connection, now))
			note_late_answer(connection, connection->timer_ns); /* to tell that may be what it woke for */
		end_behind(connection);
	}
	serve(record, id, now);
	if (record->serving.cookie == id->cookie)
		credit(record, connection, now);
	for (int i = 0; i < REQUEST_PARTS && i < connection->parts_used; i++) {
		connection->parts[i].ns += connection->parts[i].after_ns;
		connection->parts[i].after_ns = 0;
	}
	if (connection->after_peers_ns)
		add_rest(connection, connection->after_peer, __sync_lock_test_and_set(&connection->after_peers_ns, 0));
	connection->last = now;
	connection->resent_ns = 0; /* it was until now that the answer was being written */
	if (!connection->answered)
		connection->answered = now;
	if (connection->exchange == EXCHANGE_ASKED)
		leave(now);
	connection->exchange = EXCHANGE_ANSWERED;
	if (record->next.cookie && !is_serving(record))
		take_up_next(record, now);
}
