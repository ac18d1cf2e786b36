// SPDX-License-Identifier: GPL-2.0-only
/*
 * sched - where does every nanosecond of the target's threads go?
 *
 * HOOKS   tp_btf sched_switch, sched_waking.
 * COST    two look-ups of task storage a switch, one a wake-up, two where a futex or a file lock is handed on; what
 *         blocks is classified from registers and the descriptor table; one in a hash after a wait of 1 ms or longer to
 *         receive; of peers, once one was met, as many look-ups as of the target's threads, and their stacks.  `make bench`
 *         measures it.
 * CANNOT  name all who ran during a long run-queue wait: the last 64 are.
 */
#define LEDGER_DEFINE
#include "app/script_frames.bpf.h"
#include "sched/switch.bpf.h"
#include "wait/failed_tries.bpf.h"
#include "wait/peer_waker.bpf.h"
#include "wait/signalled.bpf.h"
#include "core/own_costs.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct knobs knobs;
__u32 dormant;

/* The thread's stack, kernel and user, at the beginning of a wait: once per stack_period_ns of its detail. */
static __always_inline void sample_wait(void *ctx, struct record *record, __u64 stack_pointer)
{
	struct cpu_state *cpu = this_cpu();
	struct detail *detail = open_detail(record);
	struct stack_event *event;
	__u64 now;

	if (!detail || !cpu)
		return;
	if (detail->count && !knobs.all_stacks && detail->ns - detail->sampled_ns < knobs.stack_period_ns)
		return;
	now = bpf_ktime_get_ns();
	/* At most 1,000 stacks a second and CPU: 10,000 threads that all block at once are not worth more. */
	if (now - cpu->samples_since > 100000000) {
		cpu->samples_since = now;
		cpu->samples = 0;
	}
	if (cpu->samples++ >= 100)
		return;
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (!event) {
		count_loss(COUNTER_STACKS_DROPPED);
		return;
	}
	head_event(&event->event, EVENT_STACK, record->tgid, record->tid, now);
	event->object = record->object;
	event->account = record->account;
	event->on_cpu = event->in_call = event->in_long_turn = 0;
	event->of_peer = record->is_peer;
	event->weight_ns = detail->ns - detail->sampled_ns;
	event->kernel_bytes = bpf_get_stack(ctx, event->kernel, sizeof(event->kernel), 0);
	event->user_bytes = bpf_get_stack(ctx, event->user, sizeof(event->user), BPF_F_USER_STACK);
	read_script_frames(record, &event->script);
	event->scan_bytes = 0;
	/* What such a wait is for is known from its callers only, and libc keeps no frame pointers. */
	if (needs_callers(record->account) &&
	    !bpf_probe_read_user(event->scan, SCAN_WORDS_OF_WAIT * sizeof(*event->scan), (void *)stack_pointer))
		event->scan_bytes = SCAN_WORDS_OF_WAIT * sizeof(*event->scan);
	event->stack_offset = stack_pointer % STACK_PAGE;
	detail->sampled_ns = detail->ns;
	bpf_ringbuf_submit(event, gather());
}

/*
 * The program at the end of a region can have been left out, see KEEP_CPU: whoever frees memory has the flag for it until
 * then.  It gets that after the beginning was announced, where it can be preempted, but does not sleep.
 */
static __always_inline void end_missed_region(struct record *record, struct task_struct *task, bool preempted)
{
	if (preempted || (task->flags & PF_MEMALLOC))
		return;
	if (record->region == REGION_RECLAIM || record->region == REGION_CGROUP_RECLAIM)
		record->region = record->region_detail = 0;
}

static __always_inline void wake_recorder(struct record *record, __u64 now)
{
	struct event event = {};

	head_event(&event, EVENT_AWAKE, record->tgid, record->tid, now);
	if (!bpf_ringbuf_output(&ring, &event, sizeof(event), BPF_RB_FORCE_WAKEUP))
		dormant = 0;
}

/* What a thread of the target did until now, when it leaves its CPU. */
static __always_inline void book_run(struct task_struct *task, struct record *record, struct cpu_state *cpu,
				     bool preempted, __u64 now)
{
	note_ran(record, cpu, now);
	end_missed_region(record, task, preempted);
	if (record->vm && (task->flags & PF_EXITING)) {
		record->vm = VM_LEFT; /* no guest goes on here, and all its memory may be its end's to free */
		record->left.until = now;
	}
	if (record->state == STATE_RUNNING) {
		book_guest(record, task, now);
		book_running(record, cpu, steal_clock(task) - record->steal_ns, now);
	} else {
		book_unseen_run(task, record, chain_of(task), cpu, now);
	}
	if (dormant)
		wake_recorder(record, now); /* it came in unseen */
}

