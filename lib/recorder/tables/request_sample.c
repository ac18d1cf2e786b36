// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "tables/request_sample.h"
#include <stddef.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "base/cleanup.h"
#include "program/map_walk.h"
#include "perfdiag.skel.h"

#define SUMS (offsetof(struct exchange_sum, oldest_ns) / sizeof(__u64)) /* all that stands before the first maximum */
#define ERROR_PERCENT 196 /* of the standard error: 95 % of a normal distribution */

union key {
	struct exchange_key exchange;
	struct parked_key parked;
	struct unread_key unread;
	struct answer_key answer;
};

union value {
	struct exchange_tally exchange;
	struct answer_sum answer;
	__u64 sums[3]; /* of all but exchanges */
};

struct counted {
	UT_hash_handle hh;
	union key key;
	union value *before; /* when they were thinned last */
	union value *whole;  /* the estimate until then */
	uint64_t exact[2];   /* counts of exchanges, below and above the objective, or answers, until the first time */
};

static const size_t key_bytes[] = { sizeof(struct exchange_key), sizeof(struct parked_key), sizeof(struct unread_key),
				    sizeof(struct answer_key) };
static const size_t value_bytes[] = { sizeof(struct exchange_tally), sizeof(struct parked_sum), sizeof(__u64),
				      sizeof(struct answer_sum) };
static struct counted *tables[SAMPLED_TABLES];
static uint32_t one_of = 1;
static struct {
	uint64_t requests; /* the estimate of those that came since connections were left out */
	double off;	   /* by what was read there meanwhile, this may be so far off */
} all;

uint32_t request_sample_one_of(void)
{
	return one_of;
}

static void add_latency(struct latency *whole, const struct latency *now, const struct latency *before, uint64_t weight)
{
	whole->max_ns = now->max_ns;
	for (int i = 0; i < LATENCY_BUCKETS; i++)
		whole->buckets[i] += weight * (now->buckets[i] - before->buckets[i]);
}

static uint64_t saturated(uint64_t sum, uint64_t more, uint64_t weight)
{
	return __builtin_mul_overflow(more, weight, &more) || __builtin_add_overflow(sum, more, &sum) ? UINT64_MAX
												      : sum;
}

/* Each connection is followed with a probability of 1 / weight, so `weight` times what those had estimates all. */
static void add_sum(struct exchange_sum *whole, const struct exchange_sum *now, const struct exchange_sum *before,
		    uint64_t weight)
{
	const __u64 *last = (const __u64 *)now, *first = (const __u64 *)before;
	__u64 *into = (__u64 *)whole;

	for (size_t i = 0; i < SUMS; i++)
		into[i] = saturated(into[i], last[i] - first[i], weight);
	whole->oldest_ns = now->oldest_ns;
	whole->unanswered_longest_ns = now->unanswered_longest_ns;
	whole->busy = now->busy;
}

static void add_value(enum sampled_table table, union value *whole, const union value *now, const union value *before)
{
	if (table != SAMPLED_EXCHANGES) {
		for (size_t i = 0; i < value_bytes[table] / sizeof(__u64); i++)
			whole->sums[i] = saturated(whole->sums[i], now->sums[i] - before->sums[i], one_of);
		return;
	}
	for (int i = 0; i < 2; i++)
		add_sum(&whole->exchange.sums[i], &now->exchange.sums[i], &before->exchange.sums[i], one_of);
	for (int i = 0; i < MEASURE_COUNT; i++)
		add_latency(&whole->exchange.latencies[i], &now->exchange.latencies[i], &before->exchange.latencies[i],
			    one_of);
	whole->exchange.calls = now->exchange.calls;
}

/* Calls are all followed, and so are connections at unix sockets (may_be_left_out() in BPF). */
static bool is_sampled(enum sampled_table table, const union key *key)
{
	switch (table) {
	case SAMPLED_EXCHANGES:
		return key->exchange.direction == DIRECTION_ACCEPTED &&
		       OBJECT_KIND(key->exchange.object) == OBJECT_PORT;
	case SAMPLED_ANSWERS:
		return key->answer.direction == DIRECTION_ACCEPTED && OBJECT_KIND(key->answer.object) == OBJECT_PORT;
	case SAMPLED_PARKED: return key->parked.sampled;
	case SAMPLED_UNREAD: return OBJECT_KIND(key->unread.object) == OBJECT_PORT;
	case SAMPLED_TABLES: break;
	}
	return false;
}

static struct counted *counted_of(enum sampled_table table, const void *key, bool make)
{
	struct counted *entry;

	HASH_FIND(hh, tables[table], key, key_bytes[table], entry);
	if (entry || !make)
		return entry;
	entry = calloc(1, sizeof(*entry) + 2 * value_bytes[table]);
	if (!entry)
		return NULL;
	memcpy(&entry->key, key, key_bytes[table]);
	entry->before = (void *)(entry + 1);
	entry->whole = (void *)((char *)entry->before + value_bytes[table]);
	HASH_ADD_KEYPTR(hh, tables[table], &entry->key, key_bytes[table], entry);
	return entry;
}

static void set_exact(enum sampled_table table, struct counted *entry)
{
	for (int i = 0; table == SAMPLED_EXCHANGES && i < 2; i++)
		entry->exact[i] = entry->whole->exchange.sums[i].count;
	if (table == SAMPLED_ANSWERS)
		entry->exact[0] = entry->whole->answer.count;
}

