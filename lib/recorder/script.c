// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another engine: a script for bpftrace records, and what it prints is passed on as the recording.
 *
 * For kernels that cannot take the own programs.  Interpreter and script are run as root, so both must be root's alone,
 * by an absolute path, with none of the caller's environment.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cleanup.h"
#include "monotonic.h"
#include "recorder.h"

#define BPFTRACE "/usr/bin/bpftrace"
#define LINE_BYTES (1 << 20) /* of one thread it is hardly more than 1,000 */
#define LAST_MS 20000	     /* to detach and to print takes seconds on a host in trouble; then it is killed */
#define AGAIN_MS 10000	     /* bpftrace 0.17 does not hear what comes while it prints */

struct script {
	pid_t pid;
	int output;	/* what it prints */
	FILE *messages; /* what it says to people */
	bool begun;	/* its header has come */
	bool over;	/* it was told to end */
	uint64_t told_ns;
	char line[LINE_BYTES];
	size_t length;
};

/* Who can change what root runs is root: the file, and each directory on its path. */
static int check_owner(const char *path)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	struct stat status;

	if (!real)
		return fprintf(stderr, "error: %s: %s\nHINT: install it, or record with --engine libbpf\n", path,
			       strerror(errno)),
		       -ENOENT;
	for (;;) {
		char *slash = strrchr(real, '/');

		if (stat(*real ? real : "/", &status))
			return -errno;
		if (status.st_uid || (status.st_mode & 022 && !(status.st_mode & S_ISVTX)))
			return fprintf(stderr, "error: %s is not root's alone, and would be run by root\nHINT: %s\n",
				       *real ? real : "/", "install perfdiag and bpftrace as root: make install"),
			       -EACCES;
		if (!*real)
			return 0;
		*slash = 0;
	}
}

static int check_orders(const struct options *options)
{
	const char *what = options->host || options->group.id	     ? "all processes of a group or host"
			   : options->pid_count != 1		     ? "more than one process"
			   : options->on_exec[0]		     ? "a COMMAND"
			   : options->slo_ns || options->limit_count ? "--slo"
			   : options->stacks			     ? "--stacks"
								     : NULL;

	if (!what)
		return 0;
	fprintf(stderr, "error: --engine bpftrace records one process, not %s\nHINT: give --pid of one process\n",
		what);
	return -EDOM;
}

/* In the child: never returns. */
static void become_bpftrace(const char *path, pid_t target, pid_t parent, int output, int messages)
{
	static char *const environment[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "LC_ALL=C", NULL };
	char number[16];
	char *const arguments[] = { BPFTRACE, "-q", "--no-warnings", (char *)path, number, NULL };
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	snprintf(number, sizeof(number), "%d", target);
	setsid(); /* Ctrl-C is for the recorder, which tells it */
	if (!prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent && nothing >= 0 &&
	    dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 && dup2(messages, STDERR_FILENO) >= 0)
		execve(BPFTRACE, arguments, environment);
	_exit(127);
}

static int start(struct script *script, const char *path, pid_t target)
{
	_cleanup_close_ int messages = memfd_create("messages of bpftrace", MFD_CLOEXEC), writer = -1;
	int pipe_fds[2];
	pid_t parent = getpid();

	if (messages < 0 || pipe2(pipe_fds, O_CLOEXEC))
		return -errno;
	script->output = pipe_fds[0];
	writer = pipe_fds[1];
	script->pid = fork();
	if (script->pid < 0)
		return -errno;
	if (!script->pid)
		become_bpftrace(path, target, parent, writer, messages);
	script->messages = fdopen(take_fd(messages), "r");
	return script->messages && !fcntl(script->output, F_SETFL, O_NONBLOCK) ? 0 : -errno;
}

static void end(struct script *script, int signal_number)
{
	script->over = true;
	script->told_ns = now_ns();
	kill(script->pid, signal_number);
}

