// SPDX-License-Identifier: GPL-2.0-only
/*
 * A script records, and what it prints is passed on as the recording: for kernels that cannot take the own programs.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "script/engine.h"
#include "base/monotonic.h"
#include "base/oom_kills.h"
#include "base/privileges.h"
#include "script/script.h"

#define START_MS 30000 /* to compile and to attach takes seconds; then it is killed */
#define LAST_MS 60000  /* to detach and to print takes seconds, on a host in trouble 30; then it is killed */
#define LOOK_MS 1000   /* once told, it is looked at so often */
#define ANY "auto"     /* the own programs, or the first of the engines that can */

enum { OUTPUT, SIGNAL, CONTROL, TARGET, TIMER, EVENTS };

bool script_is_asked(const struct options *options)
{
	return options->script || (options->engine && strcmp(options->engine, ANY));
}

bool script_may_replace(const struct options *options)
{
	return options->engine && !strcmp(options->engine, ANY) && !options->check;
}

/* recorder->lack: of the own programs. */
static int check_orders(struct recorder *recorder)
{
	const struct options *options = &recorder->options;
	const char *what = options->host || options->group.id	     ? "all processes of a group or host"
			   : options->pid_count != 1		     ? "more than one process"
			   : options->on_exec[0]		     ? "a COMMAND"
			   : options->slo_ns || options->limit_count ? "--slo"
			   : options->stacks			     ? "--stacks"
								     : NULL;
	char why[sizeof(recorder->lack.why)];

	if (!what)
		return 0;
	if (script_is_asked(options))
		return lack_of(&recorder->lack, -EDOM, "give --pid of one process, and none of --slo and --stacks",
			       "--engine %s records one process, not %s", options->engine ?: "of a script", what);
	memcpy(why, recorder->lack.why, sizeof(why));
	return lack_of(&recorder->lack, -EDOM,
		       "--pid of one process without --slo and --stacks lets a script record, which sees less",
		       "%s needs perfdiag's own programs: %.300s", what, why);
}

/* 0, or what keeps the script from being started, as -errno and in `lack`. */
static int start(struct script *script, struct recorder *recorder, const char *path)
{
	_cleanup_close_ int messages = memfd_create("messages", MFD_CLOEXEC);
	_cleanup_free_ char *real = NULL;
	pid_t target = recorder->options.pids[0];
	int err = engine_check(script->engine, path, &real, &recorder->lack);

	if (err)
		return err;
	script->target = syscall(SYS_pidfd_open, target, 0);
	script->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (messages < 0 || script->target < 0 || script->timer < 0)
		return -errno;
	err = engine_start(script->engine, real, target, messages, &script->pid, &script->output);
	if (err)
		return err;
	script->messages = fdopen(messages, "r");
	if (!script->messages)
		return -errno;
	take_fd(messages);
	return 0;
}

/* Why the window ends; NULL: it goes on. */
static const char *ended_by(const struct pollfd *events, const struct options *options)
{
	if (events[SIGNAL].revents || (events[CONTROL].revents && control_read(options->control_fd)))
		return "signal";
	if (events[TIMER].revents)
		return "duration";
	return events[TARGET].revents ? "targets gone" : NULL;
}

/* Who detaches closes what it traces with.  0: nobody knows. */
static size_t count_files(pid_t pid)
{
	_cleanup_closedir_ DIR *directory = NULL;
	size_t count = 0;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = opendir(path);
	while (directory && readdir(directory))
		count++;
	return count;
}

static void tell(struct script *script, struct recorder *recorder)
{
	script->told_ns = script->told_last_ns = now_ns();
	script->files = count_files(script->pid);
	kill(script->pid, SIGINT);
	kill(script->pid, SIGCONT);	    /* who is stopped does not hear */
	script_end_facts(script, recorder); /* while it detaches and prints */
}

/* It was told to end; -ETIMEDOUT: it does not. */
static int wait_for(struct script *script, struct lack *lack)
{
	uint64_t now = now_ns(), again_ms = script->engine->again_ms;

	if (now - script->told_ns > LAST_MS * 1000000ULL)
		return lack_of(lack, -ETIMEDOUT, "", "%s was told to end, and has not for %d s", script->engine->name,
			       LAST_MS / 1000);
	if (again_ms && now - script->told_last_ns > again_ms * 1000000 && script->files &&
	    count_files(script->pid) == script->files) {
		script->told_last_ns = now;
		kill(script->pid, SIGINT); /* it has not heard: a second one in END would cut that off */
	}
	return 0;
}

