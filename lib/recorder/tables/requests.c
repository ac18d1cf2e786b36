// SPDX-License-Identifier: GPL-2.0-only
/* Requests that the target served and calls that it made: sums by port or peer and name, and how long they took. */
#define _GNU_SOURCE
#include <stddef.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "program/map_walk.h"
#include "request/levels.h"
#include "tables/request_sample.h"
#include "recorder.h"
#include "perfdiag.skel.h"

const char *direction_name(unsigned int direction)
{
	static const char *const names[] = { "unknown", "accepted", "connected", "lookup", "datagram", "datagram_port" };

	return names[direction <= DIRECTION_DATAGRAM_PORT ? direction : 0];
}

void request_name_write(struct recorder *recorder, const char *key, __u32 hash)
{
	__u64 object = OBJECT(OBJECT_REQUEST, hash);
	struct object_name name;

	if (hash == NAME_OTHERS)
		return json_text(&recorder->json, key, OTHER_NAMES);
	if (hash == NAME_ALL)
		return json_text(&recorder->json, key, ALL_NAMES);
	if (!hash ||
	    bpf_map__lookup_elem(recorder->skeleton->maps.names, &object, sizeof(object), &name, sizeof(name), 0))
		return json_text(&recorder->json, key, "");
	json_bytes(&recorder->json, key, name.request.text,
		   name.request.length < REQUEST_NAME_BYTES ? name.request.length : REQUEST_NAME_BYTES);
}

static void write_parts(struct json *json, const char *key, const __u64 *parts_ns)
{
	json_array(json, key);
	for (int i = 0; i < ACCOUNT_COUNT; i++) {
		if (!parts_ns[i])
			continue;
		json_array(json, NULL);
		json_text(json, NULL, account_names[i]);
		json_u64(json, NULL, parts_ns[i]);
		json_end(json);
	}
	json_end(json);
}

static void write_slow(struct json *json, const struct exchange_sum *slow)
{
	json_u64(json, "over_slo", slow->count);
	json_u64(json, "over_slo_ns", slow->ns);
	json_u64(json, "over_slo_unsure", slow->unsure);
	json_u64(json, "over_slo_whole_ns", slow->whole_ns);
	json_u64(json, "over_slo_read_delay_ns", slow->read_delay_ns);
	json_u64(json, "over_slo_unread_error_ns", slow->unread_error_ns);
	json_u64(json, "over_slo_unread_peers_ns", slow->unread_peers_ns);
	json_u64(json, "over_slo_arriving_ns", slow->arriving_ns);
	json_u64(json, "over_slo_peers_ns", slow->peers_ns);
	json_u64(json, "over_slo_held_ns", slow->held_ns);
	json_u64(json, "over_slo_corked_ns", slow->corked_ns);
	json_u64(json, "over_slo_resent_ns", slow->resent_ns);
	json_u64(json, "over_slo_untaken_ns", slow->untaken_ns);
	write_parts(json, "over_slo_accounts", slow->parts_ns);
}

/* For how long there were at least as many as the lowest of a slot; `now` so many are still there. */
static __u64 at_least_ns(const struct recorder *recorder, const struct levels *levels, int slot, __s64 now)
{
	__u64 ns = levels->at_least_ns[slot] + (now >= lowest_of_slot(slot) ? recorder->end_ns : 0);

	return ns <= recorder->end_ns - recorder->start_ns ? ns : 0; /* a step that one CPU has not made yet */
}

/* [lowest level of a slot, time there], and of calls how many were answered meanwhile; slots of which nothing is known
 * are left out. */
static void write_levels(struct recorder *recorder, const struct levels *levels, __s64 now, const __u64 *answered)
{
	struct json *json = &recorder->json;

	json_u64(json, "most", levels->most);
	json_array(json, "levels");
	for (int slot = 1; slot < LEVELS; slot++) {
		__u64 ns = at_least_ns(recorder, levels, slot, now);
		__u64 above_ns = slot + 1 < LEVELS ? at_least_ns(recorder, levels, slot + 1, now) : 0;

		if (!ns && !(answered && answered[slot]))
			continue;
		json_array(json, NULL);
		json_u64(json, NULL, lowest_of_slot(slot));
		json_u64(json, NULL, ns > above_ns ? ns - above_ns : 0);
		if (answered) {
			json_u64(json, NULL, answered[slot] % CALL_WAITED);
			json_u64(json, NULL, answered[slot] / CALL_WAITED);
		}
		json_end(json);
	}
	json_end(json);
}