/* Passes on what came, by whole lines; 1: there is more to come. */
static int pass_on(struct script *script, struct recorder *recorder)
{
	ssize_t got = read(script->output, script->line + script->length, LINE_BYTES - script->length);
	char *from = script->line, *newline;
	int err = 0;

	if (got <= 0)
		return !got ? 0 : errno == EAGAIN || errno == EINTR ? 1 : -errno;
	script->length += got;
	while (!err && (newline = memchr(from, '\n', script->length))) {
		size_t length = newline - from;

		if (length && !script->begun) {
			script->begun = true;
			control_say(recorder->options.control_fd, "attached\n");
		}
		if (length)
			err = output_line(&recorder->output, from, length);
		script->length -= length + 1;
		from = newline + 1;
	}
	memmove(script->line, from, script->length);
	err = err ?: output_flush(&recorder->output);
	return err ?: script->length == LINE_BYTES ? -EMSGSIZE : 1;
}

/* The last of what bpftrace said that is not about locked memory, which it does not need. */
static void explain(struct script *script)
{
	char line[512], last[512] = "";

	rewind(script->messages);
	while (fgets(line, sizeof(line), script->messages))
		if (strstr(line, "ERROR") && !strstr(line, "RLIMIT_MEMLOCK"))
			memcpy(last, line, sizeof(last));
	last[strcspn(last, "\n")] = 0;
	fprintf(stderr, "error: bpftrace does not trace: %s\n", *last ? last : "it did not say why");
}

static int wait_end(struct script *script, struct recorder *recorder, int signals)
{
	_cleanup_close_ int target = syscall(SYS_pidfd_open, recorder->options.pids[0], 0);
	_cleanup_close_ int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t duration_ns = recorder->options.duration_ns;
	struct itimerspec length = { .it_value = { .tv_sec = duration_ns / NS_PER_SECOND,
						   .tv_nsec = duration_ns % NS_PER_SECOND } };
	bool armed = false, again = false;

	if (target < 0 || timer < 0)
		return -errno;
	for (;;) {
		struct pollfd fds[] = { { .fd = script->output, .events = POLLIN },
					{ .fd = script->over ? -1 : signals, .events = POLLIN },
					{ .fd = script->over ? -1 : recorder->options.control_fd, .events = POLLIN },
					{ .fd = script->over ? -1 : target, .events = POLLIN },
					{ .fd = script->over ? -1 : timer, .events = POLLIN } };
		int err;

		if (script->begun && !armed && duration_ns && timerfd_settime(timer, 0, &length, NULL))
			return -errno;
		armed |= script->begun;
		if (poll(fds, sizeof(fds) / sizeof(*fds), script->over ? 1000 : -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents && (err = pass_on(script, recorder)) <= 0)
			return err;
		if (script->over && !again && now_ns() - script->told_ns > AGAIN_MS * 1000000ULL)
			again = !kill(script->pid, SIGINT);
		if (script->over && now_ns() - script->told_ns > LAST_MS * 1000000ULL)
			return kill(script->pid, SIGKILL), -ETIMEDOUT;
		if (script->over)
			continue;
		recorder->reason = fds[1].revents ? "signal" : fds[4].revents ? "duration" : "targets gone";
		if (fds[1].revents || fds[3].revents || fds[4].revents)
			end(script, SIGINT);
		else if (fds[2].revents && control_read(recorder->options.control_fd)) {
			recorder->reason = "signal";
			end(script, SIGINT);
		}
	}
}

int script_record(struct recorder *recorder, int signals)
{
	static struct script script = { .output = -1 };
	_cleanup_free_ char *real = realpath(recorder->options.script, NULL);
	int status = 0, err;

	err = check_orders(&recorder->options) ?: check_owner(BPFTRACE) ?: check_owner(recorder->options.script);
	if (!err && !real) /* by the path that was checked, not by links that lead to it */
		err = -errno;
	if (!err)
		err = start(&script, real, recorder->options.pids[0]);
	if (!err)
		err = wait_end(&script, recorder, signals);
	if (err && script.pid > 0)
		kill(script.pid, SIGKILL);
	if (script.pid > 0)
		waitpid(script.pid, &status, 0);
	if (!err && !script.begun && !script.over) {
		explain(&script);
		err = -EIO;
	}
	if (script.messages)
		fclose(script.messages);
	if (script.output >= 0)
		close(script.output);
	return err;
}
