/* SPDX-License-Identifier: GPL-2.0-only */
/* A thread's record from its first moment to its last: opened, named, closed. */
#pragma once
#include "wait/timeline.bpf.h"
#include "core/ledger.bpf.h"

/* Threads that ended while the ring was full, by the comm of their process. */
struct fold_key {
	char comm[COMM_BYTES];
};

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct fold_key);
	__type(value, struct fold);
} folds SEC(".maps");

/* Room for one record, which is too large for the stack. */
LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct record);
} record_scratch SEC(".maps");

#ifdef LEDGER_DEFINE
__u64 last_serial;
__u32 live_threads;
#else
extern __u64 last_serial;
extern __u32 live_threads;
#endif

static __always_inline __u32 namespace_tid(struct task_struct *task)
{
	struct pid *pid = LOAD(task_struct, task, thread_pid); /* gone when it exits */
	__u32 level = LOAD(pid, pid, level);
	int nr = 0;

	bpf_probe_read_kernel(&nr, sizeof(nr), &pid->numbers[0].nr + level * 4); /* struct upid: nr, ns */
	return nr;
}

static __always_inline void copy_comm(char *to, const char *from)
{
	bpf_probe_read_kernel(to, COMM_BYTES, from);
}

/* Fills in a record whose storage has just been made; its window begins now. */
static __always_inline void open_record(struct record *record, struct task_struct *task, __u64 now)
{
	record->serial = __sync_fetch_and_add(&last_serial, 1) + 1;
	record->start = now;
	record->since = now;
	record->tid = task->pid;
	record->tgid = task->tgid;
	record->namespace_tid = namespace_tid(task);
	record->run_ns = task->se.sum_exec_runtime;
	record->user_start_ns = task->utime - task->gtime;
	record->kernel_start_ns = task->stime;
	record->guest_ns = task->gtime;
	record->kernel_thread = task->flags & PF_KTHREAD ? 1 : 0;
	record->taken = knobs.closing;
	__sync_fetch_and_add(&live_threads, 1);
	begin_chain(task, now);
}

/* Begins a running segment: remembers the clocks of interrupts and steal. */
static __always_inline void begin_running(struct record *record, struct task_struct *task, struct cpu_state *cpu,
					  __u64 now)
{
	record->state = STATE_RUNNING;
	record->since = now;
	record->irq_ns = cpu ? cpu->irq_ns : 0;
	record->steal_ns = steal_clock(task);
	if (cpu) {
		cpu->follows = 1;
		cpu->sum.running_since = now;
	}
}

/*
 * Opens the record of a task that is met in the middle of what it does, unless its fork, its exec or somebody else has:
 * then that stands.  True: it is on no CPU, what it does instead is to be told.
 */
static __always_inline bool begin_record(struct record *record, struct task_struct *task)
{
	__u64 now = bpf_ktime_get_ns();

	if (record->start)
		return false;
	/* A switch that comes in between must find where the open segment began. */
	record->since = now;
	record->run_ns = task->se.sum_exec_runtime;
	if (__sync_val_compare_and_swap(&record->start, 0, now))
		return false;
	open_record(record, task, now);
	if (!task->on_cpu)
		return true;
	record->state = STATE_RUNNING;
	record->steal_ns = steal_clock(task);
	return false;
}

static __always_inline struct record *create_record(struct task_struct *task)
{
	struct record *record = bpf_task_storage_get(&records, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!record)
		count_loss(COUNTER_STORAGE_FAILED);
	return record;
}

static __always_inline void copy_names(struct record *record, struct task_struct *task)
{
	copy_comm(record->comm, task->comm);
	copy_comm(record->process_comm, LOAD(task_struct, task, group_leader)->comm);
	record->tid = task->pid; /* exec by a thread takes over the leader's */
	if (LOAD(task_struct, task, thread_pid))
		record->namespace_tid = namespace_tid(task);
	record->user_ns = task->utime - task->gtime; /* a guest's time stands in both */
	record->kernel_ns = task->stime;
}

struct folding {
	struct fold *fold;
	struct record *record;
};

static long fold_account(__u32 account, struct folding *folding)
{
	struct account_sum *sum, *more;

	if (account >= ACCOUNT_COUNT)
		return 1;
	sum = &folding->fold->accounts[account];
	more = &folding->record->accounts[account];
	__sync_fetch_and_add(&sum->ns, more->ns);
	__sync_fetch_and_add(&sum->count, more->count);
	if (more->max_us > sum->max_us)
		sum->max_us = more->max_us;
	return 0;
}

/* A thread's last switch: its books go into the ring whole, or, when that is full, into the fold of its process. */
__weak __noinline int close_record(struct record *record, bool process_ended, __u32 exit_code)
{
	struct exit_event *event;
	struct fold_key key = {};
	struct fold *fold;

	if (!record || record->taken)
		return 0;
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (event) {
		head_event(&event->event, EVENT_EXIT, record->tgid, record->tid, record->at);
		event->process_ended = process_ended;
		event->exit_code = exit_code;
		bpf_probe_read_kernel(&event->record, sizeof(event->record), record);
		bpf_ringbuf_submit(event, process_ended ? BPF_RB_FORCE_WAKEUP : gather());
		return 0;
	}
	count_loss(COUNTER_RING_BUFFER);
	copy_comm(key.comm, record->process_comm);
	fold = FIND_OR_MAKE(folds, &key, COUNTER_EXITED_FOLDED_FULL, NULL);
	if (!fold)
		return 0;
	__sync_fetch_and_add(&fold->wall_ns, record->at - record->start);
	__sync_fetch_and_add(&fold->user_ns, record->user_ns - record->user_start_ns);
	__sync_fetch_and_add(&fold->kernel_ns, record->kernel_ns - record->kernel_start_ns);
	__sync_fetch_and_add(&fold->threads, 1);
	__sync_fetch_and_add(&fold->processes, record->tid == record->tgid);
	bpf_loop(ACCOUNT_COUNT, fold_account, &(struct folding){ fold, record }, 0);
	return 0;
}
