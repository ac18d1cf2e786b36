// SPDX-License-Identifier: GPL-2.0-only
/* perfdiag-recorder: signals, memory, where the recording goes, exit status.  The only part that has privileges. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "rows/host_mode.h"
#include "base/privileges.h"
#include "program/probes.h"
#include "facts/facts.h"
#include "recorder.h"
#include "base/set_user_id.h"
#include "base/standard_descriptors.h"

#define EXIT_TARGET_GONE 4
#define MORE_DESCRIPTORS 128 /* besides those of programs: maps, files, pipes of helpers */

/* A sink that failed on the way: the recording in it is cut off, the other one may be whole. */
static int explain_sinks(const struct output *output)
{
	int err = 0;

	for (int i = 0; i < OUTPUT_SINKS; i++) {
		const struct sink *sink = &output->sinks[i];

		if (!sink->error)
			continue;
		fprintf(stderr, "error: %s is cut off: ", sink->name);
		if (sink->error == -ETIMEDOUT)
			fprintf(stderr, "nobody took it for %d s\n", OUTPUT_STALL_MS / 1000);
		else if (sink->error == -EPIPE)
			fprintf(stderr, "its reader has gone\n");
		else
			fprintf(stderr, "%s\n", strerror(-sink->error));
		err = sink->error;
	}
	return err;
}

static int exit_status(int err)
{
	switch (err) {
	case 0: return EXIT_SUCCESS;
	case -EPERM:
	case -EACCES: return EXIT_NOT_PERMITTED;
	case -ESRCH: return EXIT_TARGET_GONE;
	}
	return EXIT_FAILURE;
}

/*
 * Asked beforehand, because libbpf, when it runs out of descriptors, says of half of what fails that the kernel cannot
 * do it; and a program that cannot be attached costs its feature, not the recording.
 */
static int raise_descriptors(void)
{
	size_t needed = 2 * probes_count() + MORE_DESCRIPTORS; /* a program and its link */
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_max < needed) {
		fprintf(stderr,
			"error: the recorder needs %zu open files, and its limit is %llu\n"
			"HINT: raise the limit of open files: ulimit -n 1024\n",
			needed, (unsigned long long)limit.rlim_max);
		return -EMFILE;
	}
	return setrlimit(RLIMIT_NOFILE, &limit) ? -errno : 0;
}

/*
 * On a host without memory a page fault of ours may never end.  As pages come, so that it stays small.  Not up to a
 * limit: at that, no more memory would be had at all.  Returns what keeps it from that, or NULL.
 */
static const char *lock_memory(void)
{
	struct rlimit limit;

	if (!privileges_has(CAPABILITY(IPC_LOCK)) &&
	    (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur != RLIM_INFINITY))
		return "CAP_IPC_LOCK is missing";
	return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) ? strerror(errno) : NULL;
}

/* Where there is a caller, what to follow comes from it. */
static int wait_start(struct recorder *recorder, int signals)
{
	int err = 0;

	if (recorder->options.control_fd >= 0) {
		control_say(recorder->options.control_fd, "loaded\n");
		err = control_wait_start(&recorder->options, &recorder->output, signals);
	}
	if (recorder->options.no_apps)
		facts_leave_out_applications();
	return err;
}

static int run(struct recorder *recorder)
{
	_cleanup_close_ int signals = -1;
	const char *unlocked;
	sigset_t set;
	int err = 0;

	/* Until the window begins there is nothing to finish when the parent has gone. */
	if (recorder->options.control_fd >= 0 && prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP); /* a terminal that hangs up tells all its processes */
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGXFSZ, SIG_IGN); /* then a file at its limit is an error of its sink */
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (signals < 0)
		return -errno;
	err = script_is_asked(&recorder->options) ? 0 : raise_descriptors();
	if (err)
		return err;
	privileges_begin();
	if (script_is_asked(&recorder->options))
		return wait_start(recorder, signals) ?: script_record(recorder, signals);
	unlocked = lock_memory();
	err = probes_load(recorder);
	if (recorder->declined && script_may_replace(&recorder->options))
		return wait_start(recorder, signals) ?: script_record(recorder, signals);
	err = err ?: privileges_loaded();
	if (err)
		return err;
	if (unlocked)
		fprintf(stderr, "warning: memory is not locked (%s): where it is short, the recorder may stall\n",
			unlocked);
	if (recorder->options.check) {
		err = probes_attach(recorder);
		if (!err)
			err = probes_sweep(recorder);
		return err ? err : header_write(recorder);
	}
	return wait_start(recorder, signals) ?: window_record(recorder, signals);
}

/* --help and --version */
static int explain_printed(void)
{
	if (!fflush(stdout))
		return EXIT_SUCCESS;
	fprintf(stderr, "error: standard output: %s\n", strerror(errno));
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static struct recorder recorder;
	int sink_err, err;

	if (is_set_user_id()) {
		explain_set_user_id("perfdiag-recorder");
		return EXIT_NOT_PERMITTED;
	}
	if (is_closed(STDOUT_FILENO)) {
		explain_closed_output();
		return EXIT_FAILURE;
	}
	err = open_standard_descriptors();
	if (err)
		return EXIT_FAILURE; /* with nowhere to say it */
	err = options_parse(&recorder, argc, argv);
	if (err > 0)
		return explain_printed();
	if (err)
		return 2;
	if (recorder.options.control_fd < 0 ||
	    is_writable(STDOUT_FILENO)) /* not where the recording is for a file alone */
		err = output_add(&recorder.output, dup(STDOUT_FILENO), "standard output");
	if (!err)
		err = run(&recorder);
	if (err)
		lack_say(&recorder.lack);
	sink_err = output_close(&recorder.output);
	sink_err = explain_sinks(&recorder.output) ?: sink_err;
	if (err)
		control_say(recorder.options.control_fd, "error %d %s\n", -err, strerror(-err));
	else
		control_say(recorder.options.control_fd, "done %s\n", recorder.reason ? recorder.reason : "");
	events_close();
	stacks_free(&recorder);
	host_free(&recorder);
	probes_detach(&recorder);
	kernel_symbols_free(recorder.symbols);
	json_free(&recorder.json);
	return exit_status(err ?: sink_err);
}
