// SPDX-License-Identifier: GPL-2.0-only
/*
 * interrupt - how much of a thread's time on the CPU did interrupts and softirqs take?  And is it one that wakes a
 *             thread now, or the current task?
 *
 * HOOKS   tp_btf irq_handler_entry, irq_handler_exit, softirq_entry, softirq_exit.
 * COST    two runs of a few instructions per interrupt, on every CPU; the clock is read on those that run the target.
 * CANNOT  tell who woke whom over loopback: packets are received in a softirq, even inside their sender's call (but see
 *         wait/peer_time.bpf.h).  Nor see the entry code of an interrupt and inter-processor interrupts: they stay in
 *         cpu.*, and so does the local timer, but for what cpu_samples times.
 */
#include "core/own_costs.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/*
 * Neither kind nests in itself.  No depth is kept: one entry or exit that is not announced would spoil it for ever; as
 * it is, an exit that is missed hides the wakers on its CPU until the next one.
 */

static __always_inline int enter_interrupt(void)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return 0;
	cpu->interrupts |= IN_INTERRUPT;
	if (cpu->follows)
		cpu->irq_start = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry)
{
	return TIMED(TIMED_INTERRUPT, enter_interrupt());
}

static __always_inline int leave_interrupt(void)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return 0;
	cpu->interrupts &= ~IN_INTERRUPT;
	if (cpu->irq_start) {
		cpu->irq_ns += bpf_ktime_get_ns() - cpu->irq_start;
		cpu->irq_start = 0;
	}
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit)
{
	return TIMED(TIMED_INTERRUPT, leave_interrupt());
}

static __always_inline int enter_softirq(unsigned int vector)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return 0;
	cpu->interrupts |= vector == TIMER_SOFTIRQ || vector == HRTIMER_SOFTIRQ ? IN_SOFTIRQ | IN_TIMERS : IN_SOFTIRQ;
	if (cpu->follows) {
		cpu->softirq_start = bpf_ktime_get_ns();
		cpu->softirq_irq_ns = cpu->irq_ns;
	}
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int vector)
{
	return TIMED(TIMED_INTERRUPT, enter_softirq(vector));
}

static __always_inline int leave_softirq(void)
{
	struct cpu_state *cpu = this_cpu();
	__u64 ns, nested;

	if (!cpu)
		return 0;
	cpu->interrupts &= ~(IN_SOFTIRQ | IN_TIMERS);
	if (!cpu->softirq_start)
		return 0;
	ns = bpf_ktime_get_ns() - cpu->softirq_start;
	nested = cpu->irq_ns - cpu->softirq_irq_ns; /* interrupts that came meanwhile are counted already */
	cpu->irq_ns += ns > nested ? ns - nested : 0;
	cpu->softirq_start = 0;
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit)
{
	return TIMED(TIMED_INTERRUPT, leave_softirq());
}