static __always_inline void switch_out(void *ctx, struct task_struct *task, struct record *record,
				       struct cpu_state *cpu, bool preempted, __u64 now)
{
	__u32 state = task_state(task);
	struct chain *chain;
	bool ended;

	begin_write(record);
	if (!record->is_peer)
		book_run(task, record, cpu, preempted, now);
	record->since = now;
	record->run_ns = task->se.sum_exec_runtime;
	note_throttling(record, task);
	if (state & TASK_DEAD && record->is_peer) {
		record->state = STATE_CLOSED;
		end_write(record);
		return;
	}
	if (state & TASK_DEAD) {
		copy_names(record, task);
		record->state = STATE_CLOSED;
		record->at = now;
		end_write(record);
		ended = LOAD(signal_struct, LOAD(task_struct, task, signal), live.counter) <= 0;
		chain = chain_of(task);
		if (chain)
			spill_reasons(chain, ended ? 0 : record->tgid);
		close_record(record, ended, task->exit_code);
		__sync_fetch_and_add(&live_threads, -1); /* last: who sees 0 finds all ends in the ring */
		return;
	}
	/*
	 * Blocked is a state of the task, never on_rq: delayed dequeue leaves that set.  A pending signal turns a
	 * sleep back into __state 0.
	 */
	if (preempted || !state) {
		record->state = STATE_RUNNABLE;
	} else {
		struct blocked blocked = {}; /* whole: verifiers before 6.3 refuse padding never written */

		describe(task, &blocked);
		classify(record, &blocked);
		if (blocked.needs_stack) {
			blocked.marker = marker_of_current(ctx);
			classify(record, &blocked);
		}
		record->fault_inode = 0;
		if (record->region == REGION_DIRTY_THROTTLE)
			record->region = record->region_detail = 0; /* one pause, announced by its tracepoint */
		sample_wait(ctx, record, blocked.call.stack_pointer);
	}
	end_write(record);
}

static __always_inline __u64 throttled_sum(struct record *record)
{
	return record->accounts[account_of_throttled(record->throttled)].ns;
}

/* The account that most of a time in a run queue was booked to. */
static __always_inline __u32 most_of(struct record *record, __u64 ns, __u64 waking, __u64 throttled)
{
	if (2 * throttled > ns)
		return account_of_throttled(record->throttled);
	return 2 * waking > ns ? ACCOUNT_RUNQ_WAKING : ACCOUNT_RUNQ_BUSY;
}

/* A peer's thread has its CPU again: its line of time goes on. */
static __always_inline void peer_in(struct task_struct *task, struct record *record, struct task_struct *prev,
				    __u64 now)
{
	struct chain *chain = chain_of(task);
	struct detail *detail = open_detail(record);
	__u64 runnable = record->since, throttled;
	__u32 queued = prev->pid ? ACCOUNT_RUNQ_BUSY : ACCOUNT_RUNQ_WAKING;

	begin_write(record);
	if (record->state == STATE_BLOCKED) {
		runnable = record->waking > record->since && record->waking < now ? record->waking : now;
		if (detail)
			add_to_detail(detail, runnable - record->since); /* for the pace of its stacks */
	}
	throttled = throttled_since(task, record, now - record->since);
	if (2 * throttled > now - runnable)
		queued = account_of_throttled(record->throttled);
	if (chain) {
		make_room(chain);
		pass_time(record, chain, runnable, queued, now);
	}
	record->state = STATE_RUNNING;
	record->since = now;
	end_write(record);
}

static __always_inline void switch_in(struct task_struct *task, struct record *record, struct task_struct *prev,
				      struct cpu_state *cpu, __u64 now)
{
	struct chain *chain = chain_of(task);
	__u64 runnable, waking, throttled;

	begin_write(record);
	if (record->state == STATE_RUNNING)
		unseen_leave(task, record, now);
	runnable = record->state == STATE_BLOCKED ? book_wait(record, now) : record->since;
	waking = record->accounts[ACCOUNT_RUNQ_WAKING].ns;
	throttled = throttled_sum(record);
	book_runnable(task, record, prev, cpu, runnable, now);
	waking = record->accounts[ACCOUNT_RUNQ_WAKING].ns - waking;
	throttled = throttled_sum(record) - throttled;
	if (chain) {
		make_room(chain);
		pass_time(record, chain, runnable, most_of(record, now - runnable, waking, throttled), now);
	}
	begin_running(record, task, cpu, now);
	end_write(record);
	if (dormant)
		wake_recorder(record, now);
}

