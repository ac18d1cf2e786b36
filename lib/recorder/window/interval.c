// SPDX-License-Identifier: GPL-2.0-only
/* Each interval: a snapshot; now and then rows of threads, host facts, names for stacks.  All paced by its cost. */
#define _GNU_SOURCE
#include <time.h>
#include "facts/facts.h"
#include "window/budget.h"
#include "window/interval.h"
#include "perfdiag.skel.h"

#define THREAD_ROWS_NS (10 * NS_PER_SECOND)
#define ROW_BYTES_PER_SECOND 16384 /* 59 MB an hour, however many threads there are */
#define SERIES_NS (5 * NS_PER_SECOND)
#define SNAPSHOT_SHARE 200		    /* snapshots take at most one part in so many of a CPU, */
#define LONGEST_NS (5 * NS_PER_SECOND)	    /* but come at least so often */
#define SWEEP_PAUSE_NS (NS_PER_SECOND / 10) /* a sweep goes over all threads of the host: not for each that joins */
#define NAMES_SHARE 50			    /* naming addresses takes at most one part in so many of the time */

static uint64_t own_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void interval_begin(struct recorder *recorder)
{
	recorder->next_rows_ns = recorder->start_ns + THREAD_ROWS_NS;
	recorder->next_series_ns = recorder->start_ns + SERIES_NS;
	budget_begin(recorder);
}

static int take_rows(struct recorder *recorder, uint64_t begin)
{
	bool thread_rows = begin >= recorder->next_rows_ns && !recorder->options.host;
	int err;

	recorder->row_bytes = 0;
	err = rows_interval(recorder, thread_rows, false);
	if (!err && thread_rows)
		recorder->next_rows_ns =
			begin + larger(recorder->row_bytes * NS_PER_SECOND / ROW_BYTES_PER_SECOND, THREAD_ROWS_NS);
	return err;
}

/* A short-lived process takes its names with it: asked soon, then less and less often. */
static void take_names(struct recorder *recorder, uint64_t begin)
{
	uint64_t took;

	if (begin < recorder->next_names_ns)
		return;
	stacks_name(recorder, NAMES_DEADLINE_MS / 2, false);
	took = now_ns() - begin;
	recorder->next_names_ns =
		begin + larger(larger(NS_PER_SECOND / 2, (begin - recorder->start_ns) / 4), took * NAMES_SHARE);
}

/*
 * No thread of the target ran since the last interval: a timer would wake an idle CPU to find the same again.  The
 * kernel side is asked to tell when one runs (it takes the mark away then), and if it has not done so by the next
 * interval, there is none until then, but for the host's counters where a wait is for more than work.
 */
static bool goes_to_sleep(struct recorder *recorder, uint64_t switches)
{
	__u32 *dormant = &recorder->skeleton->bss->dormant;
	bool told = __atomic_load_n(dormant, __ATOMIC_RELAXED), quiet;

	quiet = switches == recorder->switches && !recorder->running && !cost_is_sampled();
	__atomic_store_n(dormant, quiet, __ATOMIC_RELAXED);
	return quiet && told;
}

/* A thread of the target runs again. */
uint64_t interval_awake(struct recorder *recorder, uint64_t next)
{
	uint64_t soon = now_ns() + recorder->options.interval_ns;

	recorder->awake = false;
	return next < soon ? next : soon;
}

uint64_t interval_sweep_due(const struct recorder *recorder)
{
	bool wanted = __atomic_load_n(&recorder->skeleton->bss->sweep_wanted, __ATOMIC_RELAXED);

	return wanted ? recorder->next_sweep_ns : UINT64_MAX;
}

int interval_sweep(struct recorder *recorder)
{
	int err;

	/* Taken away before: who comes meanwhile is met by the next one. */
	__atomic_store_n(&recorder->skeleton->bss->sweep_wanted, 0, __ATOMIC_SEQ_CST);
	err = probes_sweep(recorder);
	recorder->next_sweep_ns = now_ns() + SWEEP_PAUSE_NS;
	return err;
}

int interval_take(struct recorder *recorder, uint64_t *next)
{
	uint64_t begin = now_ns(), cpu_begin = own_cpu_ns(), interval = recorder->options.interval_ns, cost;
	uint64_t switches = recorder->switches;
	int err = take_rows(recorder, begin);

	if (err)
		return err;
	cost = own_cpu_ns() - cpu_begin;
	if (begin >= recorder->next_series_ns) {
		recorder->next_series_ns = begin + SERIES_NS;
		facts_write(&recorder->output, "series", recorder->described, recorder->described_count,
			    FACTS_DEADLINE_MS, events_pass);
	}
	take_names(recorder, now_ns());
	cost_next(recorder);
	budget_look(recorder);
	knobs_pace_stacks(recorder);
	if (begin - recorder->start_ns > 60 * NS_PER_SECOND)
		interval = larger(interval, NS_PER_SECOND);
	if (interval < cost * SNAPSHOT_SHARE)
		interval = cost * SNAPSHOT_SHARE < LONGEST_NS ? cost * SNAPSHOT_SHARE : LONGEST_NS;
	*next = begin + interval;
	if (goes_to_sleep(recorder, switches))
		*next = recorder->waiting ? larger(*next, recorder->next_series_ns) : UINT64_MAX;
	return output_flush(&recorder->output);
}
