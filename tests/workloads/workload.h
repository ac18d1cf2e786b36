/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frame of every workload: a small program with a known answer.  It takes options (`--help` lists them), with
 * --wait prints {"ready": ...} and starts on SIGUSR1 or on a byte (or the end) of stdin, and ends with one JSON line
 * that states the truth, measured by its own clock; "blocks" is how often its main thread went to sleep.
 */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MILLISECOND 1000000ULL
#define SECOND 1000000000ULL

/* One option of a workload: a number or a text. */
struct knob {
	const char *name;
	long *number;
	const char **text;
	const char *help;
};

struct truth {
	const char *name;
	uint64_t value;
};

static uint64_t workload_started_ns;
static long workload_started_blocks;

static inline void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

/* For calls that return -1 and set errno. */
#define CHECK(call)                                                                                                    \
	({                                                                                                             \
		__typeof__(call) result_ = (call);                                                                     \
		if (result_ == (__typeof__(call))-1)                                                                   \
			die(#call);                                                                                    \
		result_;                                                                                               \
	})

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

static inline void sleep_ns(uint64_t ns)
{
	struct timespec left = { ns / SECOND, ns % SECOND };

	/* A sleep of no time takes 50 us. */
	while (ns && nanosleep(&left, &left) && errno == EINTR)
		;
}

static inline void spin_until(uint64_t end_ns)
{
	while (now_ns() < end_ns)
		;
}

static inline void pin(long cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK(sched_setaffinity(0, sizeof(set), &set));
}

static inline pthread_t start_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, function, argument);
	if (errno)
		die("pthread_create");
	return thread;
}

/* How often the calling thread has blocked: the kernel's own count of what a tracer of switches has to see. */
static inline long blocks(void)
{
	struct rusage used;

	getrusage(RUSAGE_THREAD, &used);
	return used.ru_nvcsw;
}

static inline void usage(const struct knob *knobs, FILE *file)
{
	fprintf(file, "usage: %s [--wait]", program_invocation_short_name);
	for (; knobs->name; knobs++)
		fprintf(file, "\n  --%s %s  %s", knobs->name, knobs->number ? "NUMBER" : "TEXT", knobs->help);
	fputc('\n', file);
}

/* Two descriptors are polled, so that this wait is `wait.events` and nothing else. */
static inline void wait_for_start(void)
{
	struct pollfd fds[2] = { { .fd = 0, .events = POLLIN }, { .events = POLLIN } };
	sigset_t set;
	char byte;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fds[1].fd = CHECK(signalfd(-1, &set, SFD_CLOEXEC));
	printf("{\"ready\": true, \"pid\": %d}\n", getpid());
	fflush(stdout);
	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	if (fds[0].revents && read(0, &byte, 1) < 0)
		die("read of stdin");
	close(fds[1].fd);
	signal(SIGUSR1, SIG_IGN);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Parses the options; true when --wait was given: then call wait_for_start() once everything is prepared. */
static inline bool parse_options(int argc, char **argv, const struct knob *knobs)
{
	struct option options[16] = { { "wait", no_argument, NULL, 'w' }, { "help", no_argument, NULL, 'h' } };
	bool wait = false;
	char *end;
	int code;

	for (int i = 0; knobs[i].name; i++)
		options[i + 2] = (struct option){ knobs[i].name, required_argument, NULL, 256 + i };
	while ((code = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (code >= 256 && knobs[code - 256].number) {
			*knobs[code - 256].number = strtol(optarg, &end, 10);
			if (end == optarg || *end)
				code = '?';
		} else if (code >= 256) {
			*knobs[code - 256].text = optarg;
		}
		if (code == 'w')
			wait = true;
		if (code == 'h' || code == '?') {
			usage(knobs, code == 'h' ? stdout : stderr);
			exit(code == 'h' ? 0 : 2);
		}
	}
	return wait;
}

/* Everything is prepared: the work that is measured begins when this returns. */
static inline void start_work(bool wait)
{
	if (wait)
		wait_for_start();
	workload_started_blocks = blocks();
	workload_started_ns = now_ns();
}

static inline void print_truth(const struct truth *truth)
{
	printf("{\"workload\": \"%s\", \"pid\": %d, \"elapsed_ns\": %" PRIu64, program_invocation_short_name, getpid(),
	       now_ns() - workload_started_ns);
	if (gettid() == getpid())
		printf(", \"blocks\": %ld", blocks() - workload_started_blocks);
	for (; truth->name; truth++)
		printf(", \"%s\": %" PRIu64, truth->name, truth->value);
	puts("}");
	fflush(stdout);
}

#define PRINT_TRUTH(...) print_truth((struct truth[]){ __VA_ARGS__, { NULL, 0 } })
#define KNOBS(...) ((struct knob[]){ __VA_ARGS__, { NULL, NULL, NULL, NULL } })
#define NUMBER(name, variable, help)                                                                                   \
	{                                                                                                              \
		name, &(variable), NULL, help                                                                          \
	}
#define TEXT(name, variable, help)                                                                                     \
	{                                                                                                              \
		name, NULL, &(variable), help                                                                          \
	}
