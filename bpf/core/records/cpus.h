/* SPDX-License-Identifier: GPL-2.0-only */
/* What a CPU keeps of itself for user space, as in records.h. */
#pragma once

#define IDLE_STATES 10	/* as many as cpuidle has at most: CPUIDLE_STATE_MAX */
#define IDLE_AWAKE 0xfe /* the idle task ran, but had not entered a state since */
#define IDLE_LEFT 0x100 /* the state had been left when the thread was woken: an interrupt came to that CPU first */

struct idle_sum {
	__u64 ns, count;
};

/* What a CPU did for the target, at which clock, and how it slept, whoever used it before. */
struct cpu_sum {
	__u64 ran_ns;	     /* threads of the target had it, up to now or to `running_since` */
	__u64 running_since; /* 0: none has it now */
	__u64 clock_ran_ns;  /* ran_ns when its clock was set last */
	__u64 clock_ns;	     /* of ran_ns: from the first setting of its clock to the last */
	__u64 clock_cycles;  /* in that time, at the clocks that were set */
	__u32 clock_khz;     /* set last; 0: not since the start */
	__u32 clock_changes;
	__u64 idle_entered; /* the state it is in, since when; 0: none */
	__u32 idle_state;   /* index + 1 of the state entered last, IDLE_AWAKE, or 0: unknown */
	__u32 idle_seen;    /* IDLE_AWAKE once a state was entered: then it is known that none was, too */
	__u64 idle_left;    /* when a state was left last */
	struct idle_sum idle[IDLE_STATES];
	__u64 delivered_cycles; /* APERF and MPERF, of ticks at whose end the target ran */
	__u64 rated_cycles;
	__u64 clock_ticks; /* so many times */
	__u64 tick_at;	   /* the last tick, and what both were then */
	__u64 tick_aperf, tick_mperf;
};

/* How long threads of the target have had it up to `at`. */
static inline __u64 ran_until(const struct cpu_sum *sum, __u64 at)
{
	__u64 since = sum->running_since;

	return sum->ran_ns + (since && since < at ? at - since : 0);
}

/* Counts what it ran, `ran_ns` by now, since its clock was set last. */
static inline void count_clock(struct cpu_sum *sum, __u64 ran_ns)
{
	__u64 ns = ran_ns > sum->clock_ran_ns ? ran_ns - sum->clock_ran_ns : 0;

	if (sum->clock_khz) {
		sum->clock_ns += ns;
		sum->clock_cycles += ns / 1000 * sum->clock_khz / 1000;
	}
	sum->clock_ran_ns = ran_ns;
}
