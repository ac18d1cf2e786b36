/* SPDX-License-Identifier: GPL-2.0-only */
/* What a thread tried last, and did not get: a call that failed, an answer that is an error, a child that ended so. */
#pragma once
#include "core/maps.bpf.h"

#define SHORTEST_SLEEP_NS 1000000ULL

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct failed_call);
} last_failed SEC(".maps");

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 512);
	__type(key, struct failed_call_key);
	__type(value, struct failed_call_sum);
} failed_calls SEC(".maps");

/* Room for what has just failed; NULL: there is none, or the task is not of the target. */
static __always_inline struct failed_call *failed_of(struct task_struct *task)
{
	struct failed_call *failed;

	if (!record_of(task))
		return NULL;
	failed = bpf_task_storage_get(&last_failed, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!failed)
		count_loss(COUNTER_FAILED_CALLS_FULL);
	return failed;
}

/* What a task has failed in last; NULL: nothing yet. */
static __always_inline struct failed_call *last_failure(struct task_struct *task)
{
	return has_storage(task) ? bpf_task_storage_get(&last_failed, task, NULL, 0) : NULL;
}

static __always_inline void begin_failure(struct failed_call *failed, const struct failure *what)
{
	failed->at = bpf_ktime_get_ns();
	failed->what = *what;
	failed->object = failed->minor = failed->after = 0;
	failed->kind = ARGUMENT_NONE;
}

/*
 * What succeeds after all is not what a thread sleeps for.  `for_all`: nothing tells for what the call is made, so that the
 * next failure is perhaps for something else.
 */
static __always_inline void forget_tries(struct task_struct *task, __u64 call, bool for_all)
{
	struct failed_call *failed = last_failure(task);

	if (!failed)
		return;
	if (failed->at && failed->what.call == call && !failed->what.ended)
		failed->at = 0;
	if (for_all && failed->slept_for.call == call && !failed->slept_for.ended)
		failed->slept_for.call = 0;
}

/* Who gets an answer elsewhere before it fails again does other work in between, and its sleep may be for that. */
static __always_inline void note_answered(struct task_struct *task, __u64 peer)
{
	struct failed_call *failed = last_failure(task);

	if (failed && failed->answered != peer)
		failed->answered = failed->answered ? SEVERAL_PEERS : peer;
}

static __always_inline bool has_other_answer(const struct failed_call *failed)
{
	return failed->answered && failed->answered != failed->object;
}

static __always_inline bool is_same(const struct failure *one, const struct failure *other)
{
	const __u64 *words = (const __u64 *)one, *others = (const __u64 *)other;

	return words[0] == others[0] && words[1] == others[1] && words[2] == others[2] && words[3] == others[3];
}

/*
 * Who tries in vain sleeps, or has somebody of that name sleep: after the same a second time, that is why.  What fails in the
 * next request fails for that: it is no second try.  Nor is what fails in each turn of a loop that does other work as well.
 */
static __always_inline void book_try(struct failed_call *failed, const char *comm, const struct record *who, __u64 ns)
{
	struct failed_call_key key = { .what = failed->what };
	struct failed_call_sum *sum;
	bool other = has_other_answer(failed);

	__builtin_memcpy(key.comm, comm, sizeof(key.comm));
	failed->at = failed->answered = 0;
	if (other || !is_same(&failed->slept_for, &failed->what) || failed->slept_read != who->requests_read) {
		failed->slept_for = failed->what;
		failed->slept_read = who->requests_read;
		failed->slept_ns = ns;
		return;
	}
	sum = FIND_OR_MAKE(failed_calls, &key, COUNTER_FAILED_CALLS_FULL, NULL);
	if (!sum)
		return;
	__sync_fetch_and_add(&sum->sleeps, failed->slept_ns ? 2 : 1);
	__sync_fetch_and_add(&sum->ns, ns + failed->slept_ns);
	sum->tgid = who->tgid;
	if (failed->slept_ns > ns)
		ns = failed->slept_ns;
	if (ns > sum->max_ns) { /* two can race: tolerated, as in ADD_SHARED() */
		sum->max_ns = ns;
		sum->longest = *failed;
	}
	failed->slept_ns = 0;
}
