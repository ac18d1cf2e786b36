/* SPDX-License-Identifier: GPL-2.0-only */
/* What is booked at a switch: the running segment that ends, the wait that is over, the time until a CPU was there. */
#pragma once
#include "wait/waker.bpf.h"
#include "wait/classify.bpf.h"
#include "memory/uncached_read.bpf.h"
#include "core/ledger.bpf.h"
#include "core/record.bpf.h"

#define MAX_RT_PRIO 100

/*
 * Of a thread that has reserved runtime (SCHED_DEADLINE): is that used up?  It runs again in its next period, before all
 * that have reserved nothing; its CPU may be idle until then.
 */
static __always_inline enum throttled held_by_deadline(struct task_struct *task)
{
	if (!BPF_CORE_READ_BITFIELD(task, dl.dl_throttled))
		return THROTTLED_NOT;
	return BPF_CORE_READ_BITFIELD(task, dl.dl_yielded) ? THROTTLED_YIELDED : THROTTLED_DEADLINE;
}

/* Of a real-time thread: have those of its CPU used up what sched_rt_runtime_us leaves to them of this period? */
static __always_inline enum throttled held_by_realtime_limit(struct task_struct *task)
{
	struct rq *rq;

	if (!has_realtime_throttling())
		return THROTTLED_NOT;
	rq = LOAD(cfs_rq, LOAD(task_struct, task, se.cfs_rq), rq); /* kept up for a thread of any policy */
	return LOAD(rq, rq, rt.rt_throttled) ? THROTTLED_REALTIME : THROTTLED_NOT;
}

/* Policies before SCHED_OTHER, which no quota of a group holds back. */
static __always_inline bool is_realtime(struct task_struct *task)
{
	return task->prio < MAX_RT_PRIO;
}

static __always_inline enum throttled held_by_policy(struct task_struct *task)
{
	return task->prio < 0 ? held_by_deadline(task) : held_by_realtime_limit(task);
}

static __always_inline void note_throttling(struct record *record, struct task_struct *task)
{
	struct cfs_rq *cfs_rq;

	record->cfs_rq = 0;
	record->throttled = is_realtime(task) ? held_by_policy(task) : THROTTLED_NOT;
	if (is_realtime(task) || !has_cfs_rq())
		return;
	cfs_rq = LOAD(task_struct, task, se.cfs_rq);
	if (has_throttled_clock()) {
		record->cfs_rq = (__u64)cfs_rq;
		record->throttled_ns = LOAD(cfs_rq, cfs_rq, throttled_clock_self_time);
	} else if (has_throttle_count()) {
		record->throttled = LOAD(cfs_rq, cfs_rq, throttle_count) > 0 ? THROTTLED_GROUP : THROTTLED_NOT;
	}
}

/* How much of the last off-CPU time the thread, or its group, was throttled. */
static __always_inline __u64 throttled_since(struct task_struct *task, struct record *record, __u64 off_cpu_ns)
{
	struct cfs_rq *cfs_rq = (struct cfs_rq *)record->cfs_rq;
	__u64 clock;

	if (record->throttled)
		return off_cpu_ns;
	if (!has_throttled_clock() || !cfs_rq)
		return 0;
	clock = LOAD(cfs_rq, cfs_rq, throttled_clock_self_time); /* of the run queue it left, another now or freed */
	clock = clock > record->throttled_ns ? clock - record->throttled_ns : 0;
	return clock < off_cpu_ns ? clock : off_cpu_ns;
}

static __always_inline __u64 cpu_cgroup(struct task_struct *task)
{
	struct cgroup_subsys_state *css = NULL;
	int id = bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id);

	bpf_probe_read_kernel(&css, sizeof(css), &LOAD(task_struct, task, cgroups)->subsys[0] + id);
	return OBJECT(OBJECT_CGROUP, BPF_CORE_READ(css, cgroup, kn, id));
}

/* This CPU was the target's until now: what its clock is weighed with. */
static __always_inline void note_ran(struct record *record, struct cpu_state *cpu, __u64 now)
{
	__u64 since;

	if (!cpu)
		return;
	since = cpu->sum.running_since;
	if (!since && record->state == STATE_RUNNING)
		since = record->since; /* it ran here before the start */
	if (since && since < now)
		cpu->sum.ran_ns += now - since;
	cpu->sum.running_since = 0;
}

/*
 * Where no program sees when a guest is entered (a container without /dev/kvm), the kernel's ticks have counted its time.
 * A tick can be longer than the segment it came in: the rest is of the next ones.
 */
static __always_inline void book_guest(struct record *record, struct task_struct *task, __u64 now)
{
	__u64 ns = now > record->since ? now - record->since : 0, guest;

	if (knobs.sees_guests || record->region != REGION_NONE)
		return;
	guest = task->gtime - record->guest_ns;
	if (guest > ns)
		guest = ns;
	if (!guest)
		return;
	book(record, ACCOUNT_VM_GUEST, 0, guest);
	record->guest_ns += guest;
	record->since += guest;
}

