// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads, intervals and details.  Every interval the records of all living threads are copied out of the kernel and
 * summed; a thread gets a row of its own rarely (every ten seconds, if it changed) and at the end.  Threads that
 * ended bring their books through the ring buffer and are folded by the comm of their process.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>
#include "base/cleanup.h"
#include "rows/host_mode.h"
#include "recorder.h"
#include "rows/sleepers.h"
#include "perfdiag.skel.h"

#define ENDS_TRIES 50
#define ENDS_PAUSE_US 1000
#define EXIT_ROWS 1000		      /* ended threads that get a row; the others are folded */
#define THREAD_ROWS 10000	      /* likewise of living ones */
#define ACTIVE_ROWS 1000	      /* of those beyond that which do something: most may be the rest of a pool */
#define ACTIVE_LIFE_NS 300000000ULL   /* before, the start alone makes a thread look active */
#define ACTIVE_PERIOD_NS 100000000ULL /* in which an active thread has a turn on a CPU */
#define ACTIVE_PART 100		      /* or a hundredth of its time */
#define TURN_SEQUENCE 4		      /* it comes and goes, and each is written between two steps */
#define EXIT_ROW_WALL_NS 10000000ULL  /* shorter lives are folded */
#define FUTEX_ROW_NS 1000000ULL
#define LAST_PASSES 50

struct thread_entry {
	uint64_t serial;
	uint32_t sequence; /* of the record when its last row was written */
	bool has_row;	   /* which its last one is to replace */
	bool final;	   /* its last row is written: an exit seen later is no news */
	UT_hash_handle hh;
};

void thread_write(struct recorder *recorder, const struct record *record, const struct record *open)
{
	struct json *json = &recorder->json;

	json_open(json, "thread");
	json_u64(json, "at_ns", record->at);
	json_u64(json, "serial", record->serial);
	json_u64(json, "pid", record->tgid);
	json_u64(json, "tid", record->tid);
	json_u64(json, "namespace_tid", record->namespace_tid);
	json_bytes(json, "comm", record->comm, strnlen(record->comm, COMM_BYTES));
	json_text(json, "state", record->state == STATE_CLOSED ? "exited" : "alive");
	json_u64(json, "start_ns", record->start);
	json_u64(json, "wall_ns", record->at - record->start);
	json_u64(json, "user_ns", record->user_ns - record->user_start_ns);
	json_u64(json, "kernel_ns", record->kernel_ns - record->kernel_start_ns);
	json_u64(json, "requests_read", record->requests_read);
	json_u64(json, "requests_turned", record->requests_turned);
	json_u64(json, "helped", record->helped);
	sums_write(json, "accounts", record->accounts);
	if (open->state == STATE_BLOCKED && open->waking <= open->since) {
		json_object(json, "open");
		json_text(json, "account", account_names[open->account]);
		object_write(recorder, "object", open->object);
		json_u64(json, "since_ns", open->since);
		json_end(json);
	}
	json_array(json, "futexes");
	for (int i = 0; i < DETAILS; i++) {
		const struct detail *detail = &record->details[i];

		if (!detail->count || detail->account != ACCOUNT_WAIT_PARKED || detail->ns < FUTEX_ROW_NS)
			continue;
		json_array(json, NULL);
		object_write(recorder, NULL, detail->object);
		json_u64(json, NULL, detail->ns);
		json_u64(json, NULL, detail->count);
		json_u64(json, NULL, detail->waker);
		json_end(json);
	}
	json_end(json);
	recorder->row_bytes += json->length;
	json_write(json, &recorder->output);
}

static struct thread_entry *know(struct recorder *recorder, uint64_t serial)
{
	struct thread_entry *entry;

	HASH_FIND(hh, recorder->threads, &serial, sizeof(serial), entry);
	if (!entry && (entry = calloc(1, sizeof(*entry)))) {
		entry->serial = serial;
		entry->sequence = UINT32_MAX;
		HASH_ADD(hh, recorder->threads, serial, sizeof(serial), entry);
	}
	return entry;
}

/* A process that was asked for by its pid is shown by its name, however soon it ended. */
static bool asked_for(const struct options *options, const struct record *record)
{
	if (record->tid != record->tgid)
		return false;
	for (size_t i = 0; i < options->pid_count; i++) {
		if (options->pids[i] == (pid_t)record->tid)
			return true;
	}
	return false;
}

