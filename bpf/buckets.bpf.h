/* SPDX-License-Identifier: GPL-2.0-only */
/* How long things took: buckets that double, and sums that several CPUs add to. */
#pragma once
#include "maps.bpf.h"

/* How many are set ("Hacker's Delight", 5-1). */
static __always_inline __u64 count_bits(__u64 bits)
{
	bits -= bits >> 1 & 0x5555555555555555;
	bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return bits * 0x0101010101010101 >> 56;
}

/*
 * Functions that are called often, or branch a lot, are global (weak, because several objects that are linked have
 * them): the verifier looks at such a function once and not at every call, which is most of the time to start.
 */

/*
 * Bucket 0: below 256 ns, bucket i: [2^(i+7), 2^(i+8)), the last: all longer ones.  No branch: each doubles the paths.
 */
__weak __noinline __u32 bucket_of(__u64 ns)
{
	__u64 bits = ns >> 8;

	bits |= bits >> 1;
	bits |= bits >> 2;
	bits |= bits >> 4;
	bits |= bits >> 8;
	bits |= bits >> 16;
	bits |= bits >> 32;
	bits = count_bits(bits); /* the position of the highest one */
	return bits < BUCKETS ? bits : BUCKETS - 1;
}

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
