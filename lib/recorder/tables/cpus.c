// SPDX-License-Identifier: GPL-2.0-only
/*
 * What each CPU did for the target, at which clock, and how it slept: read when the window begins and when it ends.  It
 * lies in the memory of the kernel, so that no CPU is asked, or woken, for it.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "recorder.h"
#include "perfdiag.skel.h"

static struct cpu_sum *at_start, *at_end; /* by CPU; NULL: could not be read */

/* How it slept in the window: less what it had before, also of the period it was in when the window began. */
static void leave_out(struct cpu_sum *sum, const struct cpu_sum *before, uint64_t start_ns)
{
	__u32 state = before->idle_state - 1;
	uint64_t early = 0;

	for (int i = 0; i < IDLE_STATES; i++) {
		sum->idle[i].count -= before->idle[i].count;
		sum->idle[i].ns -= before->idle[i].ns;
	}
	if (!before->idle_entered || sum->idle_entered == before->idle_entered || state >= IDLE_STATES)
		return;
	if (start_ns > before->idle_entered)
		early = start_ns - before->idle_entered;
	sum->idle[state].ns -= early < sum->idle[state].ns ? early : sum->idle[state].ns;
}

static void write_idle(struct json *json, const struct cpu_sum *sum)
{
	json_array(json, "idle");
	for (int state = 0; state < IDLE_STATES; state++) {
		if (!sum->idle[state].count)
			continue;
		json_array(json, NULL);
		json_u64(json, NULL, state);
		json_u64(json, NULL, sum->idle[state].count);
		json_u64(json, NULL, sum->idle[state].ns);
		json_end(json);
	}
	json_end(json);
}

static void write_cpu(struct recorder *recorder, int number, struct cpu_sum *sum)
{
	struct json *json = &recorder->json;
	uint64_t ran_ns = ran_until(sum, recorder->end_ns);

	if (!ran_ns)
		return;
	count_clock(sum, ran_ns);
	json_open(json, "cpu");
	json_u64(json, "cpu", number);
	json_u64(json, "ran_ns", ran_ns);
	json_u64(json, "clock_ns", sum->clock_ns);
	json_u64(json, "clock_cycles", sum->clock_cycles);
	json_u64(json, "clock_changes", sum->clock_changes);
	write_idle(json, sum);
	if (sum->clock_ticks) {
		json_u64(json, "clock_ticks", sum->clock_ticks);
		json_u64(json, "delivered_cycles", sum->delivered_cycles);
		json_u64(json, "rated_cycles", sum->rated_cycles);
	}
	json_write(json, &recorder->output);
}

static struct cpu_sum *take(struct recorder *recorder)
{
	const struct bpf_map *map = recorder->skeleton->maps.cpus;
	/* as the kernel puts the values of the CPUs side by side */
	size_t size = (bpf_map__value_size(map) + 7) / 8 * 8;
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ char *values = cpus > 0 ? calloc(cpus, size) : NULL;
	struct cpu_sum *sums;
	__u32 zero = 0;

	if (!values || bpf_map_lookup_elem(bpf_map__fd(map), &zero, values))
		return NULL;
	sums = calloc(cpus, sizeof(*sums));
	for (int cpu = 0; sums && cpu < cpus; cpu++)
		memcpy(&sums[cpu], values + cpu * size, sizeof(*sums));
	return sums;
}

void cpus_begin(struct recorder *recorder)
{
	at_start = take(recorder);
}

void cpus_end(struct recorder *recorder)
{
	at_end = take(recorder);
}

void cpus_write(struct recorder *recorder)
{
	int cpus = libbpf_num_possible_cpus();

	for (int cpu = 0; at_start && at_end && cpu < cpus; cpu++) {
		leave_out(&at_end[cpu], &at_start[cpu], recorder->start_ns);
		write_cpu(recorder, cpu, &at_end[cpu]);
	}
	free(at_start);
	free(at_end);
	at_start = at_end = NULL;
}
