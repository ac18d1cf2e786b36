// SPDX-License-Identifier: GPL-2.0-only
/*
 * cpu_samples - which functions does a running thread spend its CPU time in, and how much of it do timers take that
 *               interrupt it?
 *
 * HOOKS   tp_btf hrtimer_expire_entry, for the scheduler tick's own timer; with hrtimer_expire_exit, also whether it is
 *         a timer that wakes a thread, or the current task.
 * COST    a stack walk per tick of a CPU that runs the target (250 a second at CONFIG_HZ=250).  No timer of its own:
 *         nothing is armed, no idle CPU is woken, no thread's switch gets dearer.  Of an interpreter up to 50 reads of its
 *         memory for the frames of the script, and two for each of its threads that is newer.
 * CANNOT  see work that runs in step with the tick (always just after it) in its true proportion; tell functions of
 *         scripts in threads beside the first one of Perl and PHP, beyond the 256 newest of Python, and of interpreters
 *         within one (subinterpreters).
 */
#include "app/script_frames.bpf.h"
#include "core/own_costs.bpf.h"
#include "wait/call.bpf.h"
#include "wait/peer_record.bpf.h"

#define WALKED_BYTES (12 * (int)sizeof(__u64)) /* of a walk: a lost one ends in a few meaningless addresses */

#define LONG_TURN_NS 10000000

char LICENSE[] SEC("license") = "GPL";

/*
 * Has the thread turned to no other request for long, nor answered one, nor waited for something to do?  Of an event loop
 * these are the moments in which all other requests wait for one.
 */
static __always_inline bool is_in_long_turn(const struct record *record, __u64 now)
{
	__u64 since = record->serving_since > record->idle_until ? record->serving_since : record->idle_until;

	return record->requests_read && since + LONG_TURN_NS < now;
}

static __always_inline bool is_in_call(struct task_struct *task)
{
	struct call call;

	if (!makes_calls(task->flags))
		return false;
	read_call(task, &call);
	return call.number >= 0;
}

/* What fires within an interrupt or a softirq is part of that.  The tick is part of the work that it interrupts. */
static __always_inline void begin_timer(struct cpu_state *cpu)
{
	if (cpu && cpu->follows && !(cpu->interrupts & (IN_INTERRUPT | IN_SOFTIRQ)))
		cpu->timer_start = bpf_ktime_get_ns();
}

static __always_inline int note_timer(void *ctx, const struct hrtimer *timer)
{
	struct task_struct *task;
	struct record *record;
	struct cpu_state *cpu = this_cpu();
	struct stack_event *event;

	if (cpu)
		cpu->interrupts |= IN_TIMER;
	if ((__u64)timer->function != knobs.tick_function) {
		begin_timer(cpu);
		return 0;
	}
	task = bpf_get_current_task_btf();
	record = record_of(task) ?: peer_of(task);
	if (!record || record->state != STATE_RUNNING)
		return 0;
	if (cpu && !record->is_peer)
		cpu->follows = 1; /* it ran before the start and has not left its CPU since */
	if (cpu && knobs.tick_stride > 1 && ++cpu->ticks % knobs.tick_stride)
		return 0;
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (!event) {
		count_loss(COUNTER_STACKS_DROPPED);
		return 0;
	}
	head_event(&event->event, EVENT_STACK, task->tgid, task->pid, bpf_ktime_get_ns());
	event->account = vm_account(!knobs.sees_guests && task->flags & PF_VCPU ? VM_GUEST : record->vm,
				    running_account(record->region));
	event->object = event->account == ACCOUNT_VM_EXIT ? record->left.exit : 0;
	event->on_cpu = 1;
	event->in_call = is_in_call(task);
	event->of_peer = record->is_peer;
	event->in_long_turn = is_in_long_turn(record, event->event.at);
	event->weight_ns = knobs.tick_ns * (knobs.tick_stride > 1 ? knobs.tick_stride : 1);
	event->kernel_bytes = bpf_get_stack(ctx, event->kernel, sizeof(event->kernel), 0);
	event->user_bytes = bpf_get_stack(ctx, event->user, sizeof(event->user), BPF_F_USER_STACK);
	read_script_frames(record, &event->script);
	event->scan_bytes = 0;
	/* The walk loses the callers where frame pointers are missing, but never the interrupted address: the words tell. */
	if ((knobs.all_stacks || event->user_bytes < WALKED_BYTES) &&
	    !bpf_probe_read_user(event->scan, sizeof(event->scan), user_stack(task)))
		event->scan_bytes = sizeof(event->scan);
	event->stack_offset = (__u64)user_stack(task) % STACK_PAGE;
	bpf_ringbuf_submit(event, gather());
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(hrtimer_expire_entry, struct hrtimer *timer)
{
	return TIMED(TIMED_TICK, note_timer(ctx, timer));
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(hrtimer_expire_exit)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return 0;
	cpu->interrupts &= ~IN_TIMER;
	if (cpu->timer_start) {
		cpu->irq_ns += bpf_ktime_get_ns() - cpu->timer_start;
		cpu->timer_start = 0;
	}
	return 0;
}
