/* SPDX-License-Identifier: GPL-2.0-only */
/* Stacks of threads that wait when the window ends. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "recorder.h"

#define SLEEPERS_DEADLINE_MS 500

struct sleeper {
	pid_t tgid, tid;
	uint32_t account, call; /* call: the number of its system call */
	uint64_t object, weight_ns;
};

struct sleeper_stack {
	uint32_t index, count; /* of the sleeper; words read */
	uint64_t program_counter, pointer;
	uint64_t words[SCAN_WORDS]; /* from its stack pointer on */
};

/* Remembers the thread of a record of the last snapshot, if it has waited all along or for long, and has a place. */
void sleepers_add(const struct record *record, uint64_t now);
/*
 * Adds a stack for each of them: before the target's addresses are named for the last time.  Who found no place is
 * counted as a lost stack.
 */
void sleepers_take(struct recorder *recorder, unsigned int deadline_ms);
/* Reads one; false if it no longer waits there, or may not be read. */
bool sleeper_read(const struct sleeper *sleeper, struct sleeper_stack *stack);
