// SPDX-License-Identifier: GPL-2.0-only
/* What the programs are told by user space: options, clocks, and how many stacks to take. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include "program/probes.h"
#include "perfdiag.skel.h"

#define TICK_NS 4000000ULL	    /* as most distributions have it */
#define HOST_CPU_SAMPLES 1000	    /* a second, at most, of all CPUs of a host */
#define STACK_PERIOD_NS 20000000ULL /* a thread that always waits gives 50 stacks a second, then they thin out */

/*
 * This clock advances once a tick.  Not from the kernel's configuration: where that cannot be read (no /boot in a
 * container, no /proc/config.gz), libbpf loads nothing at all that asks for it.
 */
uint64_t knobs_tick_ns(void)
{
	struct timespec tick;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) || tick.tv_sec || !tick.tv_nsec)
		return TICK_NS;
	return tick.tv_nsec;
}

void knobs_seed(struct recorder *recorder)
{
	__u64 *seed = &recorder->skeleton->bss->knobs.seed;

	if (getrandom(seed, sizeof(*seed), GRND_NONBLOCK) < 0)
		*seed = now_ns(); /* just booted: better than nothing */
}

void knobs_fill(struct recorder *recorder)
{
	struct knobs *knobs = &recorder->skeleton->bss->knobs;
	const struct options *options = &recorder->options;
	uint64_t start, end;

	knobs->descendants = !options->only;
	knobs->group = options->group;
	knobs->all_stacks = options->stacks;
	knobs->slo_ns = options->slo_ns;
	knobs->own_limits = options->limit_count != 0;
	knobs->statement_limits = limits_of_statements(options);
	knobs->no_names = options->no_request_names;
	knobs->sees_sql = !options->no_request_names && !options->no_apps;
	knobs->operations = options->slo_ns || limits_of_calls(options);
	knobs->stack_period_ns = STACK_PERIOD_NS;
	knobs->tick_stride = recorder->stacks_one_of = 1;
	knobs->tick_ns = knobs_tick_ns();
	knobs->left_out[0] = getpid();
	knobs->left_out[1] = options->control_fd >= 0 ? getppid() : 0;
	if (options->host) {
		knobs->host = 1;
		knobs->tick_stride =
			1 + NS_PER_SECOND / knobs->tick_ns * sysconf(_SC_NPROCESSORS_ONLN) / HOST_CPU_SAMPLES;
	}
	if (!recorder->symbols)
		return;
	markers_fill_restarted(recorder->symbols, knobs->restarted);
	memcpy(knobs->markers, recorder->markers, sizeof(knobs->markers));
	knobs->marker_count = recorder->marker_count;
	/*
	 * ffb7e01c4e65 ("tick/nohz: Remove ... tick_sched_timer") renamed it in v6.8.  Kernels before it have the other
	 * name, too, for another function: that of ticks without an hrtimer.
	 */
	if (!kernel_symbols_range(recorder->symbols, "tick_sched_timer", &start, &end) ||
	    !kernel_symbols_range(recorder->symbols, "tick_nohz_handler", &start, &end))
		knobs->tick_function = start;
}

/* Many threads share one budget: about 800 stacks a second while all of them wait. */
void knobs_pace_stacks(struct recorder *recorder)
{
	uint64_t period_ns = STACK_PERIOD_NS * (1 + recorder->living / 16) * recorder->stacks_one_of;

	recorder->skeleton->bss->knobs.stack_period_ns = period_ns ?: INT64_MAX;
}

/* Each that is taken stands for so many more. */
void knobs_thin_stacks(struct recorder *recorder, uint32_t one_of)
{
	struct knobs *knobs = &recorder->skeleton->bss->knobs;

	if (!recorder->stacks_one_of) /* none is taken any more */
		return;
	knobs->all_stacks = 0;
	knobs->tick_stride = one_of ? knobs->tick_stride / recorder->stacks_one_of * one_of : UINT32_MAX;
	recorder->stacks_one_of = one_of;
	knobs_pace_stacks(recorder);
}
