// SPDX-License-Identifier: GPL-2.0-only
/* Requests of a part of the connections: what is told of all, and how far off that may be. */
#include "../../../lib/recorder/tables/request_sample.c"
#include "check.h"

static struct exchange_tally tally;
static const struct exchange_key accepted = { .object = OBJECT(OBJECT_PORT, 80), .direction = DIRECTION_ACCEPTED },
				 at_unix_socket = { .object = OBJECT(OBJECT_FILE, 80),
						    .direction = DIRECTION_ACCEPTED },
				 called = { .object = OBJECT(OBJECT_PORT, 80), .direction = DIRECTION_CONNECTED };
static struct own_cost reads;
static struct perfdiag__bss bss;
static struct perfdiag skeleton = { .bss = &bss };
static struct recorder recorder = { .skeleton = &skeleton };
static bool read_already;

/* The table of exchanges has one entry, the others have none. */
int bpf_map__fd(const struct bpf_map *map)
{
	read_already = false;
	return map ? 1 : 0;
}

bool map_next(struct map_walk *walk, void *key, void *value)
{
	if (!walk->fd || read_already)
		return false;
	read_already = true;
	memcpy(key, &accepted, sizeof(accepted));
	memcpy(value, &tally, sizeof(tally));
	return true;
}

int bpf_program__fd(const struct bpf_program *program)
{
	(void)program;
	return 1;
}

int bpf_prog_test_run_opts(int fd, struct bpf_test_run_opts *options)
{
	(void)fd;
	(void)options;
	return 0;
}

int libbpf_num_possible_cpus(void)
{
	return 1;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	(void)fd;
	(void)key;
	memcpy(value, &reads, sizeof(reads));
	return 0;
}

void probes_end_requests(struct recorder *unused)
{
	(void)unused;
}

static void answer(uint64_t count, uint64_t squares, uint64_t each_ns)
{
	struct exchange_sum *sum = &tally.sums[0];

	sum->count += count;
	sum->ns += count * each_ns;
	sum->squares += squares;
	sum->oldest_ns = each_ns;
	tally.latencies[MEASURE_WHOLE].buckets[5] += count;
	tally.latencies[MEASURE_WHOLE].max_ns = each_ns;
}

static struct exchange_tally told(const struct exchange_key *key)
{
	struct exchange_tally whole = tally;

	request_sample_scale(SAMPLED_EXCHANGES, key, &whole);
	return whole;
}

static void all_are_told_as_they_are_until_they_are_thinned(void)
{
	answer(1000, 0, 5);
	CHECK_NUMBER(told(&accepted).sums[0].count, 1000);
	CHECK_NUMBER(request_sample_error(told(&accepted).sums[0].squares), 0);
}

/* 64 connections of 10 requests each stand for 512, and 512 for each other 64: 64 * (8 * 8 - 8) * 100 is the variance. */
static void what_came_since_counts_for_those_left_out(void)
{
	skeleton.maps.exchanges = (void *)1;
	request_sample_thin(&recorder, 8);
	CHECK_NUMBER(bss.knobs.connection_mask, 7);
	CHECK_NUMBER(told(&accepted).sums[0].count, 1000);
	answer(640, 64 * 7 * 100, 7);
	CHECK_NUMBER(told(&accepted).sums[0].count, 1000 + 8 * 640);
	CHECK_NUMBER(told(&accepted).sums[0].ns, 1000 * 5 + 8 * 640 * 7);
	CHECK_NUMBER(told(&accepted).sums[0].oldest_ns, 7);
	CHECK_NUMBER(told(&accepted).latencies[MEASURE_WHOLE].buckets[5], 1000 + 8 * 640);
	CHECK_NUMBER(told(&accepted).latencies[MEASURE_WHOLE].max_ns, 7);
	CHECK_NUMBER(told(&accepted).sums[0].squares, 64 * 56 * 100);
	CHECK_NUMBER(request_sample_error(told(&accepted).sums[0].squares), 599 * 196 / 100);
}

static void thinner_still_counts_from_then_on(void)
{
	request_sample_thin(&recorder, 16);
	answer(100, 0, 7);
	CHECK_NUMBER(told(&accepted).sums[0].count, 1000 + 8 * 640 + 16 * 100);
}

/* By what was read, 5,000 requests more may have come on connections that are left out than those followed tell. */
static void what_was_read_on_others_widens_the_error(void)
{
	uint64_t since = 8 * 640 + 16 * 100, squares = told(&accepted).sums[0].squares;

	reads = (struct own_cost){ .reads = 2 * since, .reads_told = 2 * since };
	request_sample_sum_up(&recorder);
	CHECK_NUMBER(told(&accepted).sums[0].squares, squares);
	reads.reads += 10000;
	all.requests = 0;
	request_sample_sum_up(&recorder);
	CHECK_NUMBER(told(&accepted).sums[0].squares, 5000 * 5000);
	CHECK_NUMBER(told(&accepted).sums[0].count, 1000 + since);
	all.off = 0;
}

static void what_is_never_left_out_counts_once(void)
{
	CHECK_NUMBER(told(&at_unix_socket).sums[0].count, tally.sums[0].count);
	CHECK(told(&accepted).sums[0].count > tally.sums[0].count);
}

static void calls_are_all_followed(void)
{
	CHECK_NUMBER(told(&called).sums[0].count, tally.sums[0].count);
}

/* 300 connections are there, 140 of which would be followed at a half, 80 at a quarter, 30 at an eighth. */
static void sixty_four_connections_stay(void)
{
	static const __u32 now[] = { 160, 60, 50, 30 };

	one_of = 1;
	memcpy(bss.thinning.now, now, sizeof(now));
	CHECK_NUMBER(request_sample_most(&recorder, 0), 4);
	CHECK_NUMBER(request_sample_most(&recorder, 1024), 16); /* they are made anew all the time */
	bss.thinning.now[0] = bss.thinning.now[1] = 0;
	one_of = 4;
	CHECK_NUMBER(request_sample_most(&recorder, 0), 4);
}

static void roots_are_those_of_integers(void)
{
	for (uint64_t square = 0; square < 1000; square++)
		CHECK(root(square) * root(square) <= square && (root(square) + 1) * (root(square) + 1) > square);
	CHECK_NUMBER(root(1ULL << 62), 1L << 31);
}

int main(void)
{
	RUN(all_are_told_as_they_are_until_they_are_thinned);
	RUN(what_came_since_counts_for_those_left_out);
	RUN(thinner_still_counts_from_then_on);
	RUN(what_was_read_on_others_widens_the_error);
	RUN(what_is_never_left_out_counts_once);
	RUN(calls_are_all_followed);
	RUN(sixty_four_connections_stay);
	RUN(roots_are_those_of_integers);
	return check_result();
}
