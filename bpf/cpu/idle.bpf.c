// SPDX-License-Identifier: GPL-2.0-only
/*
 * idle - which idle state was a CPU in when a woken thread had to wait for it, and how long does it sleep in each?
 *
 * HOOKS   tp_btf cpu_idle.
 * COST    two runs and two looks at the clock per idle period.  Everything is kept on the CPU itself: nothing is sent,
 *         no timer is armed, no CPU is woken.
 * CANNOT  see the time before the interrupt reaches the sleeping CPU: runq.waking begins at sched_waking.  Nor what the
 *         processor makes of a state it is asked for: it may leave it out.
 */
#include "core/maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/cpu_idle")
int BPF_PROG(cpu_idle, unsigned int state)
{
	struct cpu_state *cpu = this_cpu();
	__u64 now = bpf_ktime_get_ns();
	struct cpu_sum *sum;
	__u32 index;

	if (!cpu)
		return 0;
	sum = &cpu->sum;
	if (state != (__u32)-1) {
		sum->idle_state = state + 1;
		sum->idle_seen = IDLE_AWAKE;
		sum->idle_entered = now;
		return 0;
	}
	/* PWR_EVENT_EXIT; of a period that began before the start neither state nor length is known. */
	index = sum->idle_state - 1;
	if (sum->idle_entered && index < IDLE_STATES) {
		sum->idle[index].ns += now - sum->idle_entered;
		sum->idle[index].count++;
	}
	sum->idle_entered = 0;
	sum->idle_left = now;
	return 0;
}
