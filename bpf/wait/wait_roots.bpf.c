// SPDX-License-Identifier: GPL-2.0-only
/*
 * wait_roots - for what did threads wait, when they waited for each other?  The reasons that living threads keep.
 *
 * HOOKS   iter/task, once, when the window is over.  What it gathers is found at sched_waking (wait/waker.bpf.h).
 * COST    one look-up of task storage a task of the host, at the end.
 * CANNOT  follow a wake-up from an interrupt, nor between threads of the target over loopback: packets are received in a
 *         softirq.  Waits under 20 us are not followed for what that would cost.
 */
#include "wait/timeline.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("iter/task")
int gather_reasons(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct chain *chain = task ? chain_of(task) : NULL;

	if (chain)
		spill_reasons(chain, task->tgid);
	return 0;
}
