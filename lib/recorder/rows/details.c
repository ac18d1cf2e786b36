// SPDX-License-Identifier: GPL-2.0-only
/* Details (account and object with their distribution) of processes, and threads that ended, folded by comm. */
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>
#include "base/process_files.h"
#include "rows/folds.h"
#include "rows/host_mode.h"
#include "program/map_walk.h"
#include "recorder.h"
#include "perfdiag.skel.h"

#define DETAIL_ENTRIES 65536
#define HOST_DETAILS 4000 /* the largest; of the others a host's recording has the sums by account */
#define FOLDS 1000	  /* names of processes that ended */

struct detail_entry {
	struct detail_key key;
	struct detail detail;
	UT_hash_handle hh;
};

/* The threads' votes together, as if one had cast them all: what is left over for different wakers cancels out. */
static void add_votes(struct detail *all, const struct detail *more)
{
	if (all->waker == more->waker) {
		all->waker_votes += more->waker_votes;
	} else if (more->waker_votes > all->waker_votes) {
		all->waker = more->waker;
		all->waker_votes = more->waker_votes - all->waker_votes;
	} else {
		all->waker_votes -= more->waker_votes;
	}
}

static void add_detail(struct recorder *recorder, const struct detail *detail, uint32_t tgid)
{
	struct detail_key key = { .tgid = tgid, .account = detail->account };
	struct detail_entry *entry;

	key.object = nfs_object(recorder, detail->object);
	HASH_FIND(hh, recorder->details, &key, sizeof(key), entry);
	if (!entry) {
		if (HASH_COUNT(recorder->details) >= DETAIL_ENTRIES || !(entry = calloc(1, sizeof(*entry)))) {
			recorder->details_lost++;
			return;
		}
		entry->key = key;
		HASH_ADD(hh, recorder->details, key, sizeof(key), entry);
	}
	entry->detail.ns += detail->ns;
	entry->detail.count += detail->count;
	if (detail->max_us > entry->detail.max_us)
		entry->detail.max_us = detail->max_us;
	for (int i = 0; i < BUCKETS; i++)
		entry->detail.buckets[i] += detail->buckets[i];
	add_votes(&entry->detail, detail);
}

static void add_details(struct recorder *recorder, const struct detail *details, size_t count, uint32_t tgid)
{
	for (size_t i = 0; i < count; i++)
		if (details[i].count)
			add_detail(recorder, &details[i], tgid);
}

void details_add(struct recorder *recorder, const struct record *record, const struct detail *spare, uint32_t tgid)
{
	/* Of running the kernel side keeps the sums alone, add_to_sum() says why. */
	static const enum account running[] = { ACCOUNT_CPU_USER, ACCOUNT_CPU_IRQ, ACCOUNT_CPU_STOLEN };

	add_details(recorder, record->details, DETAILS, tgid);
	if (spare)
		add_details(recorder, spare, OPEN_SEGMENTS, tgid);
	for (size_t i = 0; i < sizeof(running) / sizeof(*running); i++) {
		const struct account_sum *sum = &record->accounts[running[i]];
		struct detail detail = {
			.account = running[i], .ns = sum->ns, .count = sum->count, .max_us = sum->max_us
		};

		add_details(recorder, &detail, 1, tgid);
	}
}

void fold_add(struct recorder *recorder, const char *comm, const struct fold *more)
{
	struct fold_entry *entry = fold_of_name(&recorder->folds, comm, FOLDS);

	if (entry)
		fold_merge(&entry->fold, more);
	else
		recorder->folds_lost += more->threads;
}

/* Folds of threads that ended while the ring was full; cumulative in the kernel, so taken once, at the end. */
static void take_kernel_folds(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.folds) };
	char comm[COMM_BYTES];
	struct fold fold;

	while (map_next(&walk, comm, &fold)) {
		recorder->threads_seen += fold.threads;
		fold_add(recorder, comm, &fold);
	}
}

static void write_folds(struct recorder *recorder)
{
	struct json *json = &recorder->json;
	struct fold_entry *entry, *next;

	HASH_ITER(hh, recorder->folds, entry, next)
	{
		json_open(json, "exited");
		json_u64(json, "at_ns", recorder->end_ns);
		json_bytes(json, "comm", entry->comm, strnlen(entry->comm, COMM_BYTES));
		fold_write(json, &entry->fold);
		json_write(json, &recorder->output);
		fold_free(&recorder->folds, entry);
	}
}

static void take_spilled(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.spilled) };
	struct detail_key key;
	struct detail detail;

	while (map_next(&walk, &key, &detail))
		add_detail(recorder, &detail, key.tgid);
}

/* Waits that a thread of another process may have ended: its name is all that tells who that is. */
static bool ended_elsewhere(__u32 account)
{
	return account == ACCOUNT_LOCK_FILE || account == ACCOUNT_IPC_PIPE || account == ACCOUNT_IPC_UNIX ||
	       account == ACCOUNT_REMOTE_FS || account == ACCOUNT_KERNEL_OTHER; /* a full message queue */
}

