/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of host mode share. */
#pragma once
#include "rows/folds.h"
#include "rows/host_mode.h"

#define TOP_THREADS 64
#define MOST_PROCESSES 20000 /* that are told apart until the end, and as many threads */

struct host_process {
	uint32_t pid;
	bool kernel_thread, kept;
	char comm[COMM_BYTES];
	uint64_t busy_ns;
	struct fold fold;
	UT_hash_handle hh;
};

/* Kernel threads of one name are shown under the pid of the first one met. */
struct kernel_name {
	char comm[COMM_BYTES];
	uint32_t pid;
	UT_hash_handle hh;
};

/* Whose thread it is that others waited for. */
struct known_thread {
	uint32_t tid, tgid;
	UT_hash_handle hh;
};

struct top_thread {
	uint64_t busy_ns;
	struct record record, open;
};

struct host {
	struct host_process *processes;
	struct kernel_name *kernel_names;
	struct known_thread *known;
	struct top_thread threads[TOP_THREADS];
	size_t thread_count;
};

/* NULL: there is no memory for it. */
struct host *host_of(struct recorder *recorder);
/* rows/host_mode_names.c: for host_process_of(), as long as there is room. */
void host_know(struct host *host, const struct record *record);
