// SPDX-License-Identifier: GPL-2.0-only
/*
 * Host mode: a row for every thread of a host would be the larger part of the cost.  The busiest threads get one, the
 * busiest processes and the largest consumers of every account a line without those, and the rest is folded by name.
 */
#include <stdlib.h>
#include <string.h>
#include "rows/host_mode_internal.h"

#define TOP_PROCESSES 200
#define TOP_OF_ACCOUNT 20
#define LEAST_BUSY 100 /* a thread that was busy for one part in so many of its life may get a row */

struct host *host_of(struct recorder *recorder)
{
	if (!recorder->host)
		recorder->host = calloc(1, sizeof(*recorder->host));
	return recorder->host;
}

static uint64_t busy_ns_of(const struct account_sum *sums)
{
	uint64_t ns = 0;

	for (int i = 0; i < ACCOUNT_COUNT; i++)
		if (!is_idle(i))
			ns += sums[i].ns;
	return ns;
}

static struct host_process *process_of(struct recorder *recorder, const struct record *record)
{
	struct host *host = host_of(recorder);
	uint32_t pid = host_pid(recorder, record);
	struct host_process *process;

	if (!host)
		return NULL;
	HASH_FIND(hh, host->processes, &pid, sizeof(pid), process);
	if (!process && HASH_COUNT(host->processes) < MOST_PROCESSES && (process = calloc(1, sizeof(*process)))) {
		process->pid = pid;
		process->kernel_thread = record->kernel_thread;
		host_comm(record, process->comm);
		HASH_ADD(hh, host->processes, pid, sizeof(pid), process);
	}
	return process;
}

/* A thread that has a row is in no other sum.  The longest wait of the rest is not known then: at most all of its time. */
static void take_away(struct fold *fold, const struct record *record)
{
	struct fold one = fold_of(record);

	fold->wall_ns -= one.wall_ns;
	fold->user_ns -= one.user_ns;
	fold->kernel_ns -= one.kernel_ns;
	fold->threads -= one.threads;
	fold->processes -= one.processes;
	for (int i = 0; i < ACCOUNT_COUNT; i++) {
		struct account_sum *sum = &fold->accounts[i];

		sum->ns -= one.accounts[i].ns;
		sum->count -= one.accounts[i].count;
		if (sum->max_us > sum->ns / 1000)
			sum->max_us = sum->ns / 1000;
	}
}

static void offer_thread(struct host *host, const struct record *record, const struct record *open)
{
	uint64_t busy_ns = busy_ns_of(record->accounts);
	struct top_thread *place = &host->threads[0];

	if (record->kernel_thread || busy_ns * LEAST_BUSY < record->at - record->start)
		return;
	if (host->thread_count < TOP_THREADS) {
		place = &host->threads[host->thread_count++];
	} else {
		for (size_t i = 1; i < TOP_THREADS; i++)
			if (host->threads[i].busy_ns < place->busy_ns)
				place = &host->threads[i];
		if (place->busy_ns >= busy_ns)
			return;
	}
	*place = (struct top_thread){ .busy_ns = busy_ns, .record = *record, .open = *open };
}

bool host_take(struct recorder *recorder, const struct record *record, const struct record *open)
{
	struct host_process *process = process_of(recorder, record);
	struct fold fold = fold_of(record);

	if (!process)
		return false;
	fold_merge(&process->fold, &fold);
	host_know(recorder->host, record);
	offer_thread(recorder->host, record, open);
	return true;
}

static int by_busy(const struct host_process *a, const struct host_process *b)
{
	return a->busy_ns > b->busy_ns ? -1 : a->busy_ns < b->busy_ns;
}

/* The largest consumers of one account: the order of equal ones does not matter. */
static void keep_top_of(struct host *host, int account)
{
	struct host_process *top[TOP_OF_ACCOUNT] = {}, *process, *next;

	HASH_ITER(hh, host->processes, process, next)
	{
		struct host_process *one = process;

		for (int i = 0; i < TOP_OF_ACCOUNT && one && one->fold.accounts[account].ns; i++) {
			struct host_process *other = top[i];

			if (other && other->fold.accounts[account].ns >= one->fold.accounts[account].ns)
				continue;
			top[i] = one;
			one = other;
		}
	}
	for (int i = 0; i < TOP_OF_ACCOUNT && top[i]; i++)
		top[i]->kept = true;
}

void host_choose(struct recorder *recorder)
{
	struct host *host = host_of(recorder);
	struct host_process *process, *next;
	size_t place = 0;

	if (!host)
		return;
	HASH_ITER(hh, host->processes, process, next)
	process->busy_ns = busy_ns_of(process->fold.accounts);
	HASH_SORT(host->processes, by_busy);
	HASH_ITER(hh, host->processes, process, next)
	process->kept = process->busy_ns && place++ < TOP_PROCESSES;
	for (int i = 0; i < ACCOUNT_COUNT; i++)
		if (!is_idle(i))
			keep_top_of(host, i);
	for (size_t i = 0; i < host->thread_count; i++) {
		process = process_of(recorder, &host->threads[i].record);
		if (!process)
			continue;
		process->kept = true;
		take_away(&process->fold, &host->threads[i].record);
	}
}

bool host_keeps(const struct recorder *recorder, uint32_t pid)
{
	struct host_process *process = NULL;

	if (recorder->host)
		HASH_FIND(hh, recorder->host->processes, &pid, sizeof(pid), process);
	return process && process->kept;
}

size_t host_busiest(const struct recorder *recorder, pid_t pids[HOST_PIDS])
{
	struct host_process *process, *next;
	size_t count = 0;

	if (!recorder->host)
		return 0;
	HASH_ITER(hh, recorder->host->processes, process, next)
	{
		if (count == HOST_PIDS || !process->busy_ns)
			break; /* they are in their order by now */
		if (!process->kernel_thread)
			pids[count++] = process->pid;
	}
	return count;
}

void host_free(struct recorder *recorder)
{
	struct host_process *process, *next;
	struct kernel_name *name, *next_name;
	struct known_thread *known, *next_known;
	struct host *host = recorder->host;

	if (!host)
		return;
	HASH_ITER(hh, host->processes, process, next)
	{
		HASH_DEL(host->processes, process);
		free(process);
	}
	HASH_ITER(hh, host->kernel_names, name, next_name)
	{
		HASH_DEL(host->kernel_names, name);
		free(name);
	}
	HASH_ITER(hh, host->known, known, next_known)
	{
		HASH_DEL(host->known, known);
		free(known);
	}
	free(host);
	recorder->host = NULL;
}
