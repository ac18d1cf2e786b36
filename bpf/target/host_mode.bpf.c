// SPDX-License-Identifier: GPL-2.0-only
/*
 * host_mode - who on this host begins to do anything?
 *
 * HOOKS   tp_btf sched_waking, attached in host mode only: a thread that wakes up for the first time gets its record.
 *         Threads that are made get it at their fork, those that run or wait when the window begins in the sweep.
 * COST    one look-up of task storage a wake-up.  Threads that sleep all along cost nothing.
 * CANNOT  make storage on kernels where that may wait for a lock (before 6.4): there user space is asked to meet the
 *         thread, and does so some milliseconds later.
 */
#include "target/host_mode.bpf.h"
#include "core/record.bpf.h"

char LICENSE[] SEC("license") = "GPL";

__u32 asked[ASKED]; /* user space takes a thread out when it has met it */

/* Asks once: who is asked for again meanwhile is on its way. */
static __always_inline void ask_to_meet(struct task_struct *task)
{
	__u32 tid = task->pid, place = tid % ASKED;
	struct event event = {};

	if (asked[place] == tid)
		return;
	head_event(&event, EVENT_MEET, task->tgid, tid, bpf_ktime_get_ns());
	if (bpf_ringbuf_output(&ring, &event, sizeof(event), BPF_RB_FORCE_WAKEUP))
		count_loss(COUNTER_RING_BUFFER);
	else
		asked[place] = tid;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(host_waking, struct task_struct *task)
{
	struct record *record = record_of(task);

	if (record || !knobs.host || task->exit_state || is_left_out(task))
		return 0;
	if (may_allocate_anywhere())
		record = bpf_task_storage_get(&records, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!record) { /* or none was at hand: what is kept for this runs short when many come at once */
		ask_to_meet(task);
		return 0;
	}
	/* Woken on its way to sleep, it still runs. */
	if (begin_record(record, task))
		record->state = STATE_RUNNABLE;
	return 0;
}