static void write_exchange(struct recorder *recorder, const struct exchange_key *key, const struct exchange_sum *sum,
			   const struct exchange_tally *tally)
{
	const struct exchange_sum *slow = &tally->sums[1];
	struct json *json = &recorder->json;

	json_open(json, "exchange");
	object_write(recorder, "object", key->object);
	request_name_write(recorder, "name", key->name);
	json_text(json, "direction", direction_name(key->direction));
	json_u64(json, "count", sum->count);
	if (sum->squares)
		json_u64(json, "count_error", request_sample_error(sum->squares));
	json_u64(json, "sum_ns", sum->ns);
	json_u64(json, "unanswered", sum->unanswered);
	json_u64(json, "unanswered_ns", sum->unanswered_ns);
	json_u64(json, "unanswered_lasted_ns", sum->unanswered_lasted_ns);
	json_u64(json, "unanswered_longest_ns", sum->unanswered_longest_ns);
	json_u64(json, "timed_out", sum->timed_out);
	json_u64(json, "greetings", sum->greetings);
	json_u64(json, "greeting_ns", sum->greeting_ns);
	json_u64(json, "rest_ns", sum->rest_ns);
	json_u64(json, "until_end", sum->until_end);
	json_u64(json, "until_end_ns", sum->until_end_ns);
	json_u64(json, "behind", sum->behind);
	json_u64(json, "behind_ns", sum->behind_ns);
	json_u64(json, "unawaited", sum->unawaited);
	json_u64(json, "unawaited_ns", sum->unawaited_ns);
	json_u64(json, "untimed", sum->untimed);
	json_u64(json, "unsure", sum->unsure);
	json_u64(json, "open", sum->open);
	json_u64(json, "oldest_ns", sum->oldest_ns);
	json_u64(json, "early", sum->early);
	json_u64(json, "declined", sum->declined);
	json_u64(json, "turns", sum->turns);
	json_u64(json, "missed", sum->missed);
	json_u64(json, "missed_ns", sum->missed_ns);
	json_u64(json, "whole", sum->whole);
	json_u64(json, "whole_ns", sum->whole_ns);
	json_u64(json, "read_delay_ns", sum->read_delay_ns);
	json_u64(json, "unread_error_ns", sum->unread_error_ns);
	json_u64(json, "unread_peers_ns", sum->unread_peers_ns);
	json_u64(json, "arriving_ns", sum->arriving_ns);
	json_u64(json, "peers_ns", sum->peers_ns);
	json_u64(json, "connects", sum->connects);
	json_u64(json, "connects_failed", sum->connects_failed);
	json_u64(json, "connecting", sum->connecting);
	json_u64(json, "retries", sum->retries);
	json_u64(json, "busy_ns", sum->busy_ns);
	json_u64(json, "held_ns", sum->held_ns);
	json_u64(json, "corked_ns", sum->corked_ns);
	json_u64(json, "resent", sum->resent);
	json_u64(json, "resent_ns", sum->resent_ns);
	json_u64(json, "untaken_ns", sum->untaken_ns);
	json_u64(json, "untaken_window_ns", sum->untaken_limit_ns[SEND_LIMIT_WINDOW]);
	json_u64(json, "untaken_buffer_ns", sum->untaken_limit_ns[SEND_LIMIT_BUFFER]);
	json_u64(json, "bytes_in", sum->bytes_in);
	json_u64(json, "bytes_out", sum->bytes_out);
	json_u64(json, "awaited", sum->awaited);
	write_parts(json, "accounts", sum->parts_ns);
	write_slow(json, slow);
	if (key->direction == DIRECTION_CONNECTED && request_sample_one_of() == 1)
		write_levels(recorder, &tally->calls.levels, sum->busy, tally->calls.answered);
	json_write(json, &recorder->output);
}

static void add_exchange(struct exchange_sum *total, const struct exchange_sum *more)
{
	__u64 *into = (__u64 *)total;
	const __u64 *from = (const __u64 *)more;

	if (more->oldest_ns > total->oldest_ns)
		total->oldest_ns = more->oldest_ns;
	if (more->unanswered_longest_ns > total->unanswered_longest_ns)
		total->unanswered_longest_ns = more->unanswered_longest_ns;
	/* All that stands before the first maximum is a sum. */
	for (size_t i = 0; i < offsetof(struct exchange_sum, oldest_ns) / sizeof(__u64); i++)
		into[i] += from[i];
}

static void write_latency(struct recorder *recorder, const struct exchange_key *key, const char *measure, __u64 ns,
			  const struct latency *latency)
{
	struct json *json = &recorder->json;
	__u64 count = 0;

	for (int i = 0; i < LATENCY_BUCKETS; i++)
		count += latency->buckets[i];
	if (!count)
		return;
	json_open(json, "latency");
	object_write(recorder, "object", key->object);
	request_name_write(recorder, "name", key->name);
	json_text(json, "direction", direction_name(key->direction));
	json_text(json, "measure", measure);
	json_u64(json, "count", count);
	json_u64(json, "sum_ns", ns);
	json_u64(json, "max_ns", latency->max_ns);
	counts_write(json, "buckets", latency->buckets, LATENCY_BUCKETS);
	json_write(json, &recorder->output);
}