/* One that is just being made begins with what its thread is found to do then. */
static __always_inline bool is_open(struct record *record)
{
	return record && record->start && record->state != STATE_CLOSED;
}

static __always_inline void note_switch(void *ctx, struct task_struct *prev, struct task_struct *next, bool preempted)
{
	__u64 now = bpf_ktime_get_ns();
	struct cpu_state *cpu = this_cpu();
	struct record *record = NULL, *peer;

	if (prev->pid) {
		record = record_of(prev) ?: peer_of(prev);
		if (is_open(record))
			switch_out(ctx, prev, record, cpu, preempted, now);
	}
	record = next->pid ? record_of(next) : NULL;
	if (next->pid) {
		if (is_open(record))
			switch_in(next, record, prev, cpu, now);
		else if (!record && is_open(peer = peer_of(next)))
			peer_in(next, peer, prev, now);
	} else if (cpu) {
		cpu->idle_since = now;
		cpu->sum.idle_state = cpu->sum.idle_seen;
	}
	if (cpu) {
		cpu->last_switch = now;
		cpu->follows = record != NULL;
		note_runner(cpu, next, record, now);
	}
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempted, struct task_struct *prev, struct task_struct *next)
{
	begin_timed(TIMED_SWITCH);
	note_switch(ctx, prev, next, preempted);
	end_timed(TIMED_SWITCH);
	return 0;
}

/*
 * Who kept a thread waiting for a lock is not always who woke it: a queue that stood behind one slow holder is woken
 * by each other, one after the other.  So a thread that waited for the same thing until a moment ago passes the blame
 * on, to whoever had it longest while this one waited.
 */
static __always_inline void hand_on(struct record *record, struct record *waker, __u64 now)
{
	__u64 from = record->since, until = now, began;
	__u32 by = record->waker;

	if (waker && waker->handed_object == record->object && waker->handed_at > from) {
		began = waker->handed_from > from ? waker->handed_from : from;
		from = waker->handed_at;
		if (waker->handed_by && waker->handed_until > began && waker->handed_until - began > now - from) {
			by = waker->handed_by;
			from = began;
			until = waker->handed_until;
		}
	}
	record->waker = by;
	record->handed_by = by;
	record->handed_object = record->object;
	record->handed_at = now;
	record->handed_from = from;
	record->handed_until = until;
}

/* Not the kernel's own locks: what is known of those is the function that waits, which serves many locks. */
static __always_inline bool is_handed_on(__u32 account)
{
	return account == ACCOUNT_WAIT_PARKED || account == ACCOUNT_LOCK_FILE;
}

/*
 * Runnable begins at sched_waking: sched_wakeup comes late, on the target's CPU, when the wake list is used.  What
 * is handed on is written here, too: one waker at a time holds the task's pi_lock.  Nothing else of a record is ever
 * written by somebody else.
 */
static __always_inline void note_waking(struct task_struct *task)
{
	struct record *record = record_of(task) ?: peer_of(task);
	struct task_struct *waker;
	struct cpu_state *cpu;

	if (!record)
		return;
	waker = bpf_get_current_task_btf();
	cpu = this_cpu();
	record->signalled = is_signalled(record, task, waker);
	/* Not whom a timer or a packet interrupted. */
	record->waker = record->signalled || (cpu && cpu->interrupts) ? 0 : waker->pid;
	if (is_realtime(task))
		record->throttled = held_by_policy(task);
	else if (!has_throttled_clock() && has_cfs_rq() && has_throttle_count() &&
		 LOAD(cfs_rq, LOAD(task_struct, task, se.cfs_rq), throttle_count) > 0)
		record->throttled = THROTTLED_GROUP;
	record->by_time = cpu && cpu->interrupts & (IN_TIMER | IN_TIMERS);
	record->waking = bpf_ktime_get_ns();
	if (record->state == STATE_BLOCKED && is_handed_on(record->account) && !record->is_peer)
		hand_on(record, record->waker ? record_of(waker) : NULL, record->waking);
	if (record->waker && !record->is_peer)
		follow_waker(record, task, waker);
	if (knobs.follows_peers && !record->signalled) {
		int said = follow_peer(record, task, waker, cpu);

		barrier_var(said); /* or no register is set for it, and Linux 6.1 finds what happens to stand there */
	}
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	begin_timed(TIMED_WAKING);
	note_waking(task);
	end_timed(TIMED_WAKING);
	return 0;
}