/* Does it do something: have turns now and then, or have a CPU, or want one, for a part of its time? */
static bool is_active(const struct record *record)
{
	uint64_t wall_ns = record->at - record->start, turns = record->sequence / TURN_SEQUENCE, ns = 0;

	if (wall_ns < ACTIVE_LIFE_NS)
		return false;
	for (int account = ACCOUNT_CPU_USER; account <= ACCOUNT_RUNQ_THROTTLED; account++)
		ns += account == ACCOUNT_VM_HALT ? 0 : record->accounts[account].ns;
	return turns > wall_ns / ACTIVE_PERIOD_NS || ns > wall_ns / ACTIVE_PART;
}

static bool has_room(const struct recorder *recorder, const struct record *record)
{
	return recorder->thread_rows < THREAD_ROWS ||
	       (recorder->thread_rows < THREAD_ROWS + ACTIVE_ROWS && is_active(record));
}

/* While it lives. */
static bool keeps_row(struct recorder *recorder, struct thread_entry *entry, const struct record *record)
{
	if (entry && !entry->has_row && has_room(recorder, record)) {
		entry->has_row = true;
		recorder->thread_rows++;
	}
	return entry && entry->has_row;
}

/* When it has ended, without having had one. */
static bool gets_row(const struct recorder *recorder, const struct record *record)
{
	if (recorder->exit_rows >= EXIT_ROWS || recorder->options.host)
		return false;
	return record->at - record->start >= EXIT_ROW_WALL_NS || asked_for(&recorder->options, record);
}

static void fold_one(struct recorder *recorder, const struct record *record)
{
	struct fold one = fold_of(record);
	char comm[COMM_BYTES];

	host_comm(record, comm);
	fold_add(recorder, comm, &one);
}

void rows_exited(struct recorder *recorder, struct record *record, bool process_ended)
{
	struct thread_entry *entry;
	bool has_row;

	HASH_FIND(hh, recorder->threads, &record->serial, sizeof(record->serial), entry);
	if (entry && entry->final)
		return; /* its last row says all up to the end of the window */
	has_row = entry && entry->has_row;
	if (entry) {
		HASH_DEL(recorder->threads, entry);
		free(entry);
	}
	recorder->threads_seen++;
	recorder->exits++;
	recorder->exited_wall_ns += record->at - record->start;
	sums_add(recorder->exited_sums, record->accounts);
	if (recorder->options.host && host_take(recorder, record, record)) {
		details_add(recorder, record, NULL, host_pid(recorder, record));
		return;
	}
	details_add(recorder, record, NULL, process_ended ? 0 : record->tgid);
	if (has_row || gets_row(recorder, record)) {
		recorder->exit_rows += !has_row;
		thread_write(recorder, record, record);
		return;
	}
	fold_one(recorder, record);
}

static uint64_t ran_ns(const struct account_sum *sums)
{
	return sums[ACCOUNT_CPU_USER].ns + sums[ACCOUNT_CPU_KERNEL].ns + sums[ACCOUNT_CPU_IRQ].ns +
	       sums[ACCOUNT_VM_GUEST].ns + sums[ACCOUNT_VM_EXIT].ns;
}

static void write_interval(struct recorder *recorder, uint64_t at, uint64_t threads, uint64_t wall_ns,
			   struct account_sum *sums)
{
	struct json *json = &recorder->json;

	sums_add(sums, recorder->exited_sums);
	recorder->ran_ns = ran_ns(sums);
	recorder->ran_at_ns = at;
	json_open(json, "interval");
	json_u64(json, "at_ns", at);
	json_u64(json, "threads", threads);
	json_u64(json, "wall_ns", wall_ns + recorder->exited_wall_ns);
	sums_write(json, "accounts", sums);
	json_write(json, &recorder->output);
}

struct pass {
	struct account_sum sums[ACCOUNT_COUNT];
	uint64_t threads, wall_ns, switches;
	bool rows, last, running, waiting;
};