/* The process of the thread that has ended most of these waits, where it is looked up in /proc; else 0. */
static pid_t process_of_waker(const struct recorder *recorder, const struct detail_entry *entry)
{
	__u32 account = entry->key.account;

	if (!entry->detail.waker || !ended_elsewhere(account))
		return 0;
	if (recorder->options.host && account != ACCOUNT_LOCK_FILE)
		return 0; /* host_process_of() knows it */
	return process_of_thread(entry->detail.waker);
}

static void write_waker(struct recorder *recorder, const struct detail_entry *entry, pid_t waker_pid)
{
	struct json *json = &recorder->json;
	bool elsewhere = ended_elsewhere(entry->key.account);
	pid_t tid = entry->detail.waker;

	if (recorder->options.host)
		json_u64(json, "waker_pid", host_process_of(recorder, tid));
	else if (elsewhere)
		json_u64(json, "waker_pid", waker_pid);
	if (elsewhere)
		comm_write(recorder, "waker_comm", tid);
}

static bool is_described(const struct recorder *recorder, pid_t pid)
{
	for (size_t i = 0; i < recorder->described_count; i++)
		if (recorder->described[i] == pid)
			return true;
	return false;
}

/* Whom threads waited for that is not of the target: who had their CPU, or the lock on a file; 0: nobody. */
static pid_t competitor_of(const struct recorder *recorder, const struct detail_entry *entry, pid_t waker_pid)
{
	if (entry->key.account == ACCOUNT_LOCK_FILE)
		return is_described(recorder, waker_pid) ? 0 : waker_pid;
	if (entry->key.account != ACCOUNT_RUNQ_BUSY || OBJECT_KIND(entry->key.object) != OBJECT_TASK)
		return 0;
	return OBJECT_ID(entry->key.object);
}

/*
 * Where all places are taken, the one with the least time is replaced, and leaves its time to who comes: so whoever has more
 * than an eighth of all time has a place in the end, however many rows that is in.
 */
static void note_competitor(struct recorder *recorder, const struct detail_entry *entry, pid_t waker_pid)
{
	struct competitor *least = recorder->competitors, *one;
	pid_t pid = competitor_of(recorder, entry, waker_pid);

	if (!pid)
		return;
	for (size_t i = 0; i < recorder->competitor_count; i++) {
		one = &recorder->competitors[i];
		if (one->pid == pid) {
			one->ns += entry->detail.ns;
			return;
		}
		if (one->ns < least->ns)
			least = one;
	}
	if (recorder->competitor_count < COMPETITORS) {
		least = &recorder->competitors[recorder->competitor_count++];
		least->ns = 0;
	}
	*least = (struct competitor){ pid, least->ns + entry->detail.ns };
}

static void write_details(struct recorder *recorder)
{
	struct json *json = &recorder->json;
	struct detail_entry *entry, *next;

	HASH_ITER(hh, recorder->details, entry, next)
	{
		pid_t waker_pid = process_of_waker(recorder, entry);

		note_competitor(recorder, entry, waker_pid);
		json_open(json, "detail");
		json_u64(json, "pid", entry->key.tgid);
		json_text(json, "account", account_names[entry->key.account]);
		object_write(recorder, "object", entry->key.object);
		json_u64(json, "sum_ns", entry->detail.ns);
		json_u64(json, "count", entry->detail.count);
		json_u64(json, "max_ns", (uint64_t)entry->detail.max_us * 1000);
		buckets_write(json, "buckets", entry->detail.buckets);
		json_u64(json, "waker_tid", entry->detail.waker);
		json_u64(json, "waker_count", entry->detail.waker_votes);
		if (entry->detail.waker)
			write_waker(recorder, entry, waker_pid);
		json_write(json, &recorder->output);
		HASH_DEL(recorder->details, entry);
		free(entry);
	}
}

static int by_time(const struct detail_entry *a, const struct detail_entry *b)
{
	return a->detail.ns > b->detail.ns ? -1 : a->detail.ns < b->detail.ns;
}

/* Takes an entry out, and what it has under another process and object back in. */
static void move_detail(struct recorder *recorder, struct detail_entry *entry, __u32 tgid, __u64 object)
{
	struct detail detail = entry->detail;

	detail.account = entry->key.account;
	detail.object = object;
	HASH_DEL(recorder->details, entry);
	free(entry);
	add_detail(recorder, &detail, tgid);
}

/* Of a host: what belongs to a process without a line of its own, or is little, is told without a process. */
static void bound_details(struct recorder *recorder)
{
	struct detail_entry *entry, *next;
	size_t place = 0;

	HASH_ITER(hh, recorder->details, entry, next)
	{
		if (entry->key.tgid && !host_keeps(recorder, entry->key.tgid))
			move_detail(recorder, entry, 0, entry->key.object);
	}
	HASH_SORT(recorder->details, by_time);
	HASH_ITER(hh, recorder->details, entry, next)
	{
		if (place++ >= HOST_DETAILS && (entry->key.tgid || entry->key.object))
			move_detail(recorder, entry, 0, 0);
	}
}

void folded_write(struct recorder *recorder)
{
	take_kernel_folds(recorder);
	take_spilled(recorder);
	if (recorder->options.host)
		bound_details(recorder);
	write_folds(recorder);
	write_details(recorder);
}
