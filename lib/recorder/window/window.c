// SPDX-License-Identifier: GPL-2.0-only
/* The window: from the first program attached to the last line written. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "apps/apps.h"
#include "apps/process_tree.h"
#include "base/cleanup.h"
#include "facts/facts.h"
#include "rows/host_mode.h"
#include "window/budget.h"
#include "window/interval.h"
#include "base/privileges.h"
#include "base/process_files.h"
#include "recorder.h"
#include "symbols/remembered_maps.h"
#include "rows/sleepers.h"
#include "tables/request_sample.h"
#include "perfdiag.skel.h"

#define HOST_PID_NAMESPACE 0xEFFFFFFC /* PROC_PID_INIT_INO of linux/proc_ns.h */

static int set_targets(struct recorder *recorder)
{
	const struct options *options = &recorder->options;

	for (size_t i = 0; i < options->pid_count; i++) {
		__u32 pid = options->pids[i], mode = options->on_exec[i] ? TARGET_ON_EXEC : TARGET_ALL;
		int err = bpf_map__update_elem(recorder->skeleton->maps.targets, &pid, sizeof(pid), &mode, sizeof(mode),
					       BPF_ANY);

		if (err) {
			fprintf(stderr, "error: cannot follow pid %u: %s\n", pid, strerror(-err));
			return err;
		}
	}
	return 0;
}

/* At once, if that time has passed. */
static int arm(int timer, uint64_t at_ns)
{
	struct itimerspec spec = { .it_value = { .tv_sec = at_ns / NS_PER_SECOND, .tv_nsec = at_ns % NS_PER_SECOND } };

	if (!at_ns)
		spec.it_value.tv_nsec = 1; /* 0 would be never */

	return timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL) ? -errno : 0;
}

static bool has_on_exec(const struct options *options)
{
	for (size_t i = 0; i < options->pid_count; i++)
		if (options->on_exec[i])
			return true;
	return false;
}

/* A process that is to exec can end before it does. */
static bool any_alive(const struct options *options)
{
	for (size_t i = 0; i < options->pid_count; i++)
		if (process_alive(options->pids[i]))
			return true;
	return false;
}