static void count_until_now(struct recorder *recorder)
{
	const struct bpf_map *maps[] = { recorder->skeleton->maps.exchanges, recorder->skeleton->maps.requests_parked,
					 recorder->skeleton->maps.requests_unread, recorder->skeleton->maps.answers };
	union value value;
	union key key;

	for (int table = 0; table < SAMPLED_TABLES; table++) {
		struct map_walk walk = { .fd = bpf_map__fd(maps[table]) };

		while (map_next(&walk, &key, &value)) {
			struct counted *entry = is_sampled(table, &key) ? counted_of(table, &key, true) : NULL;

			if (!entry)
				continue;
			add_value(table, entry->whole, &value, entry->before);
			memcpy(entry->before, &value, value_bytes[table]);
			if (one_of == 1)
				set_exact(table, entry);
		}
	}
}

static uint64_t since(uint64_t count, const struct counted *entry, int sum)
{
	return count - (entry ? entry->exact[sum] : 0);
}

static double part_of_all(uint64_t count_since)
{
	return all.requests ? (double)count_since / all.requests : 1;
}

static void widen(__u64 *squares, double least)
{
	if (least > *squares)
		*squares = least < UINT64_MAX / 2 ? (uint64_t)least : UINT64_MAX;
}

/* What may be off of all is so of each part: of names in their part of its variance, so that those of all names add up. */
static void widen_exchanges(struct exchange_tally *tally, const struct counted *entry)
{
	for (int i = 0; i < 2; i++)
		widen(&tally->sums[i].squares, all.off * all.off * part_of_all(since(tally->sums[i].count, entry, i)));
}

static void widen_answers(struct answer_sum *sum, const struct counted *entry)
{
	double off = all.off * part_of_all(since(sum->count, entry, 0));

	widen(&sum->squares, off * off);
}

void request_sample_scale(enum sampled_table table, const void *key, void *value)
{
	static const union value nothing;
	const struct counted *entry = counted_of(table, key, false);
	union value whole = {};

	if (one_of == 1 || !is_sampled(table, key))
		return;
	if (entry)
		memcpy(&whole, entry->whole, value_bytes[table]);
	add_value(table, &whole, value, entry ? entry->before : &nothing);
	if (table == SAMPLED_EXCHANGES)
		widen_exchanges(&whole.exchange, entry);
	else if (table == SAMPLED_ANSWERS)
		widen_answers(&whole.answer, entry);
	memcpy(value, &whole, value_bytes[table]);
}

/* What was read on those connections that are followed, times how many they stand for, is not what was read on all. */
static double reads_off(struct recorder *recorder, uint64_t requests)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct own_cost *values = calloc(cpus > 0 ? cpus : 1, sizeof(*values));
	__u32 program = TIMED_RECEIVED;
	double read = 0, told = 0;

	if (!values || bpf_map_lookup_elem(bpf_map__fd(recorder->skeleton->maps.own_costs), &program, values))
		return 0;
	for (int cpu = 0; cpu < cpus; cpu++) {
		read += values[cpu].reads;
		told += values[cpu].reads_told;
	}
	return (told > read ? told - read : read - told) * (told > 0 ? requests / told : 1);
}

void request_sample_sum_up(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.exchanges) };
	union value value;
	union key key;

	if (one_of == 1)
		return;
	while (map_next(&walk, &key, &value)) {
		const struct counted *entry = counted_of(SAMPLED_EXCHANGES, &key, false);

		if (!is_sampled(SAMPLED_EXCHANGES, &key))
			continue;
		request_sample_scale(SAMPLED_EXCHANGES, &key, &value);
		for (int i = 0; i < 2; i++)
			all.requests += since(value.exchange.sums[i].count, entry, i);
	}
	all.off = reads_off(recorder, all.requests);
}

static uint64_t root(uint64_t square)
{
	uint64_t found = 0;

	for (int bit = 31; bit >= 0; bit--)
		if ((found | 1ULL << bit) * (found | 1ULL << bit) <= square)
			found |= 1ULL << bit;
	return found;
}

uint64_t request_sample_error(uint64_t squares)
{
	return squares ? (root(squares) + 1) * ERROR_PERCENT / 100 : 0;
}

static int run_thinning(struct recorder *recorder, enum forget forget)
{
	int fd = bpf_program__fd(recorder->skeleton->progs.thin_connections);
	LIBBPF_OPTS(bpf_test_run_opts, options);

	recorder->skeleton->bss->thinning.forget = forget;
	return fd < 0 ? -ENOENT : bpf_prog_test_run_opts(fd, &options);
}

uint32_t request_sample_most(struct recorder *recorder, uint64_t met)
{
	const __u32 *now = recorder->skeleton->bss->thinning.now;
	uint64_t followed = 0;

	if (run_thinning(recorder, FORGET_NONE))
		return one_of;
	for (int halvings = MOST_HALVINGS; halvings > 0 && 1U << halvings > one_of; halvings--) {
		followed += now[halvings];
		if (followed >= LEAST_CONNECTIONS || met / ((1U << halvings) / one_of) >= LEAST_CONNECTIONS)
			return 1U << halvings;
	}
	return one_of;
}

void request_sample_thin(struct recorder *recorder, uint32_t wanted)
{
	count_until_now(recorder);
	one_of = wanted;
	recorder->skeleton->bss->knobs.connection_mask = one_of - 1;
	if (run_thinning(recorder, FORGET_LEFT_OUT))
		fprintf(stderr, "warning: requests on connections that are not followed any more may count as open\n");
}

void request_sample_end(struct recorder *recorder)
{
	recorder->skeleton->bss->knobs.window_open = recorder->skeleton->bss->knobs.sees_requests = 0;
	probes_end_requests(recorder);
	run_thinning(recorder, FORGET_ALL);
}
