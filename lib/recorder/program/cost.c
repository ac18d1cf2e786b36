// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the BPF programs cost: the kernel's own statistics, switched on for a short part of the window, since they
 * cost themselves and switching them patches code on every CPU; and the runs the kernel skipped.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "program/probes.h"
#include "perfdiag.skel.h"

static int statistics_fd = -1;
static uint64_t statistics_begin_ns, statistics_ns;

/* What the kernel does not tell stays zeroes, as nothing it tells can be: programs are numbered from 1. */
static void read_statistics(struct recorder *recorder, bool after)
{
	for (size_t i = 0; i < probes_count(); i++) {
		struct probe_state *state = &recorder->probes[i];
		struct bpf_prog_info *info = after ? &state->after : &state->before;
		__u32 size = sizeof(*info);

		if (probe_is_on(state) && bpf_obj_get_info_by_fd(bpf_program__fd(state->program), info, &size))
			memset(info, 0, sizeof(*info));
	}
}

/* Switching the statistics patches code on every CPU: twice in a recording, never in each interval. */
void cost_begin(void)
{
	statistics_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
}

bool cost_is_sampled(void)
{
	return statistics_fd >= 0;
}

void cost_end(struct recorder *recorder)
{
	if (statistics_fd < 0)
		return;
	if (statistics_begin_ns) {
		read_statistics(recorder, true);
		statistics_ns = now_ns() - statistics_begin_ns;
	}
	close(statistics_fd);
	statistics_fd = -1;
}

/* Called each interval: the programs are measured in the second one. */
void cost_next(struct recorder *recorder)
{
	if (statistics_fd < 0 || statistics_begin_ns) {
		cost_end(recorder);
	} else {
		statistics_begin_ns = now_ns();
		read_statistics(recorder, false);
	}
}

/* Scaled from the sampled part of the window to all of it.  A program that was not measured has no numbers. */
void cost_write(struct recorder *recorder)
{
	struct json *json = &recorder->json;
	double scale = statistics_ns ? (double)(recorder->end_ns - recorder->start_ns) / statistics_ns : 0;

	json_array(json, "programs");
	for (size_t i = 0; i < probes_count() && statistics_ns; i++) {
		struct probe_state *state = &recorder->probes[i];

		if (!probe_is_on(state) || probe_is_iterator(state))
			continue;
		json_object(json, NULL);
		json_text(json, "name", state->probe->name);
		if (state->before.id && state->after.id) {
			json_u64(json, "runs", scale * (state->after.run_cnt - state->before.run_cnt));
			json_u64(json, "ns", scale * (state->after.run_time_ns - state->before.run_time_ns));
		}
		json_end(json);
	}
	json_end(json);
}

int lost_count(struct recorder *recorder, unsigned int counter, uint64_t *ret)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ __u64 *values = calloc(cpus > 0 ? cpus : 1, sizeof(*values));

	if (!values || bpf_map_lookup_elem(bpf_map__fd(recorder->skeleton->maps.counters), &counter, values))
		return -errno;
	*ret = 0;
	for (int i = 0; i < cpus; i++)
		*ret += values[i];
	return 0;
}

/* Some thread has no time, or a call no end; that a failed call was not seen takes nothing from the books. */
uint64_t skipped_runs(struct recorder *recorder, bool of_operations)
{
	uint64_t misses = 0;

	for (size_t i = 0; i < probes_count(); i++) {
		struct probe_state *state = &recorder->probes[i];
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);

		if (!probe_is_on(state) || state->program == recorder->skeleton->progs.failed_call ||
		    of_operations != !strcmp(state->probe->feature, "operations") ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(state->program), &info, &size))
			continue;
		if (secure_getenv("PERFDIAG_DEBUG") && info.recursion_misses)
			fprintf(stderr, "%s was skipped %llu times\n", state->probe->name, info.recursion_misses);
		misses += info.recursion_misses;
	}
	return misses;
}
