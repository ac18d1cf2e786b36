// SPDX-License-Identifier: GPL-2.0-only
/*
 * oom_kill - whom does the OOM killer end while we record, and who asked for the memory?
 *
 * HOOKS   tp_btf mark_victim.
 * COST    none until memory is gone: it runs once a victim.
 * CANNOT  say which limit was met and what memory was used for: the kernel log does.  Nor tell a victim from a process
 *         that was ending by itself when its memory was wanted: the kernel marks that too, and then kills nobody.
 */
#include "core/maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/mark_victim")
int mark_victim(__u64 *ctx)
{
	struct task_struct *asker = bpf_get_current_task_btf(), *victim;
	struct kill_event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	__u64 first = ctx[0];

	if (!event) {
		count_loss(COUNTER_RING_BUFFER);
		return 0;
	}
	head_event(&event->event, EVENT_KILL, first, first, bpf_ktime_get_ns());
	event->asker = asker->tgid;
	event->padding = 0;
	bpf_core_read(event->asker_comm, sizeof(event->asker_comm), &asker->comm);
	__builtin_memset(event->comm, 0, sizeof(event->comm));
	if (victim_is_task()) {
		victim = (struct task_struct *)first;
		event->event.tgid = BPF_CORE_READ(victim, tgid);
		event->event.tid = BPF_CORE_READ(victim, pid);
		bpf_core_read(event->comm, sizeof(event->comm), &victim->comm);
	}
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP); /* the next victim may be the recorder */
	return 0;
}
