/* SPDX-License-Identifier: GPL-2.0-only */
/* How long things took: buckets that double, and sums that several CPUs add to. */
#pragma once
#include "core/maps.bpf.h"
#include "core/bucket.h"

static __always_inline void count_in(__u32 buckets[BUCKETS], __u64 ns)
{
	__u32 bucket = bucket_of(ns);

	if (bucket < BUCKETS)
		buckets[bucket]++;
}

/* The same where other CPUs count, too. */
static __always_inline void count_shared(__u32 buckets[BUCKETS], __u64 ns)
{
	__u32 bucket = bucket_of(ns);

	if (bucket < BUCKETS)
		__sync_fetch_and_add(&buckets[bucket], 1);
}

/* One more in a sum of all CPUs.  Two can race for the maximum, the smaller one then stays: tolerated. */
#define ADD_SHARED(sum, duration_ns)                                                                                   \
	do {                                                                                                           \
		__u64 added_ns = duration_ns;                                                                          \
		__sync_fetch_and_add(&(sum)->count, 1);                                                                \
		__sync_fetch_and_add(&(sum)->ns, added_ns);                                                            \
		if (added_ns > (sum)->max_ns)                                                                          \
			(sum)->max_ns = added_ns;                                                                      \
		count_shared((sum)->buckets, added_ns);                                                                \
	} while (0)

/* Sixteen buckets for each doubling. */
__weak __noinline int count_latency(struct latency *latency, __u64 ns)
{
	__u32 bucket;

	if (!latency)
		return 0;
	if (ns > latency->max_ns)
		latency->max_ns = ns; /* two can race: the smaller one then stays */
	bucket = latency_bucket(ns);
	barrier_var(bucket); /* or the compiler drops the check, which the verifier asks for */
	if (bucket < LATENCY_BUCKETS)
		__sync_fetch_and_add(&latency->buckets[bucket], 1);
	return 0;
}
