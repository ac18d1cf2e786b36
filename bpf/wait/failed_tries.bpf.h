/* SPDX-License-Identifier: GPL-2.0-only */
/* What a thread tried last, and did not get: a system call that failed, or an answer that is an error. */
#pragma once
#include "core/maps.bpf.h"

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct failed_call);
} last_failed SEC(".maps");

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

/* What succeeds after all is not what a thread sleeps for. */
static __always_inline void forget_tries(struct task_struct *task, __u64 call)
{
	struct failed_call *failed;

	if (!task->bpf_storage)
		return;
	failed = bpf_task_storage_get(&last_failed, task, NULL, 0);
	if (failed && failed->at && failed->call == call)
		failed->at = 0;
}