/* How long to wait for what comes next: for the window to begin no longer than that takes. */
static int patience_ms(const struct script *script)
{
	uint64_t waited_ms = (now_ns() - script->started_ns) / 1000000;

	if (script->told_ns)
		return LOOK_MS;
	if (script->begun)
		return -1;
	return waited_ms < START_MS ? START_MS - (int)waited_ms : 0;
}

/* Until it has printed all. */
static int follow(struct script *script, struct recorder *recorder, int signals)
{
	struct pollfd events[EVENTS] = { [OUTPUT] = { .fd = script->output, .events = POLLIN },
					 [SIGNAL] = { .fd = signals, .events = POLLIN },
					 [CONTROL] = { .fd = recorder->options.control_fd, .events = POLLIN },
					 [TARGET] = { .fd = script->target, .events = POLLIN },
					 [TIMER] = { .fd = script->timer, .events = POLLIN } };
	int err;

	for (;;) {
		int count = poll(events, script->told_ns ? 1 : EVENTS, patience_ms(script));

		if (count < 0) {
			if (errno != EINTR)
				return -errno;
			continue;
		}
		if (!count && !script->told_ns)
			return lack_of(&recorder->lack, -ETIMEDOUT,
				       "see whether it runs by hand, or record with another --engine",
				       "%s traces nothing after %d s", script->engine->name, START_MS / 1000);
		if (!script->told_ns) {
			recorder->reason = ended_by(events, &recorder->options);
			if (recorder->reason)
				tell(script, recorder);
		}
		if (events[OUTPUT].revents && (err = script_pass_on(script, recorder)) <= 0)
			return err;
		err = script->told_ns ? wait_for(script, &recorder->lack) : 0;
		if (err)
			return err;
	}
}

static int record_by(struct script *script, struct recorder *recorder, const char *path, int signals)
{
	int status = 0, err;

	script->output = script->target = script->timer = -1;
	script->pid = 0;
	script->messages = NULL;
	script->length = 0;
	script->started_ns = now_ns();
	script->kills = oom_kills();
	recorder->lack.why[0] = 0;
	err = start(script, recorder, path);
	if (!err)
		err = follow(script, recorder, signals);
	if (script->pid > 0)
		err = script_reap(script, &recorder->lack, err, &status);
	if (!err)
		err = script_check_end(script, recorder, status);
	cleanup_fclose(&script->messages);
	cleanup_close(&script->output);
	cleanup_close(&script->target);
	cleanup_close(&script->timer);
	return err;
}

/* By the script of perfdiag's that is for its engine. */
static int record_by_engine(struct script *script, struct recorder *recorder, int signals)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/%s", recorder->options.scripts ?: ".", script->engine->script) < 0)
		return -ENOMEM;
	return record_by(script, recorder, path, signals);
}

/* The first one that can.  Which can is seen by trying: no version tells it. */
static int record_by_any(struct script *script, struct recorder *recorder, int signals)
{
	char because[sizeof(recorder->lack.why)];
	int err = -ENOENT, length;

	length = snprintf(because, sizeof(because), "perfdiag's own programs cannot run here, %s", recorder->lack.why);
	script->because = because;
	while (err && !script->begun && !script->told_ns && (script->engine = engine_after(script->engine))) {
		err = record_by_engine(script, recorder, signals);
		if (err && !script->begun && length < (int)sizeof(because))
			length += snprintf(because + length, sizeof(because) - length, "; %s", recorder->lack.why);
	}
	if (err && !script->begun)
		return lack_of(&recorder->lack, -ENOTSUP,
			       "apt install python3-bpfcc or bpftrace, or boot a kernel with BTF, Linux 6.1 or later",
			       "nothing can record here: %s", because);
	return err;
}

int script_record(struct recorder *recorder, int signals)
{
	static struct script script;
	const struct options *options = &recorder->options;
	int err = check_orders(recorder);

	if (err)
		return err;
	if (geteuid())
		return lack_of(&recorder->lack, -EPERM, "run it as root", "only root may let a script record");
	if (!script_is_asked(options))
		return record_by_any(&script, recorder, signals);
	script.engine = options->script ? engine_of(options->script) : engine_named(options->engine);
	if (!script.engine)
		return lack_of(&recorder->lack, -EDOM, "", "%s: no such engine, or none that runs such a script",
			       options->script ?: options->engine);
	return options->script ? record_by(&script, recorder, options->script, signals)
			       : record_by_engine(&script, recorder, signals);
}
