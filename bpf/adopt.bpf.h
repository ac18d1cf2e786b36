/* SPDX-License-Identifier: GPL-2.0-only */
/* A thread that lived before it was followed gets its record: its window begins in the middle of what it does. */
#pragma once
#include "classify.bpf.h"
#include "record.bpf.h"

static __always_inline void adopt(struct task_struct *task)
{
	struct record *record = create_record(task);
	struct blocked blocked = {};

	if (!record || task->exit_state || !begin_record(record, task)) /* its last switch may be over */
		return;
	if (!task_state(task)) {
		record->state = STATE_RUNNABLE;
		return;
	}
	describe(task, &blocked);
	blocked.marker = marker_of(task);
	classify(record, &blocked);
}