static void take_record(struct recorder *recorder, struct record *record, struct pass *pass)
{
	struct thread_entry *entry = pass->rows || pass->last ? know(recorder, record->serial) : NULL;
	struct detail spare[OPEN_SEGMENTS] = {};
	struct record open = *record;

	if (entry && entry->final)
		return; /* met in an earlier pass */
	if (pass->last && !entry) {
		recorder->rows_lost++; /* no memory to remember it by: a second pass would count it twice */
		return;
	}
	pass->switches += record->sequence;
	pass->running |= record->state != STATE_BLOCKED;
	pass->waiting |= !is_idle(record->account);
	book_open(record, spare);
	pass->threads++;
	pass->wall_ns += record->at - record->start;
	sums_add(pass->sums, record->accounts);
	if (!pass->rows && !pass->last)
		return;
	if (recorder->options.host) {
		if (!host_take(recorder, record, &open))
			fold_one(recorder, record);
	} else if (keeps_row(recorder, entry, record)) {
		if (pass->last || entry->sequence != record->sequence)
			thread_write(recorder, record, &open);
	} else if (pass->last) {
		fold_one(recorder, record);
	}
	if (entry)
		entry->sequence = record->sequence;
	if (pass->last) {
		recorder->threads_seen++;
		details_add(recorder, record, spare, host_pid(recorder, record));
		sleepers_add(&open, record->at);
		if (entry)
			entry->final = true;
	}
}

/* Returns how many records were being written each time they were looked at, or -errno. */
static int read_snapshot(struct recorder *recorder, struct pass *pass)
{
	uint64_t before, after;
	_cleanup_close_ int fd = probes_snapshot_fd(recorder);
	int err = lost_count(recorder, COUNTER_SNAPSHOTS_TORN, &before);
	__u32 *unmet = &recorder->skeleton->bss->without_record;
	struct record record;
	size_t have = 0;
	ssize_t length;

	if (fd < 0 || err)
		return fd < 0 ? fd : err;
	*unmet = 0;
	while ((length = read(fd, (char *)&record + have, sizeof(record) - have)) > 0) {
		have += length;
		if (have < sizeof(record))
			continue;
		have = 0;
		take_record(recorder, &record, pass);
	}
	if (length < 0)
		return -errno;
	recorder->left_out = *(volatile __u32 *)unmet;
	err = lost_count(recorder, COUNTER_SNAPSHOTS_TORN, &after);
	return err ? err : (int)(after - before);
}

/* The rows at the end: threads that switch every few microseconds can be missed, and must not be. */
static int last_rows(struct recorder *recorder, struct pass *pass)
{
	int torn = read_snapshot(recorder, pass);

	for (int i = 0; torn > 0 && i < LAST_PASSES; i++)
		torn = read_snapshot(recorder, pass);
	if (torn > 0)
		recorder->rows_lost += torn;
	return torn;
}

/*
 * A thread that ends is not to be found any more a moment before its last switch, which tells of its end: between the
 * two its books are in neither the snapshot nor the ring.
 */
static void await_ends(struct recorder *recorder, const struct pass *pass)
{
	volatile __u32 *living = &recorder->skeleton->bss->live_threads;
	int tries = ENDS_TRIES;

	while (*living > pass->threads && tries-- > 0) {
		usleep(ENDS_PAUSE_US);
		events_consume();
	}
}

int rows_interval(struct recorder *recorder, bool thread_rows, bool last)
{
	struct pass pass = { .rows = thread_rows, .last = last };
	uint64_t exits;
	int torn;

	events_consume();
	exits = recorder->exits;
	torn = last ? last_rows(recorder, &pass) : read_snapshot(recorder, &pass);
	if (torn < 0)
		return torn;
	if (last)
		await_ends(recorder, &pass);
	recorder->living = pass.threads;
	recorder->switches = pass.switches + recorder->exits;
	recorder->running = pass.running || torn;
	recorder->waiting = pass.waiting;
	events_consume();
	/* Sums that lack a thread, or have one twice, would run backwards: the next interval is as good. */
	if (last || (!torn && exits == recorder->exits && recorder->skeleton->bss->live_threads == pass.threads))
		write_interval(recorder, now_ns(), pass.threads, pass.wall_ns, pass.sums);
	return 0;
}

void rows_end(struct recorder *recorder)
{
	struct thread_entry *entry, *next;

	HASH_ITER(hh, recorder->threads, entry, next)
	{
		HASH_DEL(recorder->threads, entry);
		free(entry);
	}
}
