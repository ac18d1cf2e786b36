// SPDX-License-Identifier: GPL-2.0-only
/*
 * idle - which idle state was a CPU in when a woken thread had to wait for it, how long does it sleep in each, and at
 *        which clock did it run the target?
 *
 * HOOKS   tp_btf cpu_idle; tp_btf cpu_frequency where there is a cpufreq policy.
 * COST    two runs and two looks at the clock per idle period; some ten loads per change of a frequency.  Everything is
 *         kept on the CPU itself: nothing is sent, no timer is armed, no CPU is woken.
 * CANNOT  see the time before the interrupt reaches the sleeping CPU: runq.waking begins at sched_waking.  Nor what the
 *         processor makes of a state or a clock it is asked for: a state may be left out, a clock not be reached.
 */
#include "ledger.bpf.h"

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

/*
 * The clock a CPU is told to run at; told by any CPU, one at a time for each policy.  How long the target has run on
 * that one may be read in the middle of a switch there: then a segment is counted with its neighbour's clock.
 */
SEC("tp_btf/cpu_frequency")
int BPF_PROG(cpu_frequency, unsigned int khz, unsigned int number)
{
	__u32 zero = 0;
	struct cpu_state *cpu = bpf_map_lookup_percpu_elem(&cpus, &zero, number);
	__u64 now = bpf_ktime_get_ns(), since, ran;
	struct cpu_sum *sum;

	if (!cpu)
		return 0;
	sum = &cpu->sum;
	since = sum->running_since;
	ran = sum->ran_ns + (since && since < now ? now - since : 0);
	if (sum->clock_khz && ran > sum->clock_ran_ns) {
		sum->clock_ns += ran - sum->clock_ran_ns;
		sum->clock_cycles += (ran - sum->clock_ran_ns) / 1000 * sum->clock_khz / 1000;
	}
	if (sum->clock_khz != khz)
		sum->clock_changes++;
	sum->clock_khz = khz;
	sum->clock_ran_ns = ran;
	return 0;
}
