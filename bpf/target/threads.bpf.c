// SPDX-License-Identifier: GPL-2.0-only
/*
 * threads - which threads belong to the target, and how do their books stand?
 *
 * HOOKS   tp_btf sched_process_fork, sched_process_exec; iter/task for the first sweep and for snapshots.
 * COST    one look-up of task storage a fork or exec, and where a control group is followed, one of its group a fork;
 *         a snapshot copies 3.8 kB a thread of the target.
 * CANNOT  see what a thread waited for before its record was made: its window begins there.
 */
#include "app/script_frames.bpf.h"
#include "target/existing_thread.bpf.h"
#include "target/cgroup.bpf.h"
#include "target/host_mode.bpf.h"
#include "wait/peer_record.bpf.h"

char LICENSE[] SEC("license") = "GPL";

__u32 without_record; /* tasks of the host that were met by snapshots, and have none: they did not run */
__u32 swept_up;	      /* tasks of the target to which sweeps gave a record */

/* Processes to follow: enum target_mode by tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u32);
} targets SEC(".maps");

/* What a peer starts, such as a thread for a connection, is its, too. */
static __always_inline void begin_child_of_peer(struct task_struct *parent, struct task_struct *child, __u64 now)
{
	struct record *maker = peer_of(parent), *peer = maker ? begin_peer(child, now) : NULL;

	if (!peer)
		return;
	peer->state = STATE_RUNNABLE;
	inherit_chain(child, parent, peer, now);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	struct record *record = record_of(parent), *maker = record;
	__u64 now = bpf_ktime_get_ns();

	/* A child can begin its life in the group (CLONE_INTO_CGROUP), and its parent can have just come into it. */
	if (knobs.host ? is_left_out(child)
	    : record   ? !knobs.descendants && child->tgid != parent->tgid
		       : is_own(child) || !in_followed_group(&(struct address){ (__u64)child })) {
		if (!record)
			begin_child_of_peer(parent, child, now);
		return 0;
	}
	record = create_record(child);
	if (!record)
		return 0;
	begin_write(record);
	open_record(record, child, now);
	record->state = STATE_RUNNABLE;
	end_write(record);
	if (maker)
		inherit_chain(child, parent, maker, now);
	if (maker && child->tgid != parent->tgid)
		maker->forked_at = now;
	if (knobs.databases && child->tgid != parent->tgid)
		inherit_database(parent->tgid, child->tgid);
	if (knobs.interpreters && child->tgid != parent->tgid)
		inherit_interpreter(parent->tgid, child->tgid);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(sched_process_exec, struct task_struct *task, __u32 old_tid)
{
	struct record *record = record_of(task);
	__u32 tgid = task->tgid, *mode;
	struct exec_event *event;
	__u64 now = bpf_ktime_get_ns();

	if (!record) {
		mode = bpf_map_lookup_elem(&targets, &tgid);
		if (!mode || *mode != TARGET_ON_EXEC)
			return 0;
		record = create_record(task);
		if (!record)
			return 0;
		begin_write(record);
		open_record(record, task, now);
		begin_running(record, task, this_cpu(), now);
		end_write(record);
	}
	forget_database(tgid);
	forget_interpreter(tgid);
	if (knobs.host)
		return 0; /* a host has too many to tell each */
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (!event) {
		count_loss(COUNTER_RING_BUFFER);
		return 0;
	}
	head_event(&event->event, EVENT_EXEC, tgid, task->pid, now);
	event->old_tid = old_tid;
	copy_comm(event->comm, task->comm);
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP); /* its maps are wanted now: it may not live long */
	return 0;
}

/* Its parent's record makes a child a target: sweeps are repeated until none finds one more. */
static __always_inline bool is_target(struct task_struct *task)
{
	__u32 tgid = task->tgid, *mode = bpf_map_lookup_elem(&targets, &tgid);

	if (mode)
		return *mode == TARGET_ALL;
	return knobs.descendants && tgid > 1 && record_of(task->group_leader->real_parent);
}

/* Of the shell that it was started from perfdiag is a descendant.  A pid that was asked for is always a target. */
static __always_inline bool is_perfdiag(struct task_struct *task)
{
	__u32 tgid = task->tgid;

	return !bpf_map_lookup_elem(&targets, &tgid) && (knobs.swept ? is_own(task) : is_left_out(task));
}

/*
 * A record for every thread of the target that lives already: at the start, and when processes joined its group.  By
 * then a pid that was asked for can be another's: only the group counts.
 */
SEC("iter/task")
int sweep(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	knobs.has_steal_clock = has_steal_clock();
	knobs.has_throttled_clock = has_throttled_clock() || has_throttle_count();
	if (knobs.host) {
		if (task && !task->exit_state && !record_of(task) && host_wants(task))
			adopt(task);
		return 0;
	}
	if (!task || task->exit_state || (task->flags & PF_KTHREAD && !(task->flags & PF_IO_WORKER)) ||
	    !((!knobs.swept && is_target(task)) || in_followed_group(&(struct address){ (__u64)task })) ||
	    record_of(task) || is_perfdiag(task))
		return 0;
	adopt(task);
	if (record_of(task))
		swept_up++;
	return 0;
}

/*
 * Copies the record of every living thread of the target; user space extends the open segment up to `at`.  With the last
 * copy a thread's part in what is read later ends, such as details without room in a record: what is booked beside the
 * accounts is then what was booked to them.
 */
SEC("iter/task")
int snapshot(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct record *record, *copy;
	__u32 zero = 0, before;
	__u8 taken;

	if (!task)
		return 0;
	record = record_of(task);
	copy = bpf_map_lookup_elem(&record_scratch, &zero);
	if (!record && knobs.host && !task->exit_state && !is_left_out(task))
		__sync_fetch_and_add(&without_record, 1);
	if (!record || !copy || !record->start || record->state == STATE_CLOSED)
		return 0;
	taken = record->taken;
	for (int attempt = 0; attempt < 4; attempt++) {
		before = __sync_fetch_and_add(&record->sequence, 0);
		if (before & 1)
			continue;
		bpf_probe_read_kernel(copy, sizeof(*copy), record);
		copy->at = bpf_ktime_get_ns();
		record->taken = taken | knobs.closing;
		if (__sync_fetch_and_add(&record->sequence, 0) != before) {
			record->taken = taken;
			continue;
		}
		copy_names(copy, task);
		copy->guest_ns = knobs.sees_guests ? 0 : task->gtime - record->guest_ns;
		copy->on_cpu = task->on_cpu;
		copy->run_ns = task->se.sum_exec_runtime - record->run_ns;
		if (bpf_seq_write(ctx->meta->seq, copy, sizeof(*copy)))
			record->taken = taken; /* no room: the kernel comes back to this thread with the next read */
		return 0;
	}
	count_loss(COUNTER_SNAPSHOTS_TORN);
	return 0;
}

/* Records for the threads of processes that end waits of the target from outside. */
SEC("iter/task")
int meet_peers(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct blocked blocked = {};
	struct record *peer;
	__u32 tgid;

	if (!task || task->exit_state || task->flags & PF_KTHREAD || record_of(task) || peer_of(task))
		return 0;
	tgid = task->tgid;
	if (!bpf_map_lookup_elem(&peer_processes, &tgid) || is_own(task))
		return 0;
	peer = begin_peer(task, bpf_ktime_get_ns());
	if (!peer || task->on_cpu || !task_state(task))
		return 0;
	describe(task, &blocked);
	blocked.marker = marker_of(task);
	classify(peer, &blocked);
	return 0;
}
