// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: rows/sleepers.c base/process_files.c base/helper.c base/capabilities.c base/receive.c */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rows/sleepers.h"
#include "check.h"

/* Between this process and the one that sleeps. */
static struct shared {
	int futex, never;
	void *caller;
} * shared;

static struct recorder recorder;
static struct stack_event taken[4];
static size_t taken_count;

void stacks_add(struct recorder *same, const struct stack_event *event)
{
	CHECK(same == &recorder);
	if (taken_count < 4)
		taken[taken_count++] = *event;
}

static __attribute__((noinline)) void park(void)
{
	shared->caller = __builtin_return_address(0);
	for (;;)
		syscall(SYS_futex, &shared->futex, FUTEX_WAIT, 0, NULL);
}

static __attribute__((noinline)) void parks_for_its_caller(void)
{
	park();
	shared->never = 1; /* no tail call */
}

static struct sleeper sleeper_of(pid_t pid, const int *futex)
{
	return (struct sleeper){ .tgid = pid,
				 .tid = pid,
				 .account = ACCOUNT_WAIT_PARKED,
				 .call = SYS_futex,
				 .object = (uintptr_t)futex,
				 .weight_ns = 7 };
}

/* A process that is parked when this returns. */
static pid_t parked(void)
{
	struct sleeper_stack stack;
	struct sleeper sleeper;
	pid_t child;

	shared->caller = NULL;
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		parks_for_its_caller();
	}
	sleeper = sleeper_of(child, &shared->futex);
	while (!sleeper_read(&sleeper, &stack))
		sched_yield();
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static bool has(const void *words, size_t count, const void *wanted)
{
	const uint64_t *word = words;

	for (size_t i = 0; i < count; i++)
		if (word[i] == (uintptr_t)wanted)
			return true;
	return false;
}

static void test_the_caller_of_who_sleeps_is_read(void)
{
	pid_t child = parked();
	struct sleeper sleeper = sleeper_of(child, &shared->futex);
	struct sleeper_stack stack = {};

	CHECK(sleeper_read(&sleeper, &stack));
	CHECK(stack.program_counter);
	CHECK(stack.count && stack.count <= SCAN_WORDS);
	CHECK(has(stack.words, stack.count, shared->caller));
	end(child);
}

static void test_who_is_elsewhere_is_left_alone(void)
{
	pid_t child = parked();
	struct sleeper elsewhere = sleeper_of(child, &shared->never), runs = sleeper_of(getpid(), &shared->futex);
	struct sleeper gone = sleeper_of(child, &shared->futex), polls = gone, waits = gone;
	struct sleeper_stack stack;

	polls.call = SYS_epoll_wait;
	waits.account = ACCOUNT_WAIT_EVENTS; /* no account but that of a futex has its address */
	waits.object = 0;
	CHECK(!sleeper_read(&polls, &stack));
	CHECK(sleeper_read(&waits, &stack));

	CHECK(!sleeper_read(&elsewhere, &stack));
	CHECK(!sleeper_read(&runs, &stack));
	end(child);
	CHECK(!sleeper_read(&gone, &stack));
}

/* The books of a process that was parked before they began. */
static struct record slept_all_along(pid_t pid)
{
	return (struct record){
		.state = STATE_BLOCKED,
		.account = ACCOUNT_WAIT_PARKED,
		.tid = pid,
		.tgid = pid,
		.last_syscall = SYS_futex,
		.object = (uintptr_t)&shared->futex,
		.start = 100,
		.since = 100,
	};
}

static void test_only_who_waits_all_along_or_long_is_asked(void)
{
	pid_t child = parked();
	struct record slept = slept_all_along(child);
	struct record woke = slept, other = slept, later = slept, timer = slept;

	woke.waking = 200;
	other.account = ACCOUNT_DISK_READ;
	later.since = 300;
	timer.account = ACCOUNT_WAIT_TIMER;
	timer.since = 300;
	sleepers_add(&woke, 1000);
	sleepers_add(&other, 1000);
	sleepers_add(&later, 1000);
	sleepers_take(&recorder, PATIENCE_MS);
	CHECK_NUMBER(taken_count, 0);
	sleepers_add(&slept, 1000);
	sleepers_take(&recorder, PATIENCE_MS);
	CHECK_NUMBER(taken_count, 1);
	CHECK_NUMBER(taken[0].weight_ns, 900);
	CHECK_NUMBER(taken[0].event.tid, child);
	CHECK_NUMBER(taken[0].account, ACCOUNT_WAIT_PARKED);
	CHECK(taken[0].object == slept.object);
	CHECK_NUMBER(taken[0].user_bytes, sizeof(uint64_t));
	CHECK(taken[0].user[0]);
	CHECK(has(taken[0].scan, taken[0].scan_bytes / sizeof(uint64_t), shared->caller));
	CHECK(taken[0].stack_offset < STACK_PAGE);
	sleepers_take(&recorder, PATIENCE_MS);
	CHECK_NUMBER(taken_count, 1); /* told once */
	sleepers_add(&timer, 1000000000);
	sleepers_take(&recorder, PATIENCE_MS);
	CHECK_NUMBER(taken_count, 2);
	CHECK_NUMBER(taken[1].account, ACCOUNT_WAIT_TIMER);
	end(child);
}

/* A deadlock among threads that sleep, or that were parked a while ago: these were met first. */
static void test_many_who_are_idle_take_no_place_of_who_is_parked(void)
{
	const uint64_t now = 1000000000;
	const int many = 2000;
	pid_t child = parked(), nobody = INT32_MAX;
	struct record stuck = slept_all_along(child), sleeps = slept_all_along(nobody), lately = sleeps;
	size_t before = taken_count;

	sleeps.account = ACCOUNT_WAIT_TIMER;
	lately.since = 300;
	CHECK_NUMBER(recorder.stacks_lost, 0);
	for (int i = 0; i < many; i++) {
		sleepers_add(&sleeps, now);
		sleepers_add(&lately, now);
	}
	sleepers_add(&stuck, now);
	sleepers_take(&recorder, PATIENCE_MS);
	CHECK_NUMBER(taken_count, before + 1);
	CHECK_NUMBER(taken[before].event.tid, child);
	CHECK(recorder.stacks_lost > many && recorder.stacks_lost < 2 * many); /* they are counted */
	end(child);
}

int main(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		abort();
	RUN(test_the_caller_of_who_sleeps_is_read);
	RUN(test_who_is_elsewhere_is_left_alone);
	RUN(test_only_who_waits_all_along_or_long_is_asked);
	RUN(test_many_who_are_idle_take_no_place_of_who_is_parked);
	return check_result();
}
