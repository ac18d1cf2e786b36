// SPDX-License-Identifier: GPL-2.0-only
/*
 * idle - which idle state was a CPU in when a woken thread had to wait for it?
 *
 * HOOKS   tp_btf cpu_idle.
 * COST    two runs of a few instructions per idle period; it never wakes a CPU.
 * CANNOT  see the time before the interrupt reaches the sleeping CPU: runq.waking begins at sched_waking.
 */
#include "ledger.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/cpu_idle")
int BPF_PROG(cpu_idle, unsigned int state)
{
	struct cpu_state *cpu = this_cpu();

	/* PWR_EVENT_EXIT ((u32)-1) ends the period: the state it ended is what a waking thread waited for. */
	if (cpu && state != (__u32)-1)
		cpu->idle_state = state + 1;
	return 0;
}
