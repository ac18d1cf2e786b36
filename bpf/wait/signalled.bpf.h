/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a signal end a wait?  Who sent it has not done what the thread waits for, which mostly waits on then.  A signal is
 * pending before its thread is woken: of that the flag says nothing portable (TIF_SIGPENDING has another place on each
 * architecture, and since Linux 6.18 on x86), but the sets of signals do.
 */
#pragma once
#include "core/ledger.bpf.h"

static __always_inline bool has_signal(struct task_struct *task)
{
	__u64 pending = LOAD(task_struct, task, pending.signal.sig[0]) |
			LOAD(signal_struct, LOAD(task_struct, task, signal), shared_pending.signal.sig[0]);

	return pending & ~LOAD(task_struct, task, blocked.sig[0]);
}

static __always_inline bool is_child_of(struct task_struct *child, __u32 tgid)
{
	return LOAD(task_struct, LOAD(task_struct, child, real_parent), tgid) == tgid ||
	       LOAD(task_struct, LOAD(task_struct, child, parent), tgid) == tgid;
}

/*
 * At sched_waking, by the current task.  A child that ends sends a signal, too.  With a stack of its own: what is called
 * later in sched_waking needs all that there is.
 */
static __noinline int is_signalled(const struct record *record, struct task_struct *task, struct task_struct *waker)
{
	if (record->state != STATE_BLOCKED || record->account == ACCOUNT_WAIT_SIGNAL || !has_signal(task))
		return 0;
	return record->account != ACCOUNT_WAIT_CHILD || !is_child_of(waker, task->tgid);
}