/*
 * The state that a thread woken at `runnable` found its CPU in.  Where a state is slept in with interrupts off, the
 * interrupt that wakes a thread is taken after the state was left: what leaving it took came before the thread's wait.
 */
static __always_inline __u64 idle_state_at(const struct cpu_sum *sum, __u64 runnable)
{
	__u64 state = sum->idle_state;

	if (state && state < IDLE_AWAKE && !sum->idle_entered && sum->idle_left < runnable)
		state |= IDLE_LEFT;
	return OBJECT(OBJECT_IDLE_STATE, state);
}

/* From `runnable` to `end` its CPU was idle, or waking up, since `idle_since`: before that somebody else had it. */
static __always_inline void book_waking(struct record *record, struct cpu_state *cpu, __u64 runnable, __u64 end)
{
	__u64 ns = end - runnable, waking = cpu->idle_since > runnable ? end - cpu->idle_since : ns;

	if (waking > ns)
		waking = ns;
	if (waking)
		book(record, ACCOUNT_RUNQ_WAKING, idle_state_at(&cpu->sum, runnable), waking);
	if (ns > waking)
		book(record, ACCOUNT_RUNQ_BUSY, 0, ns - waking);
}

/* A wait that is being given to those who ran meanwhile, the last one first. */
struct busy {
	struct record *record;
	struct cpu_state *cpu;
	__u64 runnable, end; /* what is left of it */
};

static long book_runner(__u32 back, struct busy *busy)
{
	struct cpu_state *cpu = busy->cpu;
	__u32 index = (cpu->runner - back) % RUNNERS;
	struct runner *runner = &cpu->runners[index];
	__u64 begin = runner->since > busy->runnable ? runner->since : busy->runnable;
	struct detail *detail;

	if (!runner->since || begin >= busy->end)
		return 0;
	detail = book_part(busy->record, ACCOUNT_RUNQ_BUSY, runner->object, busy->end - begin);
	/* At the 1st, 2nd, 4th, ... time: there may have been no room for its name for a moment, or it has another now. */
	if (runner->object && (!detail || !(detail->count & (detail->count - 1))))
		rename_object(runner->object, &cpu->runner_names[index]);
	busy->end = begin;
	return begin <= busy->runnable;
}

/*
 * From `runnable` to now its CPU ran others: those that ran last, each for as long as it did.  (Whoever merely ran at
 * the end, a kernel thread for 20 us, is not to blame for what a neighbour took before.)
 */
__weak __noinline int book_busy(struct record *record, __u64 runnable, __u64 now)
{
	struct busy busy = { .record = record, .cpu = this_cpu(), .runnable = runnable, .end = now };

	if (!record || !busy.cpu)
		return 0;
	add_to_sum(record, ACCOUNT_RUNQ_BUSY, now - runnable);
	bpf_loop(RUNNERS, book_runner, &busy, 0);
	if (busy.end > runnable)
		book_part(record, ACCOUNT_RUNQ_BUSY, 0, busy.end - runnable);
	return 0;
}

/* Remembers who runs on this CPU from now on. */
static __always_inline void note_runner(struct cpu_state *cpu, struct task_struct *task, bool own, __u64 now)
{
	__u32 index = ++cpu->runner % RUNNERS;
	struct runner *runner = &cpu->runners[index];
	__u64 object = task->pid ? OBJECT(own ? OBJECT_OWN : OBJECT_TASK, task->tgid) : 0, exec_id = task->self_exec_id;

	runner->since = now;
	if (runner->object == object && runner->exec_id == exec_id)
		return; /* and so is its name, a checked read */
	runner->object = object;
	runner->exec_id = exec_id;
	if (object)
		copy_comm(cpu->runner_names[index].comm, LOAD(task_struct, task, group_leader)->comm);
}

/* Runnable from `runnable` to now: throttled, waking up an idle CPU, or behind somebody. */
static __always_inline void book_runnable(struct task_struct *task, struct record *record, struct task_struct *prev,
					  struct cpu_state *cpu, __u64 runnable, __u64 now)
{
	__u64 ns = now > runnable ? now - runnable : 0;
	__u64 throttled = throttled_since(task, record, now - record->since);

	if (throttled > ns)
		throttled = ns;
	if (throttled) {
		book(record, account_of_throttled(record->throttled),
		     object_of_throttled(record->throttled, cpu_cgroup(task)), throttled);
		ns -= throttled;
	}
	if (!ns)
		return;
	if (cpu && prev->pid == 0)
		book_waking(record, cpu, now - ns, now);
	else
		book_busy(record, now - ns, now);
}

