// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that wait from before the window until its end: no switch of theirs is seen, so no stack is taken, and yet
 * they may be the ones that are deadlocked.  Of the last wait of others the stack may not have been taken either.  At
 * the end a helper reads the top of their stacks: the kernel tells where it is (/proc/TID/syscall), and reading memory
 * may wait for a lock of the target.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/helper.h"
#include "base/monotonic.h"
#include "base/privileges.h"
#include "base/process_files.h"
#include "base/receive.h"
#include "recorder.h"
#include "rows/sleepers.h"

#define PLACES 896
#define LONG_NS 100000000 /* a last wait of less is not worth a stack */

/*
 * Idle threads are many, and must not take the places of those that may be deadlocked: each kind has its own.  Read in
 * this order, those first of which nothing else tells.
 */
enum kind { PARKED_ALL_ALONG, PARKED_LATELY, OTHER, KINDS };
static const size_t first_place[KINDS + 1] = { 0, 512, 640, PLACES };
static struct sleeper sleepers[PLACES]; /* tid 0: a free place */
static size_t count[KINDS], without_place;

static enum kind kind_of(const struct record *record, bool all_along)
{
	if (record->account != ACCOUNT_WAIT_PARKED)
		return OTHER;
	return all_along ? PARKED_ALL_ALONG : PARKED_LATELY;
}

void sleepers_add(const struct record *record, uint64_t now)
{
	bool all_along = record->since == record->start;
	enum kind kind = kind_of(record, all_along);
	size_t place = first_place[kind] + count[kind];

	if (record->state != STATE_BLOCKED || !needs_callers(record->account) || record->waking > record->since ||
	    (!all_along && now - record->since < LONG_NS))
		return;
	if (place == first_place[kind + 1]) {
		without_place++;
		return;
	}
	count[kind]++;
	sleepers[place] = (struct sleeper){
		.tgid = record->tgid,
		.tid = record->tid,
		.account = record->account,
		.call = record->last_syscall,
		.object = record->object,
		.weight_ns = now - record->since,
	};
}

/* After a signal the kernel goes on with the same call through restart_syscall. */
static bool still_waits(const struct sleeper *sleeper, unsigned int call, uint64_t first_argument)
{
	if (call != sleeper->call && call != SYS_restart_syscall)
		return false;
	return sleeper->account != ACCOUNT_WAIT_PARKED || first_argument == OBJECT_ID(sleeper->object);
}

bool sleeper_read(const struct sleeper *sleeper, struct sleeper_stack *stack)
{
	_cleanup_close_ int process = process_open(sleeper->tid);
	_cleanup_fclose_ FILE *file = process < 0 ? NULL : process_file(process, "syscall");
	_cleanup_close_ int memory = -1;
	uint64_t first;
	unsigned int call;
	ssize_t length;

	/* "number six arguments, stack pointer, program counter"; "running" and "-1 ..." are no system call. */
	if (!file || fscanf(file, "%u %" SCNx64 " %*x %*x %*x %*x %*x %" SCNx64 " %" SCNx64, &call, &first,
			    &stack->pointer, &stack->program_counter) != 4)
		return false;
	if (!still_waits(sleeper, call, first))
		return false; /* it is elsewhere by now */
	/* Not process_vm_readv(), which could not be killed while it waits for the lock of the address space. */
	memory = openat(process, "mem", O_RDONLY | O_CLOEXEC);
	length = memory < 0 ? -1 : pread(memory, stack->words, sizeof(stack->words), (off_t)stack->pointer);
	stack->count = length > 0 ? length / sizeof(uint64_t) : 0;
	return true;
}

static void read_all(const void *unused, int fd)
{
	(void)unused;
	for (size_t i = 0; i < PLACES; i++) {
		struct sleeper_stack stack = { .index = i };

		if (sleepers[i].tid && sleeper_read(&sleepers[i], &stack) &&
		    send(fd, &stack, sizeof(stack), MSG_NOSIGNAL) != sizeof(stack))
			return;
	}
}

static const struct helper_task reading = { "perfdiag-stacks", OF_SLEEPERS, read_all };

static void take(struct recorder *recorder, const struct sleeper_stack *stack)
{
	const struct sleeper *sleeper = &sleepers[stack->index];
	struct stack_event event = {
		.event = { .kind = EVENT_STACK, .tgid = sleeper->tgid, .tid = sleeper->tid },
		.object = sleeper->object,
		.weight_ns = sleeper->weight_ns,
		.account = sleeper->account,
		.user_bytes = sizeof(uint64_t),
		.scan_bytes = stack->count * sizeof(uint64_t),
		.stack_offset = stack->pointer % STACK_PAGE,
		.user = { stack->program_counter },
	};

	memcpy(event.scan, stack->words, event.scan_bytes);
	stacks_add(recorder, &event);
}

void sleepers_take(struct recorder *recorder, unsigned int deadline_ms)
{
	int64_t deadline = monotonic_ms() + deadline_ms;
	struct sleeper_stack stack;
	struct helper helper;

	recorder->stacks_lost += without_place;
	if (!(count[PARKED_ALL_ALONG] + count[PARKED_LATELY] + count[OTHER]) || helper_start(&helper, &reading, NULL))
		return;
	while (!receive_by(helper.fd, &stack, sizeof(stack), deadline) && stack.index < PLACES &&
	       stack.count <= SCAN_WORDS)
		take(recorder, &stack);
	helper_end(&helper);
	memset(sleepers, 0, sizeof(sleepers));
	memset(count, 0, sizeof(count));
	without_place = 0;
}
