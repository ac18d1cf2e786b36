/* SPDX-License-Identifier: GPL-2.0-only */
/* Where calls begin and end, and connections. */
#pragma once
#include "request/named_call.bpf.h"
#include "request/request_sums.bpf.h"

/*
 * Counts the time since the last change for as many requests and calls as there were.  If two CPUs come at once, one
 * uses what the other has changed already, but only for the time between them.
 */
static __always_inline void weigh_calls(__u64 now)
{
	__u64 before = __sync_lock_test_and_set(&inside.changed_at, now);
	__s64 requests = inside.requests, calls = inside.calls;

	if (!before || now <= before || calls <= 0)
		return;
	if (requests < 0)
		requests = 0;
	add(&inside.accompanied_ns, (now - before) * (requests < calls ? requests : calls));
	add(&inside.alone_ns, requests < calls ? (now - before) * (calls - requests) : 0);
}

/* A request was read. */
static __always_inline void enter(__u64 now)
{
	__s64 before;

	if (inside.calls > 0)
		weigh_calls(now);
	before = __sync_fetch_and_add(&inside.requests, 1);
	if (before <= 0)
		inside.busy_since = now;
	step_up(&inside.levels, before + 1, now);
}

/* A request that was read is answered, or nobody will answer it. */
static __always_inline void leave(__u64 now)
{
	if (inside.calls > 0)
		weigh_calls(now);
	inside.left_at = now;
	step_down(&inside.levels, __sync_fetch_and_add(&inside.requests, -1), now);
}

static __always_inline void begin_call(struct connection *connection, __u64 now)
{
	struct exchange_tally *tally = tally_of(connection);
	__s64 before;

	count_for_owner(connection);
	connection->owed = 1;
	connection->exchange = EXCHANGE_ASKED;
	connection->begun = connection->asked = now;
	connection->last = 0;
	connection->timed_out = 0;
	if (!tally)
		return;
	if (connection->direction == DIRECTION_CONNECTED) {
		weigh_calls(now);
		__sync_fetch_and_add(&inside.calls, 1);
	}
	before = __sync_fetch_and_add(&tally->sums[0].busy, 1);
	if (!before)
		tally->sums[0].busy_since = now;
	step_up(&tally->calls.levels, before + 1, now);
}

/* One call less is not answered yet; returns how many there were.  `busy_until`: 0, it is not sure that any was owed. */
static __always_inline __u64 end_busy(const struct connection *connection, struct exchange_tally *tally, __u64 now,
				      __u64 busy_until)
{
	struct exchange_sum *sum = &tally->sums[0];
	__u64 level = __sync_fetch_and_add(&sum->busy, -1);

	if (level == 1 && busy_until > sum->busy_since)
		__sync_fetch_and_add(&sum->busy_ns, busy_until - sum->busy_since);
	if (connection->direction == DIRECTION_CONNECTED) {
		weigh_calls(now);
		__sync_fetch_and_add(&inside.calls, -1);
	}
	step_down(&tally->calls.levels, level, now);
	return level;
}

/* A call was answered while so many were outstanding: did a request wait for its turn, or for anything but a peer? */
static __always_inline void count_answered(struct call_levels *calls, __u64 level, bool waited)
{
	__u32 slot = level_slot(level);

	barrier_var(slot);
	if (slot < LEVELS)
		__sync_fetch_and_add(&calls->answered[slot], waited ? 1 + CALL_WAITED : 1);
}

/* The sender goes on without an answer: whether one was owed nobody knows, so nothing was under way for sure. */
static __always_inline void give_up_call(struct connection *connection, __u64 now)
{
	struct exchange_tally *tally = tally_of(connection);

	connection->exchange = EXCHANGE_NONE;
	give_up_for_owner(connection, now);
	if (!tally)
		return;
	__sync_fetch_and_add(&tally->sums[0].unawaited, 1);
	__sync_fetch_and_add(&tally->sums[0].unawaited_ns, now - connection->asked);
	end_busy(connection, tally, now, 0);
}

/* The first byte of an answer is there: the rest of it is not waited for here. */
__weak __noinline int end_call(struct connection *connection, __u64 now, __u64 held_ns)
{
	struct exchange_tally *tally;
	struct exchange_sum *sum;
	__u64 ns;
	bool waited;

	if (!connection || !__sync_lock_test_and_set(&connection->owed, 0))
		return 0;
	ns = now > connection->asked ? now - connection->asked : 0;
	connection->exchange = EXCHANGE_ANSWERED;
	connection->answered = now;
	tally = tally_of(connection);
	if (!tally)
		return 0;
	sum = &tally->sums[0];
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->ns, ns);
	add_bytes(sum, connection);
	add_held(sum, connection->held == HELD_BY_CORK, held_ns < ns ? held_ns : ns);
	if (connection->sql.running)
		end_sql_call(connection, ns);
	if (connection->call_name)
		end_named_call(connection, ns);
	waited = inside.requests > inside.calls;
	count_answered(&tally->calls, end_busy(connection, tally, now, now), waited);
	count_latency(&tally->latencies[MEASURE_WHOLE], ns);
	give_to_owner(connection, now > connection->begun ? now - connection->begun : 0);
	return 0;
}

/* So long an answer is owed to what was asked: not while a request still arrives, as one without an end does. */
static __always_inline __u64 owed_ns(const struct connection *connection, __u64 now)
{
	__u64 since = connection->direction == DIRECTION_ACCEPTED ? connection->arrived : connection->begun;

	return now > since ? now - since : 0;
}

/* The connection is gone. */
__weak __noinline int end_connection(struct connection *connection, __u64 now)
{
	struct exchange_tally *tally;
	struct exchange_sum *sum;
	__u64 waited_ns = 0;

	if (!connection)
		return 0;
	if (connection->exchange == EXCHANGE_ASKED) {
		connection->exchange = EXCHANGE_NONE;
		if (connection->direction == DIRECTION_ACCEPTED)
			leave(now);
		else
			waited_ns = give_up_for_owner(connection, now);
		tally = tally_of(connection);
		if (!tally)
			return 0;
		sum = &tally->sums[0];
		__sync_fetch_and_add(&sum->unanswered, 1);
		__sync_fetch_and_add(&sum->unanswered_ns, waited_ns);
		if (connection->direction != DIRECTION_ACCEPTED) {
			__sync_fetch_and_add(&sum->unanswered_lasted_ns, owed_ns(connection, now));
			add(&sum->timed_out, connection->timed_out);
			end_busy(connection, tally, now, now);
		} else if (owed_ns(connection, now) > sum->unanswered_longest_ns) {
			sum->unanswered_longest_ns = owed_ns(connection, now);
		}
	} else if (connection->exchange == EXCHANGE_ANSWERED && connection->direction == DIRECTION_CONNECTED) {
		tally = tally_of(connection);
		if (tally)
			add_bytes(&tally->sums[0], connection);
	}
	return end_request(connection);
}

/* It ended before, and nobody saw when: for how long an answer was owed is not known. */
static __always_inline void end_unseen(struct connection *connection, __u64 now)
{
	if (connection->exchange == EXCHANGE_ASKED)
		connection->arrived = now;
	end_connection(connection, now);
}
