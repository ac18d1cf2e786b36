/* SPDX-License-Identifier: GPL-2.0-only */
/* A thread that lived before it was followed gets its record: its window begins in the middle of what it does. */
#pragma once
#include "wait/classify.bpf.h"
#include "core/record.bpf.h"

/* What a call waits for that has no account of its own only its stack tells, and it may never come back from it. */
static __always_inline void sample_sleeper(struct task_struct *task, const struct record *record)
{
	struct stack_event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);

	if (!event) {
		count_loss(COUNTER_STACKS_DROPPED);
		return;
	}
	head_event(&event->event, EVENT_STACK, record->tgid, record->tid, record->start);
	event->object = record->object;
	event->account = record->account;
	event->on_cpu = event->in_call = event->in_long_turn = event->of_peer = 0;
	event->weight_ns = event->stack_offset = 0;
	event->user_bytes = event->scan_bytes = 0;
	event->kernel_bytes = bpf_get_task_stack(task, event->kernel, sizeof(event->kernel), 0);
	bpf_ringbuf_submit(event, gather());
}

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
	if (record->account == ACCOUNT_KERNEL_OTHER)
		sample_sleeper(task, record);
}