/* A command that was started to be followed ends as it should; whoever sees that first, it is no target lost. */
static const char *reason_to_end(const struct options *options, const char *reason)
{
	for (size_t i = 0; i < options->pid_count; i++)
		if (!options->on_exec[i])
			return reason;
	if (options->host)
		return reason;
	return any_alive(options) && !strcmp(reason, "signal") ? reason : "command ended";
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int loop(struct recorder *recorder, int signals)
{
	const struct options *options = &recorder->options;
	_cleanup_close_ int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t end = options->duration_ns ? recorder->start_ns + options->duration_ns : UINT64_MAX;
	uint64_t next = recorder->start_ns + options->interval_ns, expirations;
	struct pollfd fds[] = { { .fd = recorder->ring_fd, .events = POLLIN },
				{ .fd = timer, .events = POLLIN },
				{ .fd = signals, .events = POLLIN },
				{ .fd = options->control_fd, .events = POLLIN } };
	struct perfdiag__bss *bss = recorder->skeleton->bss;
	int err = 0;

	while (!err && !recorder->reason) {
		if (recorder->awake) /* that came now, or while the host's facts were read */
			next = interval_awake(recorder, next);
		err = arm(timer, sooner(sooner(next, end), interval_sweep_due(recorder)));
		if (err || (poll(fds, sizeof(fds) / sizeof(*fds), -1) < 0 && errno != EINTR))
			return err ? err : -errno;
		err = events_consume();
		if (!err && now_ns() >= interval_sweep_due(recorder))
			err = interval_sweep(recorder);
		if (fds[1].revents && read(timer, &expirations, sizeof(expirations)) > 0 && !err) {
			if (now_ns() >= end)
				recorder->reason = "duration";
			else if (now_ns() >= next)
				err = interval_take(recorder, &next);
		}
		if (fds[2].revents || (fds[3].revents && control_read(options->control_fd)))
			recorder->reason = reason_to_end(options, "signal");
		if (err == -EPIPE) {
			recorder->reason = "output closed";
			err = 0;
		}
		/* Records were made and none is left, or none ever will be.  (Into a group others can come.) */
		if (!recorder->reason && !options->group.id && !options->host &&
		    !*(volatile __u32 *)&bss->live_threads &&
		    (*(volatile __u64 *)&bss->last_serial || !any_alive(options)))
			recorder->reason = reason_to_end(options, "targets gone");
	}
	return err;
}

/* The kernel's programs know other numbers than we do. */
static bool in_own_pid_namespace(void)
{
	struct stat namespace;

	return !stat("/proc/self/ns/pid", &namespace) && namespace.st_ino != HOST_PID_NAMESPACE;
}

/* A kernel thread has no address space: /proc/PID/statm reads as zeroes. */
static int explain_no_thread(pid_t pid)
{
	_cleanup_fclose_ FILE *statm = NULL;
	unsigned long pages;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	statm = fopen(path, "re");
	if (statm && fscanf(statm, "%lu", &pages) == 1 && !pages) {
		fprintf(stderr,
			"error: pid %d is a kernel thread (or already dead): it has no time of its own to give back\n",
			pid);
		return -EINVAL;
	}
	if (in_own_pid_namespace()) {
		fprintf(stderr,
			"error: the recorder runs in its own pid namespace, where the kernel's pids are unknown\n"
			"HINT: start it on the host, or start the container with --pid=host\n");
		return -EINVAL;
	}
	if (process_alive(pid)) {
		fprintf(stderr,
			"error: pid %d lives, but the kernel showed none of its threads\n"
			"HINT: start it again; if that does not help, perfdiag check says what this kernel lacks\n",
			pid);
		return -EAGAIN;
	}
	fprintf(stderr, "error: no thread of pid %d is there any more\n", pid);
	return -ESRCH;
}

/*
 * Are more threads followed than the processes asked for have?  If not, no descendant lives, and none of the threads has to
 * be asked for its children.
 */
static bool has_descendants(const struct recorder *recorder)
{
	const struct options *options = &recorder->options;
	long threads = 0;

	for (size_t i = 0; i < options->pid_count; i++) {
		_cleanup_close_ int process = process_open(options->pids[i]);

		threads += process < 0 ? 0 : process_threads(process);
	}
	return recorder->skeleton->bss->live_threads > threads;
}

/* Host facts are of those asked for, and of some descendants: of those that lived at the begin, as long as they do. */
static void describe(struct recorder *recorder)
{
	const struct options *options = &recorder->options;
	size_t count = options->pid_count;

	memcpy(recorder->described, options->pids, count * sizeof(*options->pids));
	for (size_t i = count; i < recorder->described_count; i++)
		if (process_alive(recorder->described[i]))
			recorder->described[count++] = recorder->described[i];
	if (has_descendants(recorder))
		count = processes_add_descendants(options, recorder->described, count,
						  options->pid_count + DESCENDANTS_DESCRIBED);
	recorder->described_count = count;
}

static void look_at_competitors(const struct recorder *recorder)
{
	pid_t pids[COMPETITORS];

	for (size_t i = 0; i < recorder->competitor_count; i++)
		pids[i] = recorder->competitors[i].pid;
	facts_look_at_competitors(pids, recorder->competitor_count);
}

int window_record(struct recorder *recorder, int signals)
{
	const struct options *options = &recorder->options;
	int err = set_targets(recorder);

	knobs_seed(recorder);
	if (!err)
		err = limits_fill(recorder);
	if (!err) {
		apps_begin(recorder);
		err = probes_attach(recorder);
	}
	if (!err)
		err = events_open(recorder);
	if (!err) {
		cost_begin();
		err = privileges_attached();
	}
	recorder->start_ns = now_ns();
	if (!err) {
		requests_begin(recorder);
		cpus_begin(recorder);
	}
	if (!err)
		err = probes_sweep(recorder);
	if (err)
		return err;
	recorder->skeleton->bss->knobs.swept = 1;
	if (!recorder->skeleton->bss->live_threads && !has_on_exec(options) && !options->host)
		return explain_no_thread(options->pids[0]);
	interval_begin(recorder);
	err = header_write(recorder);
	if (err)
		return err;
	fprintf(stderr, "perfdiag-recorder: attached, following %u threads\n", recorder->skeleton->bss->live_threads);
	err = control_attached(options->control_fd);
	if (err)
		return err;
	if (!options->host)
		facts_look_also_at(remembered_maps_pid); /* descendants, as soon as a stack of theirs was seen */
	describe(recorder);
	facts_write(&recorder->output, "begin", recorder->described, recorder->described_count, options->patience_ms,
		    events_pass);
	calibration_write(recorder);
	err = loop(recorder, signals);
	if (err)
		return err;
	cost_end(recorder);
	err = interval_sweep_due(recorder) == UINT64_MAX ? 0 : interval_sweep(recorder);
	because_end(recorder);
	err = rows_interval(recorder, true, true) ?: err;
	if (err) {
		fprintf(stderr, "warning: the last snapshot failed: %s\n", strerror(-err));
		recorder->rows_lost++;
	}
	events_consume();
	budget_end(recorder);
	err = request_sample_one_of() > 1 ? -ENOENT : left_unread_take(recorder); /* those left out look unused */
	if (err && err != -ENOENT)
		fprintf(stderr, "warning: requests that nobody has read are not counted: %s\n", strerror(-err));
	requests_end(recorder);
	recorder->end_ns = now_ns(); /* here, because no row may be later than the end of the window */
	cpus_end(recorder);
	if (options->host)
		host_choose(recorder);
	folded_write(recorder);
	rows_end(recorder);
	if (options->host) {
		recorder->described_count = host_busiest(recorder, recorder->described);
		host_write(recorder);
	} else {
		describe(recorder);
		look_at_competitors(recorder);
	}
	facts_write(&recorder->output, "end", recorder->described, recorder->described_count, options->patience_ms,
		    NULL);
	calibration_write(recorder);
	sleepers_take(recorder, SLEEPERS_DEADLINE_MS);
	stacks_name(recorder, NAMES_DEADLINE_MS, true);
	stacks_write(recorder);
	stacks_free(recorder); /* ends the helper that names them, whose CPU time belongs into the footer */
	because_write(recorder);
	peer_waits_write(recorder);
	failed_calls_write(recorder);
	apps_write(recorder);
	tables_write(recorder);
	footer_write(recorder);
	if (output_flush(&recorder->output))
		recorder->reason = "output closed"; /* no sink took it all: each says why */
	return 0;
}
