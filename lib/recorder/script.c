// SPDX-License-Identifier: GPL-2.0-only
/*
 * A script records, and what it prints is passed on as the recording: for kernels that cannot take the own programs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cleanup.h"
#include "engine.h"
#include "monotonic.h"
#include "recorder.h"

#define LINE_BYTES (1 << 20) /* of one thread it is hardly more than 1,000 */
#define LAST_MS 20000	     /* to detach and to print takes seconds on a host in trouble; then it is killed */
#define AGAIN_MS 10000	     /* bpftrace 0.17 does not hear what comes while it prints */
#define LOOK_MS 1000	     /* once told, it is looked at so often */

struct script {
	const struct engine *engine;
	pid_t pid;
	int output;	  /* what it prints */
	FILE *messages;	  /* what it says to people */
	int target;	  /* the pidfd of what it traces */
	int timer;	  /* of the duration */
	bool begun;	  /* its header has come */
	bool again;	  /* it was told to end twice */
	uint64_t told_ns; /* when it was told to end; 0: not yet */
	char line[LINE_BYTES];
	size_t length;
};

enum { OUTPUT, SIGNAL, CONTROL, TARGET, TIMER, EVENTS };

static int check_orders(const struct options *options, const struct engine *engine)
{
	const char *what = options->host || options->group.id	     ? "all processes of a group or host"
			   : options->pid_count != 1		     ? "more than one process"
			   : options->on_exec[0]		     ? "a COMMAND"
			   : options->slo_ns || options->limit_count ? "--slo"
			   : options->stacks			     ? "--stacks"
								     : NULL;

	if (!what)
		return 0;
	fprintf(stderr, "error: --engine %s records one process, not %s\nHINT: give --pid of one process\n",
		engine->name, what);
	return -EDOM;
}

/* Which engine is to run which script; *ret is to be freed. */
static int choose(struct script *script, const struct options *options, char **ret)
{
	script->engine = options->script ? engine_of(options->script) : engine_named(options->engine);
	if (!script->engine) {
		fprintf(stderr, "error: %s: no such engine, or none that runs such a script\n",
			options->script ?: options->engine);
		return -EDOM;
	}
	if (options->script)
		*ret = strdup(options->script);
	else if (asprintf(ret, "%s/%s", options->scripts ?: ".", script->engine->script) < 0)
		*ret = NULL;
	return *ret ? 0 : -ENOMEM;
}

static int start(struct script *script, const struct options *options)
{
	_cleanup_close_ int messages = memfd_create("messages", MFD_CLOEXEC);
	_cleanup_free_ char *path = NULL, *real = NULL;
	int err;

	err = choose(script, options, &path);
	if (!err)
		err = check_orders(options, script->engine);
	if (!err)
		err = engine_check(script->engine, path, &real);
	if (err)
		return err;
	script->target = syscall(SYS_pidfd_open, options->pids[0], 0);
	script->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (messages < 0 || script->target < 0 || script->timer < 0)
		return -errno;
	err = engine_start(script->engine, real, options->pids[0], messages, &script->pid, &script->output);
	if (err)
		return err;
	script->messages = fdopen(messages, "r");
	if (!script->messages)
		return -errno;
	take_fd(messages);
	return 0;
}

/* With the first line the window has begun. */
static int begin(struct script *script, const struct options *options)
{
	struct itimerspec length = { .it_value = { .tv_sec = options->duration_ns / NS_PER_SECOND,
						   .tv_nsec = options->duration_ns % NS_PER_SECOND } };

	script->begun = true;
	control_say(options->control_fd, "attached\n");
	return timerfd_settime(script->timer, 0, &length, NULL) ? -errno : 0; /* 0 ns: never */
}

/* Passes on what came, by whole lines; 1: there is more to come. */
static int pass_on(struct script *script, struct recorder *recorder)
{
	ssize_t got = read(script->output, script->line + script->length, LINE_BYTES - script->length);
	char *from = script->line, *newline;
	int err = 0;

	if (!got)
		return 0;
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	script->length += got;
	while (!err && (newline = memchr(from, '\n', script->length))) {
		size_t length = newline - from;

		if (length && !script->begun)
			err = begin(script, &recorder->options);
		if (length && !err)
			err = output_line(&recorder->output, from, length);
		script->length -= length + 1;
		from = newline + 1;
	}
	memmove(script->line, from, script->length);
	err = err ?: output_flush(&recorder->output);
	if (!err && script->length == LINE_BYTES)
		err = -EMSGSIZE;
	return err ?: 1;
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

static void tell(struct script *script)
{
	script->told_ns = now_ns();
	kill(script->pid, SIGINT);
}

/* It was told to end; -ETIMEDOUT: it does not. */
static int wait_for(struct script *script)
{
	uint64_t waited_ms = (now_ns() - script->told_ns) / 1000000;

	if (waited_ms > LAST_MS)
		return -ETIMEDOUT;
	if (waited_ms > AGAIN_MS && !script->again)
		script->again = !kill(script->pid, SIGINT);
	return 0;
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
		if (poll(events, script->told_ns ? 1 : EVENTS, script->told_ns ? LOOK_MS : -1) < 0) {
			if (errno != EINTR)
				return -errno;
			continue;
		}
		if (!script->told_ns) {
			recorder->reason = ended_by(events, &recorder->options);
			if (recorder->reason)
				tell(script);
		}
		if (events[OUTPUT].revents && (err = pass_on(script, recorder)) <= 0)
			return err;
		err = script->told_ns ? wait_for(script) : 0;
		if (err)
			return err;
	}
}

/* The last of what it said that is not about locked memory, which it does not need. */
static void explain(const struct script *script)
{
	char line[512], last[512] = "";

	rewind(script->messages);
	while (fgets(line, sizeof(line), script->messages))
		if (strstr(line, "ERROR") && !strstr(line, "RLIMIT_MEMLOCK"))
			memcpy(last, line, sizeof(last));
	last[strcspn(last, "\n")] = 0;
	fprintf(stderr, "error: %s does not trace: %s\n", script->engine->name, *last ? last : "it did not say why");
}

/* Whether it ended as it should: when it was told, or by itself because its target had gone. */
static int check_end(const struct script *script, struct recorder *recorder, int status)
{
	struct pollfd target = { .fd = script->target, .events = POLLIN };

	if (WIFSIGNALED(status)) {
		fprintf(stderr, "error: %s was killed by signal %d\n", script->engine->name, WTERMSIG(status));
		return -EIO;
	}
	if (script->told_ns)
		return 0;
	if (!script->begun) {
		explain(script);
		return -EIO;
	}
	if (!status && poll(&target, 1, 0) > 0) {
		recorder->reason = "targets gone";
		return 0;
	}
	fprintf(stderr, "error: %s ended in the middle of the window, with status %d\n", script->engine->name,
		WEXITSTATUS(status));
	return -EIO;
}

int script_record(struct recorder *recorder, int signals)
{
	static struct script script = { .output = -1, .target = -1, .timer = -1 };
	int status = 0, err;

	err = start(&script, &recorder->options);
	if (!err)
		err = follow(&script, recorder, signals);
	if (err && script.pid > 0)
		kill(script.pid, SIGKILL);
	if (script.pid > 0)
		waitpid(script.pid, &status, 0);
	if (!err)
		err = check_end(&script, recorder, status);
	cleanup_fclose(&script.messages);
	cleanup_close(&script.output);
	cleanup_close(&script.target);
	cleanup_close(&script.timer);
	return err;
}
