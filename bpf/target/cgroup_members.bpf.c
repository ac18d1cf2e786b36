// SPDX-License-Identifier: GPL-2.0-only
/*
 * cgroup_members - which processes come into the control group that is followed, after the start?
 *
 * HOOKS   tp_btf cgroup_attach_task, cgroup_mkdir; a process that begins its life there is met at its fork (threads).
 * COST    attached only where a control group is followed; runs when a process changes its group or a group is made.
 * CANNOT  take leave: who moves out of the group is followed to its end.  Nor meet processes again after a restart
 *         that made the group's parent anew, too.
 */
#include "target/existing_thread.bpf.h"
#include "target/cgroup.bpf.h"

char LICENSE[] SEC("license") = "GPL";

__u32 sweep_wanted; /* threads without records came into the group: user space takes the mark away, and sweeps */

static __always_inline void tell_join(struct task_struct *task)
{
	struct join_event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);

	if (!event) {
		count_loss(COUNTER_RING_BUFFER);
		return;
	}
	head_event(&event->event, EVENT_JOIN, task->tgid, task->pid, bpf_ktime_get_ns());
	copy_comm(event->comm, task->comm);
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
}

/* Called once for all threads of a process that move together. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(group_joined, struct cgroup *group, const char *path, struct task_struct *task)
{
	if (task->flags & PF_KTHREAD || record_of(task) || !in_followed_hierarchy(group) ||
	    !is_followed(&(struct address){ (__u64)group }))
		return 0;
	adopt(task);
	/* Not said by the event, which may find no room.  The recorder wakes up none the less: a full ring is read. */
	if (LOAD(signal_struct, LOAD(task_struct, task, signal), nr_threads) > 1)
		sweep_wanted = 1;
	tell_join(task);
	return 0;
}

/* systemd removes the group of a unit that ends, and makes it anew when the unit starts. */
SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(group_made, struct cgroup *group)
{
	union {
		char bytes[GROUP_NAME_BYTES];
		__u64 words[GROUP_NAME_BYTES / 8];
	} name = {}, *wanted = (void *)knobs.group.name;
	int level = group->level;

	if (!in_followed_hierarchy(group) || level < 1 ||
	    BPF_CORE_READ(ancestor_of(group, level - 1), kn, id) != knobs.group.parent_id)
		return 0;
	bpf_probe_read_kernel_str(name.bytes, sizeof(name), BPF_CORE_READ(group, kn, name));
	for (int i = 0; i < GROUP_NAME_BYTES / 8; i++)
		if (name.words[i] != wanted->words[i])
			return 0;
	knobs.group.id = BPF_CORE_READ(group, kn, id);
	return 0;
}
