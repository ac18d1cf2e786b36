// SPDX-License-Identifier: GPL-2.0-only
/*
 * cpu_clock - at which clock were the target's CPUs told to run, and did they really run, while it had them?
 *
 * HOOKS   tp_btf cpu_frequency where there is a cpufreq policy; tp_btf hrtimer_expire_entry, for the scheduler tick's
 *         own timer; APERF and MPERF by the kernel's msr events.
 * COST    some ten loads per change of a frequency; two reads of a counter at each tick of a CPU that has run the
 *         target; nothing at its switches, no timer of its own: an idle CPU has no ticks.
 * CANNOT  part a tick: where the target runs at its end, all of it counts as the target's.  Where it runs for less than
 *         a tick at a time, that is a sample of its time, and some of those cycles are its neighbours'.
 */
#include "core/maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* An event on each CPU, opened by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} aperf_events SEC(".maps"), mperf_events SEC(".maps");

/*
 * The clock a CPU is told to run at; told by any CPU, one at a time for each policy.  How long the target has run on
 * that one may be read in the middle of a switch there: then a segment is counted with its neighbour's clock.
 */
SEC("tp_btf/cpu_frequency")
int BPF_PROG(cpu_frequency, unsigned int khz, unsigned int number)
{
	__u32 zero = 0;
	struct cpu_state *cpu = bpf_map_lookup_percpu_elem(&cpus, &zero, number);
	__u64 now = bpf_ktime_get_ns();

	if (!cpu)
		return 0;
	count_clock(&cpu->sum, ran_until(&cpu->sum, now));
	if (cpu->sum.clock_khz != khz)
		cpu->sum.clock_changes++;
	cpu->sum.clock_khz = khz;
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(clock_tick, struct hrtimer *timer)
{
	struct bpf_perf_event_value aperf = {}, mperf = {};
	struct cpu_state *cpu = this_cpu();
	struct record *record;
	struct cpu_sum *sum;
	__u64 now;

	if (!cpu || (__u64)timer->function != knobs.tick_function)
		return 0;
	sum = &cpu->sum;
	if (!sum->ran_ns && !sum->running_since)
		return 0;
	if (bpf_perf_event_read_value(&aperf_events, BPF_F_CURRENT_CPU, &aperf, sizeof(aperf)) ||
	    bpf_perf_event_read_value(&mperf_events, BPF_F_CURRENT_CPU, &mperf, sizeof(mperf)))
		return 0;
	now = bpf_ktime_get_ns();
	record = record_of(bpf_get_current_task_btf());
	/* Where a tick was left out, the CPU was idle meanwhile. */
	if (record && record->state == STATE_RUNNING && sum->tick_at && now - sum->tick_at < knobs.tick_ns * 3 / 2) {
		sum->delivered_cycles += aperf.counter - sum->tick_aperf;
		sum->rated_cycles += mperf.counter - sum->tick_mperf;
		sum->clock_ticks++;
	}
	sum->tick_at = now;
	sum->tick_aperf = aperf.counter;
	sum->tick_mperf = mperf.counter;
	return 0;
}
