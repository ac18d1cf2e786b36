/* SPDX-License-Identifier: GPL-2.0-only */
/* What is summed of requests and calls, and when a request ends. */
#pragma once
#include "core/buckets.bpf.h"
#include "core/own_costs.bpf.h"
#include "request/call_owner.bpf.h"
#include "request/connection_sample.bpf.h"
#include "request/levels.bpf.h"
#include "sql/sql_call_sum.bpf.h"

/* By port or peer, and name; 4,096 of 8 kB: allocated one by one, 33 MB if ever full. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct exchange_key);
	__type(value, struct exchange_tally);
} exchanges SEC(".maps");

/* Where they were parked meanwhile; 4,096 of 32 bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct parked_key);
	__type(value, struct parked_sum);
} requests_parked SEC(".maps");

/* In what their readers were while they lay unread; 8,192 of 32 bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 8192);
	__type(key, struct unread_key);
	__type(value, __u64);
} requests_unread SEC(".maps");

struct inside inside;

#define EARLY_NS 1000000 /* a request is sent before the end of the answer is seen by who sends that */

static __always_inline struct exchange_tally *tally_of(struct connection *connection)
{
	struct exchange_key key = { .object = connection->object,
				    .name = connection->name,
				    .direction = connection->direction };

	return FIND_OR_MAKE(exchanges, &key, COUNTER_EXCHANGES_FULL, NULL);
}

/* A request has waited so long for more of the answer to one of its calls. */
__weak __noinline int add_rest(struct connection *owner, __u64 peer, __u64 ns)
{
	struct exchange_key key = { .object = peer, .direction = DIRECTION_CONNECTED };
	struct exchange_tally *tally;

	if (!owner)
		return 0;
	__sync_fetch_and_add(&owner->peers_ns, ns);
	tally = FIND_OR_MAKE(exchanges, &key, COUNTER_EXCHANGES_FULL, NULL);
	if (tally)
		__sync_fetch_and_add(&tally->sums[0].rest_ns, ns);
	return 0;
}

/* One more of what a sum counts: a field of struct exchange_sum. */
#define COUNT_EXCHANGES(connection, field)                                                                             \
	do {                                                                                                           \
		struct exchange_tally *counted = tally_of(connection);                                                 \
                                                                                                                       \
		if (counted)                                                                                           \
			__sync_fetch_and_add(&counted->sums[0].field, 1);                                              \
	} while (0)

__weak __noinline int add_parked(__u64 object, __u32 tgid, __u32 over_slo, __u32 sampled, __u64 ns)
{
	struct parked_key key = { .object = object, .tgid = tgid, .over_slo = over_slo, .sampled = sampled };
	struct parked_sum *sum = FIND_OR_MAKE(requests_parked, &key, COUNTER_DETAIL_FULL, NULL);

	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->ns, ns);
	return 0;
}

__weak __noinline int add_served(struct exchange_sum *sum, struct connection *connection, __u32 over_slo)
{
	if (!sum || !connection)
		return 0;
	for (int i = 0; i < REQUEST_PARTS && i < connection->parts_used; i++) {
		const struct request_part *part = &connection->parts[i];
		__u32 account = part->account;

		if (!part->ns || account >= ACCOUNT_COUNT)
			continue;
		__sync_fetch_and_add(&sum->parts_ns[account], part->ns);
		if (account == ACCOUNT_WAIT_PARKED)
			add_parked(part->object, connection->tgid, over_slo, may_be_left_out(connection), part->ns);
	}
	return 0;
}

/* Of whichever requests: who read one is known, also where another thread answers it. */
__weak __noinline int add_unread(struct connection *connection, __u32 over_slo)
{
	if (!connection)
		return 0;
	for (int i = 0; i < UNREAD_PARTS && i < connection->unread.used; i++) {
		const struct unread_part *part = &connection->unread.parts[i];
		struct unread_key key = {
			.object = connection->object, .name = connection->name, .over_slo = over_slo, .in = part->in
		};
		__u64 *sum;

		if (!part->ns)
			continue;
		sum = FIND_OR_MAKE(requests_unread, &key, COUNTER_DETAIL_FULL, NULL);
		if (sum)
			__sync_fetch_and_add(sum, part->ns);
	}
	return 0;
}

static __always_inline void add_bytes(struct exchange_sum *sum, struct connection *connection)
{
	__sync_fetch_and_add(&sum->bytes_in, connection->bytes_in);
	__sync_fetch_and_add(&sum->bytes_out, connection->bytes_out);
	connection->bytes_in = connection->bytes_out = 0;
}

/* A locked addition costs as much as ten others, also of nothing. */
static __always_inline void add(__u64 *sum, __u64 more)
{
	if (more)
		__sync_fetch_and_add(sum, more);
}

static __always_inline void add_held(struct exchange_sum *sum, bool corked, __u64 ns)
{
	add(corked ? &sum->corked_ns : &sum->held_ns, ns);
}

