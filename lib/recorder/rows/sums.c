// SPDX-License-Identifier: GPL-2.0-only
/* Account sums and histograms: added, written, and extended by the segment that is still open. */
#include <string.h>
#include "recorder.h"

#define ACCOUNT_NAME(id, name) name,
const char *const account_names[ACCOUNT_COUNT] = { ACCOUNTS(ACCOUNT_NAME) };

void sums_add(struct account_sum *sums, const struct account_sum *more)
{
	for (int i = 0; i < ACCOUNT_COUNT; i++) {
		sums[i].ns += more[i].ns;
		sums[i].count += more[i].count;
		if (more[i].max_us > sums[i].max_us)
			sums[i].max_us = more[i].max_us;
	}
}

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int bucket = ns >> 8 ? 64 - __builtin_clzll(ns >> 8) : 0;

	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

static void add_to_detail(struct detail *detail, enum account account, __u64 object, uint64_t ns)
{
	uint64_t us = ns / 1000;

	detail->account = account;
	detail->object = object;
	detail->ns += ns;
	detail->count++;
	detail->buckets[bucket_of(ns)]++;
	if (us > detail->max_us)
		detail->max_us = us;
}

static void add_to_sum(struct record *record, enum account account, uint64_t ns)
{
	struct account_sum *sum = &record->accounts[account];
	uint64_t us = ns / 1000;

	sum->ns += ns;
	sum->count++;
	if (us > sum->max_us)
		sum->max_us = us;
}

/* As book() of the kernel side, for the segment that is still open; *spare takes a detail that finds no place. */
static void book(struct record *record, struct detail **spare, enum account account, __u64 object, uint64_t ns)
{
	add_to_sum(record, account, ns);
	for (int i = 0; i < DETAILS; i++) {
		struct detail *detail = &record->details[i];

		if (!detail->count || (detail->account == account && detail->object == object))
			return add_to_detail(detail, account, object, ns);
	}
	add_to_detail((*spare)++, account, object, ns);
}

static void book_running(struct record *record, struct detail **spare, uint64_t ns)
{
	enum account account = vm_account(record->vm, running_account(record->region));
	uint64_t guest_ns = record->guest_ns < ns ? record->guest_ns : ns; /* as book_guest() of the kernel side */

	if (record->region == REGION_NONE && guest_ns) {
		book(record, spare, ACCOUNT_VM_GUEST, 0, guest_ns);
		ns -= guest_ns;
	}
	if (account == ACCOUNT_CPU_USER)
		add_to_sum(record, account, ns);
	else
		book(record, spare, account,
		     account == ACCOUNT_VM_EXIT ? record->left.exit
						: region_object(record->region, record->region_detail),
		     ns);
}

/* Extends the segment that is still open up to the moment the record was copied. */
void book_open(struct record *record, struct detail spare[OPEN_SEGMENTS])
{
	uint64_t since = record->since, waking = record->waking, end = record->at;

	if (end <= since)
		return;
	if (record->state == STATE_RUNNING)
		return book_running(record, &spare, end - since);
	/* On a CPU without having been seen coming in (book_unseen_run() of the kernel side says why): it ran last. */
	if (record->on_cpu && record->run_ns < end - since) {
		end -= record->run_ns;
		add_to_sum(record, ACCOUNT_CPU_USER, record->run_ns);
	}
	if (record->state == STATE_BLOCKED) {
		if (waking <= since || waking > end)
			waking = end;
		book(record, &spare, record->account, record->object, waking - since);
		since = waking;
	}
	if (end > since)
		book(record, &spare, record->throttled ? account_of_throttled(record->throttled) : ACCOUNT_RUNQ_BUSY,
		     object_of_throttled(record->throttled, 0), end - since);
}

struct fold fold_of(const struct record *record)
{
	struct fold fold = { .wall_ns = record->at - record->start,
			     .user_ns = record->user_ns - record->user_start_ns,
			     .kernel_ns = record->kernel_ns - record->kernel_start_ns,
			     .threads = 1,
			     .processes = record->tid == record->tgid };

	memcpy(fold.accounts, record->accounts, sizeof(fold.accounts));
	return fold;
}

void fold_merge(struct fold *fold, const struct fold *more)
{
	fold->wall_ns += more->wall_ns;
	fold->user_ns += more->user_ns;
	fold->kernel_ns += more->kernel_ns;
	fold->threads += more->threads;
	fold->processes += more->processes;
	sums_add(fold->accounts, more->accounts);
}

void sums_write(struct json *json, const char *key, const struct account_sum *sums)
{
	json_array(json, key);
	for (int i = 0; i < ACCOUNT_COUNT; i++) {
		if (!sums[i].count)
			continue;
		json_array(json, NULL);
		json_text(json, NULL, account_names[i]);
		json_u64(json, NULL, sums[i].ns);
		json_u64(json, NULL, sums[i].count);
		json_u64(json, NULL, (uint64_t)sums[i].max_us * 1000);
		json_end(json);
	}
	json_end(json);
}

void fold_write(struct json *json, const struct fold *fold)
{
	json_u64(json, "threads", fold->threads);
	json_u64(json, "processes", fold->processes);
	json_u64(json, "wall_ns", fold->wall_ns);
	json_u64(json, "user_ns", fold->user_ns);
	json_u64(json, "kernel_ns", fold->kernel_ns);
	sums_write(json, "accounts", fold->accounts);
}

void counts_write(struct json *json, const char *key, const __u32 *buckets, int number)
{
	json_array(json, key);
	for (int i = 0; i < number; i++) {
		if (!buckets[i])
			continue;
		json_array(json, NULL);
		json_u64(json, NULL, i);
		json_u64(json, NULL, buckets[i]);
		json_end(json);
	}
	json_end(json);
}

void buckets_write(struct json *json, const char *key, const __u32 *buckets)
{
	counts_write(json, key, buckets, BUCKETS);
}