static __always_inline void vote_for_waker(struct detail *detail, __u32 waker)
{
	if (!waker)
		return;
	if (detail->waker == waker) {
		detail->waker_votes++;
	} else if (detail->waker_votes) {
		detail->waker_votes--;
	} else {
		detail->waker = waker;
		detail->waker_votes = 1;
	}
}

#define WITH_ANSWER_NS 1000000 /* who waits for a lock for less still comes with the answer that it had before */

/*
 * Nobody's answer ended the wait to receive, but time.  That was the thread's own pause, unless an answer is owed; on what
 * is not followed, who knows.
 */
static __always_inline void end_by_time(struct record *record)
{
	__u64 address = record->awaited;
	struct connection *connection = NULL;

	if (address != AWAITED_PIPE)
		connection = bpf_map_lookup_elem(&connections, &address);
	if (connection && connection->exchange == EXCHANGE_ASKED) {
		connection->timed_out = 1;
		return;
	}
	if (connection || address == AWAITED_PIPE) {
		record->account = ACCOUNT_WAIT_TIMER;
		record->object = 0;
	} else {
		record->account = ACCOUNT_WAIT_PARKED;
	}
	open_place(record);
}

/* The thread has waited for more of an answer of which the first byte had come, or for the connection's end. */
static __always_inline void note_rest_awaited(struct record *record, __u64 ns)
{
	__u64 address = record->awaited;
	struct connection *connection;

	if (record->account != ACCOUNT_NET_RECEIVE || ns < WITH_ANSWER_NS || !address)
		return;
	connection = bpf_map_lookup_elem(&connections, &address);
	if (connection && connection->direction == DIRECTION_CONNECTED && connection->exchange == EXCHANGE_ANSWERED &&
	    record->since > connection->answered)
		connection->rest_ns += ns;
}

/* A wait is over: it ended when the thread was woken; returns when that was. */
__weak __noinline __u64 book_wait(struct record *record, __u64 now)
{
	struct detail *detail;
	__u64 end;

	if (!record)
		return now;
	end = record->waking;
	if (end <= record->since || end > now) {
		end = now;
		count_loss(COUNTER_WAKEUPS_MISSING);
	} else if (record->by_time && record->awaited) {
		end_by_time(record);
	} else {
		note_rest_awaited(record, end - record->since);
	}
	record->waited_since = record->since;
	record->has_read = 0;
	if (record->idled == record->since)
		record->idle_until = now;
	if (end - record->since >= WITH_ANSWER_NS && record->answer.at < record->since)
		record->answer.at = 0;
	detail = open_detail(record);
	book_at(record, detail, record->account, record->object, end - record->since);
	if (record->account == ACCOUNT_VM_HALT && record->vm == VM_EXIT)
		record->left.halted_ns += end - record->since;
	if (detail)
		vote_for_waker(detail, record->waker);
	if (record->file_inode)
		book_file(record, end - record->since);
	if (record->said)
		book_said(record, end - record->since);
	return end;
}

/*
 * Some kernels do not announce every switch (seen on 6.18 in a virtual machine: one idle-to-task switch in a few
 * hundred, in ftrace too).  The task's own clock of its time on a CPU tells how long it ran all the same.
 */
static __always_inline __u64 ran_since(struct task_struct *task, struct record *record, __u64 now)
{
	__u64 ran = task->se.sum_exec_runtime - record->run_ns, most = now - record->since;

	return ran < most ? ran : most;
}

/* At switch-out of a thread that was not seen coming in: it waited, was runnable, and ran to the end of that time. */
static __always_inline void book_unseen_run(struct task_struct *task, struct record *record, struct chain *chain,
					    struct cpu_state *cpu, __u64 now)
{
	__u64 began = now - ran_since(task, record, now), runnable = record->since;

	count_loss(COUNTER_SWITCHES_MISSING);
	if (record->state == STATE_BLOCKED)
		runnable = book_wait(record, began);
	if (began > runnable && cpu && cpu->idle_since == cpu->last_switch)
		book_waking(record, cpu, runnable, began); /* the last switch seen here was to the idle task */
	else if (began > runnable)
		book(record, ACCOUNT_RUNQ_BUSY, 0, began - runnable);
	if (chain)
		pass_time(record, chain, runnable, ACCOUNT_RUNQ_BUSY, began);
	add_to_sum(record, ACCOUNT_CPU_USER, now - began);
}

/* At switch-in of a thread that was not seen leaving: it ran first, then blocked or was preempted. */
static __always_inline void unseen_leave(struct task_struct *task, struct record *record, __u64 now)
{
	__u64 left = record->since + ran_since(task, record, now);
	struct blocked blocked = {};

	count_loss(COUNTER_SWITCHES_MISSING);
	add_to_sum(record, ACCOUNT_CPU_USER, left - record->since);
	record->since = left;
	record->state = STATE_RUNNABLE;
	if (record->waking <= left || record->waking > now)
		return;
	describe(task, &blocked);
	blocked.marker = marker_of(task);
	classify(record, &blocked);
}