/* May the request have been none, and was that what took the time? */
static __always_inline bool is_unsure(const struct connection *connection, __u64 ns)
{
	return connection->unsure & UNSURE_TELLS || (connection->unsure && 2 * connection->paused_ns > ns);
}

/* What kept the answer most often. */
static __always_inline enum send_limit most_often(const struct connection *connection)
{
	const __u8 *limits = connection->limits;

	if (limits[SEND_LIMIT_WINDOW] >= limits[SEND_LIMIT_CONGESTION] &&
	    limits[SEND_LIMIT_WINDOW] >= limits[SEND_LIMIT_BUFFER])
		return SEND_LIMIT_WINDOW;
	return limits[SEND_LIMIT_CONGESTION] >= limits[SEND_LIMIT_BUFFER] ? SEND_LIMIT_CONGESTION : SEND_LIMIT_BUFFER;
}

/*
 * How long the client took to send the rest of it; what had come in and lay unread, or in a ring, it did not wait for.
 */
static __always_inline __u64 arriving_ns(const struct connection *connection)
{
	__u64 known = connection->begun + connection->read_delay_ns + connection->lay_ns;

	return connection->arrived > known ? connection->arrived - known : 0;
}

/* What the request has asked behind another call has waited until that was answered, if it was. */
__weak __noinline int end_behind(struct connection *owner)
{
	struct exchange_tally *tally;
	struct connection *before;
	struct socket_id id;
	__u64 since, ns;

	if (!owner || !owner->behind_at)
		return 0;
	id = owner->behind;
	since = owner->behind_at;
	owner->behind_at = 0;
	before = connection_at(&id);
	if (!before || before->answered <= since)
		return 0;
	ns = before->answered - since;
	__sync_fetch_and_add(&owner->peers_ns, ns);
	tally = tally_of(before);
	if (!tally)
		return 0;
	__sync_fetch_and_add(&tally->sums[0].behind, 1);
	__sync_fetch_and_add(&tally->sums[0].behind_ns, ns);
	return 0;
}

/*
 * A probe whether the end of an answer was lost, or one into a window that is shut, repeats what the client has: it says so
 * (DSACK), and has not waited for it.
 */
static __always_inline bool was_resent_in_vain(const struct connection *connection)
{
	const struct sock *sock = (const struct sock *)connection->resent_sock;

	return connection->resent_ns && duplicates_of(sock) - connection->duplicates >= connection->resends;
}

/* The request is answered whole, as far as anybody can tell: another one came, the connection or the window ended. */
__weak __noinline int end_request(struct connection *connection)
{
	struct exchange_tally *tally;
	struct exchange_sum *sum;
	__u64 ns, limit;
	bool over_slo;

	if (!connection || connection->direction != DIRECTION_ACCEPTED || connection->exchange != EXCHANGE_ANSWERED)
		return 0;
	connection->exchange = EXCHANGE_NONE;
	if (was_resent_in_vain(connection))
		connection->resent_ns = 0;
	ns = connection->last - connection->begun + connection->resent_ns;
	limit = limit_of(OBJECT(OBJECT_REQUEST, connection->name));
	over_slo = limit && ns >= limit;
	tally = tally_of(connection);
	if (!tally)
		return 0;
	sum = over_slo ? &tally->sums[1] : &tally->sums[0];
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->ns, ns);
	if (may_be_left_out(connection)) {
		count_request();
		add(&sum->squares, square_of_one_more(&connection->beyond));
	}
	add_bytes(sum, connection);
	__sync_fetch_and_add(&sum->first_byte_ns, connection->answered - connection->begun);
	add(&sum->read_delay_ns, connection->read_delay_ns);
	add(&sum->unread_error_ns, connection->unread_error_ns);
	add(&sum->unread_peers_ns, connection->unread_peers_ns);
	add(&sum->arriving_ns, arriving_ns(connection));
	add(&sum->peers_ns, connection->peers_ns);
	add(&sum->untaken_ns, connection->untaken_ns);
	add(&sum->untaken_limit_ns[most_often(connection)], connection->untaken_ns);
	add_held(sum, connection->corked, connection->held_ns);
	add(&sum->resent, connection->resent_ns != 0);
	add(&sum->resent_ns, connection->resent_ns);
	add(&sum->turns, connection->turned);
	add(&sum->unsure, is_unsure(connection, ns));
	add(&sum->missed, connection->missed);
	add(&sum->missed_ns, connection->missed ? ns : 0);
	if (connection->read_delay_ns)
		add_unread(connection, over_slo);
	if (!connection->several) {
		__sync_fetch_and_add(&sum->whole, 1);
		__sync_fetch_and_add(&sum->whole_ns, ns);
		add_served(sum, connection, over_slo);
	} else {
		add(&sum->parts_ns[ACCOUNT_WAIT_TIMER], connection->timer_ns);
	}
	count_latency(&tally->latencies[MEASURE_WHOLE], ns);
	count_latency(&tally->latencies[MEASURE_FIRST_BYTE], connection->answered - connection->begun);
	count_latency(&tally->latencies[MEASURE_READ_DELAY], connection->read_delay_ns);
	return 0;
}
