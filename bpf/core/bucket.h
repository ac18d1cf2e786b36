/* SPDX-License-Identifier: GPL-2.0-only */
/* Which bucket a duration is counted in.  Plain C, so that a test can ask for each boundary. */
#pragma once
#include "core/records.h"

/* How many are set ("Hacker's Delight", 5-1). */
static __always_inline __u64 count_bits(__u64 bits)
{
	bits -= bits >> 1 & 0x5555555555555555;
	bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return bits * 0x0101010101010101 >> 56;
}

/* The position of the highest one, 0: there is none.  No branch: each doubles the paths. */
static __always_inline __u64 highest_bit(__u64 bits)
{
	bits |= bits >> 1;
	bits |= bits >> 2;
	bits |= bits >> 4;
	bits |= bits >> 8;
	bits |= bits >> 16;
	bits |= bits >> 32;
	return count_bits(bits);
}

/*
 * Functions that are called often, or branch a lot, are global (weak, because several objects that are linked have
 * them): the verifier looks at such a function once and not at every call, which is most of the time to start.
 */

/* Bucket 0: below 256 ns, bucket i: [2^(i+7), 2^(i+8)), the last: all longer ones. */
__weak __noinline __u32 bucket_of(__u64 ns)
{
	__u64 bits = highest_bit(ns >> 8);

	return bits < BUCKETS ? bits : BUCKETS - 1;
}

/* See struct latency.  Inside a function that is global itself: on a hardened kernel a return costs as much as this. */
static __always_inline __u32 latency_bucket(__u64 ns)
{
	__u64 units = ns >> LATENCY_UNIT_SHIFT;
	__u32 doublings;

	if (units < 16)
		return units;
	doublings = highest_bit(units) - 5; /* of 16 units */
	return doublings < LATENCY_DOUBLINGS ? 16 + doublings * 16 + (units >> (doublings & 31) & 15)
					     : LATENCY_BUCKETS - 1;
}
