/* SPDX-License-Identifier: GPL-2.0-only */
/* A thread that lived before it was followed gets its record: its window begins in the middle of what it does. */
#pragma once
#include "classify.bpf.h"
#include "record.bpf.h"

static __always_inline void adopt(struct task_struct *task)
{
	struct record *record = create_record(task);
	__u64 now;

	if (!record)
		return;
	now = bpf_ktime_get_ns();
	/*
	 * Its fork or exec may have begun the record: then that stands.  A switch that comes in between must find where
	 * the open segment began.
	 */
	if (record->start || task->exit_state) /* its last switch may be over */
		return;
	record->since = now;
	record->run_ns = task->se.sum_exec_runtime;
	if (__sync_val_compare_and_swap(&record->start, 0, now))
		return;
	open_record(record, task, now);
	if (task->on_cpu) {
		record->state = STATE_RUNNING;
		record->steal_ns = steal_clock(task);
	} else if (!task_state(task)) {
		record->state = STATE_RUNNABLE;
	} else {
		struct blocked blocked = {};

		describe(task, &blocked);
		blocked.marker = marker_of(task);
		classify(record, &blocked);
	}
}
