// SPDX-License-Identifier: GPL-2.0-only
/* The first and the last line of a recording: what was recorded, where and how; what was lost and what it cost. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/privileges.h"
#include "recorder.h"
#include "window/budget.h"
#include "perfdiag.skel.h"

static uint64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

static void write_targets(struct recorder *recorder)
{
	const struct options *options = &recorder->options;
	struct json *json = &recorder->json;

	json_array(json, "targets");
	for (size_t i = 0; i < options->pid_count; i++) {
		_cleanup_fclose_ FILE *status = NULL;
		char path[64], line[256], comm[64] = "";
		int namespace_pid = options->pids[i];

		snprintf(path, sizeof(path), "/proc/%d/status", options->pids[i]);
		status = fopen(path, "re");
		while (status && fgets(line, sizeof(line), status)) {
			if (!strncmp(line, "Name:\t", 6))
				snprintf(comm, sizeof(comm), "%.*s", (int)strcspn(line + 6, "\n"), line + 6);
			if (!strncmp(line, "NSpid:", 6))
				namespace_pid = atoi(strrchr(line, '\t') + 1);
		}
		json_object(json, NULL);
		json_u64(json, "pid", options->pids[i]);
		json_u64(json, "namespace_pid", namespace_pid);
		json_text(json, "comm", comm);
		json_end(json);
	}
	json_end(json);
}

void header_add_host(struct json *json)
{
	struct utsname host;

	uname(&host);
	json_object(json, "host");
	json_text(json, "nodename", host.nodename);
	json_text(json, "release", host.release);
	json_text(json, "machine", host.machine);
	json_u64(json, "cpus_online", sysconf(_SC_NPROCESSORS_ONLN));
	json_u64(json, "page_size_bytes", sysconf(_SC_PAGESIZE));
	json_u64(json, "tick_ns", knobs_tick_ns());
	json_end(json);
}

static uint64_t cpu_ns(int who)
{
	struct rusage usage;

	if (getrusage(who, &usage))
		return 0;
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SECOND +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ULL;
}

static uint64_t used_cpu_ns(void)
{
	return cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN);
}

static uint64_t cpu_before_ns; /* to load and to attach: over when the window begins */

int header_write(struct recorder *recorder)
{
	const struct options *options = &recorder->options;
	struct json *json = &recorder->json;

	cpu_before_ns = used_cpu_ns();
	json_open(json, "header");
	json_u64(json, "schema", 1);
	json_text(json, "perfdiag", PERFDIAG_VERSION);
	json_text(json, "engine", "libbpf");
	json_u64(json, "realtime_ns", realtime_ns() - (now_ns() - recorder->start_ns));
	json_u64(json, "start_ns", recorder->start_ns);
	header_add_host(json);
	json_object(json, "options");
	json_u64(json, "duration_ns", options->duration_ns);
	json_u64(json, "interval_ns", options->interval_ns);
	json_bool(json, "descendants", !options->only);
	json_text(json, "stacks", options->stacks ? "all" : "sampled");
	if (options->host)
		json_bool(json, "host", true);
	if (options->no_request_names)
		json_bool(json, "no_request_names", true);
	if (options->no_apps)
		json_bool(json, "no_apps", true);
	if (options->has_max_cost)
		json_u64(json, "max_cost_ppm", options->max_cost_ppm);
	if (options->slo_ns)
		json_u64(json, "slo_ns", options->slo_ns);
	limits_write(json, options);
	if (*options->asked)
		json_bytes(json, "asked", options->asked, strlen(options->asked));
	json_end(json);
	write_targets(recorder);
	probes_write(recorder);
	privileges_write(json);
	return json_write(json, &recorder->output);
}

/* 0: the kernel does not tell. */
static uint64_t resident_bytes(void)
{
	_cleanup_fclose_ FILE *statm = fopen("/proc/self/statm", "re");
	unsigned long size, resident;

	if (!statm || fscanf(statm, "%lu %lu", &size, &resident) != 2)
		return 0;
	return resident * sysconf(_SC_PAGESIZE);
}

void footer_write(struct recorder *recorder)
{
#define COUNTER_NAME(id, name) name,
	static const char *const counters[COUNTER_COUNT] = { COUNTERS(COUNTER_NAME) };
	struct json *json = &recorder->json;
	uint64_t resident = resident_bytes();

	json_open(json, "footer");
	json_u64(json, "at_ns", recorder->end_ns);
	json_text(json, "reason", recorder->reason);
	json_u64(json, "lines", recorder->output.lines);
	json_u64(json, "threads_seen", recorder->threads_seen);
	if (recorder->options.host)
		json_u64(json, "threads_left_out", recorder->left_out);
	if (recorder->calls_watched_until_ns)
		json_u64(json, "calls_watched_until_ns", recorder->calls_watched_until_ns);
	json_object(json, "lost");
	for (int i = 0; i < COUNTER_COUNT; i++) {
		uint64_t lost;

		if (lost_count(recorder, i, &lost))
			continue; /* not known */
		/* What the kernel side counts is tried again here; what was given up in the end is lost. */
		if (i == COUNTER_SNAPSHOTS_TORN)
			lost = recorder->rows_lost;
		if (i == COUNTER_EXITED_FOLDED_FULL)
			lost += recorder->folds_lost;
		json_u64(json, counters[i], lost);
	}
	json_u64(json, "programs_skipped", skipped_runs(recorder, false));
	json_u64(json, "calls_skipped", skipped_runs(recorder, true));
	json_u64(json, "details", recorder->details_lost);
	json_u64(json, "stacks", recorder->stacks_lost);
	json_u64(json, "events", recorder->events_lost);
	json_u64(json, "output_lines", recorder->output.lines_lost);
	json_end(json);
	json_object(json, "cost");
	json_u64(json, "cpu_ns", used_cpu_ns() - cpu_before_ns);
	if (resident)
		json_u64(json, "resident_bytes", resident);
	budget_write(recorder);
	cost_write(recorder);
	json_end(json);
	json_write(json, &recorder->output);
}