static void write_latencies(struct recorder *recorder, const struct exchange_key *key, const struct exchange_sum *sum,
			    const struct latency *latencies)
{
	write_latency(recorder, key, "whole", sum->ns, &latencies[MEASURE_WHOLE]);
	if (key->direction != DIRECTION_ACCEPTED) {
		write_latency(recorder, key, "connect", sum->connect_ns, &latencies[MEASURE_CONNECT]);
		return;
	}
	write_latency(recorder, key, "first_byte", sum->first_byte_ns, &latencies[MEASURE_FIRST_BYTE]);
	write_latency(recorder, key, "read_delay", sum->read_delay_ns, &latencies[MEASURE_READ_DELAY]);
}

static void write_exchanges(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.exchanges) };
	struct exchange_tally tally;
	struct exchange_key key;

	while (map_next(&walk, &key, &tally)) {
		struct exchange_sum total;

		request_sample_scale(SAMPLED_EXCHANGES, &key, &tally);
		total = tally.sums[0];
		add_exchange(&total, &tally.sums[1]);
		write_exchange(recorder, &key, &total, &tally);
		write_latencies(recorder, &key, &total, tally.latencies);
	}
}

static void write_parked(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.requests_parked) };
	struct json *json = &recorder->json;
	struct parked_key key;
	struct parked_sum sum;

	while (map_next(&walk, &key, &sum)) {
		request_sample_scale(SAMPLED_PARKED, &key, &sum);
		json_open(json, "request_parked");
		json_u64(json, "pid", key.tgid);
		object_write(recorder, "object", key.object);
		json_bool(json, "over_slo", key.over_slo);
		json_u64(json, "count", sum.count);
		json_u64(json, "sum_ns", sum.ns);
		json_write(json, &recorder->output);
	}
}

static void write_unread(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.requests_unread) };
	struct json *json = &recorder->json;
	struct unread_key key;
	__u64 ns;

	while (map_next(&walk, &key, &ns)) {
		if (key.in.account >= ACCOUNT_COUNT || key.in.root >= ACCOUNT_COUNT)
			continue;
		request_sample_scale(SAMPLED_UNREAD, &key, &ns);
		json_open(json, "request_unread");
		object_write(recorder, "object", key.object);
		request_name_write(recorder, "name", key.name);
		json_bool(json, "over_slo", key.over_slo);
		json_text(json, "account", account_names[key.in.account]);
		json_text(json, "root", account_names[key.in.root]);
		json_bool(json, "served", key.in.served);
		json_u64(json, "sum_ns", ns);
		json_write(json, &recorder->output);
	}
}

static void add_ns(void *total, const void *more)
{
	*(__u64 *)total += *(const __u64 *)more;
}

/* CPU time of threads that served no request of their own meanwhile: of all CPUs. */
static __u64 beside_ns(const struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.requests_beside) };
	__u64 ns = 0;
	__u32 zero;

	return map_next_sum(&walk, &zero, &ns, sizeof(ns), add_ns) ? ns : 0;
}

static void write_inside(struct recorder *recorder)
{
	const struct inside *inside = (const void *)&recorder->skeleton->bss->inside;
	struct json *json = &recorder->json;

	json_open(json, "requests_inside");
	write_levels(recorder, &inside->levels, inside->requests, NULL);
	json_u64(json, "unseen", inside->unseen);
	json_u64(json, "accepted", inside->accepted);
	json_u64(json, "accompanied_ns", inside->accompanied_ns);
	json_u64(json, "alone_ns", inside->alone_ns);
	json_u64(json, "beside_ns", beside_ns(recorder));
	json_u64(json, "unasked", inside->unasked);
	json_u64(json, "unasked_bytes", inside->unasked_bytes);
	json_u64(json, "unasked_connections", inside->unasked_connections);
	json_write(json, &recorder->output);
}

/* What is under way is ended by the program itself, which knows how. */
static void end_exchanges(struct recorder *recorder)
{
	int fd = bpf_program__fd(recorder->skeleton->progs.end_exchanges);
	LIBBPF_OPTS(bpf_test_run_opts, options);

	if (fd >= 0 && (bpf_prog_test_run_opts(fd, &options) || options.retval))
		fprintf(stderr, "warning: requests under way at the end are not counted: %s\n", strerror(errno));
}

void requests_begin(struct recorder *recorder)
{
	recorder->skeleton->bss->knobs.window_open = recorder->skeleton->bss->knobs.sees_requests;
}

void requests_end(struct recorder *recorder)
{
	if (!recorder->skeleton->bss->knobs.window_open)
		return;
	recorder->skeleton->bss->knobs.window_open = 0;
	end_exchanges(recorder);
}

void requests_write(struct recorder *recorder)
{
	if (!recorder->skeleton->bss->knobs.sees_requests)
		return;
	request_sample_sum_up(recorder);
	write_exchanges(recorder);
	write_parked(recorder);
	write_unread(recorder);
	if (request_sample_one_of() == 1)
		write_inside(recorder);
	named_calls_write(recorder);
	answers_write(recorder);
	sql_calls_write(recorder);
}
