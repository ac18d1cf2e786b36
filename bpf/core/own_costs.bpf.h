/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long the programs that run most take.  The kernel's statistics would tell all of it, but read the clock twice in
 * each run of any program, and take CAP_SYS_ADMIN; here few runs read it.
 */
#pragma once
#include "core/maps.bpf.h"

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TIMED_PROGRAMS);
	__type(key, __u32);
	__type(value, struct own_cost);
} own_costs SEC(".maps");

/* The time is kept in the map: in a register it would be one more state of everything that the verifier walks. */
static __always_inline void begin_timed(__u32 program)
{
	struct own_cost *cost = bpf_map_lookup_elem(&own_costs, &program);
	__u64 now;

	if (!cost)
		return;
	if (cost->to_come) {
		cost->to_come--;
		return;
	}
	cost->to_come = timed_each(program) - 1;
	now = bpf_ktime_get_ns();
	cost->began = bpf_ktime_get_ns();
	cost->ns -= cost->began - now; /* what it takes to read the clock, which runs that are not timed do not */
}

static __always_inline void end_timed(__u32 program)
{
	struct own_cost *cost = bpf_map_lookup_elem(&own_costs, &program);

	if (!cost || !cost->began)
		return;
	cost->ns += bpf_ktime_get_ns() - cost->began;
	cost->began = 0;
}

static __always_inline void count_request(void)
{
	__u32 program = TIMED_SENT;
	struct own_cost *cost = bpf_map_lookup_elem(&own_costs, &program);

	if (cost)
		cost->requests++;
}

/* Runs `body`, a function that returns int. */
#define TIMED(program, body)                                                                                           \
	({                                                                                                             \
		int timed_result;                                                                                      \
                                                                                                                       \
		begin_timed(program);                                                                                  \
		timed_result = body;                                                                                   \
		end_timed(program);                                                                                    \
		timed_result;                                                                                          \
	})
