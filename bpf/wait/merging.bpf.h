/* SPDX-License-Identifier: GPL-2.0-only */
/* What is merged into a segment of a thread's line of time: its parts, and the places that keep them. */
#pragma once
#include "core/maps.bpf.h"

#define MERGED_KNOWN 2 /* of a merged segment at least half is its root, */
#define MERGED_LOST 32 /* and of at most one part in 32 it is not known what it was */
/*
 * A loop that sleeps in each of ten thousand turns a second would fill its chain in half a millisecond.  Turns that
 * are no longer than a neighbour has the CPU are merged however little of them is the root, up to so long a segment: what
 * is cut inside is told pro rata.
 */
#define MERGED_TURN_NS 4000000
#define MERGED_TURNS_NS 32000000

/* Short segments between two of the same root, by what they were. */
struct between {
	__u64 ns[CHAIN_PARTS];
};

/* Returns what is left of a segment for its root; `merged`: NULL where nothing is merged into it. */
static __always_inline __u64 add_parts(struct between *between, const struct merged *merged, __u64 whole_ns)
{
	__u64 left_ns = whole_ns;

	for (__u32 part = 0; merged && part < CHAIN_PARTS; part++) {
		__u64 ns = part_ns(merged, part, whole_ns);

		between->ns[part] += ns;
		left_ns -= ns;
	}
	return left_ns;
}

static __always_inline bool same_steps(union way one, union way other)
{
	one.root = other.root;
	one.account = other.account;
	return one.word == other.word;
}

static __always_inline void add_between(struct between *between, union way before, const struct merged *merged,
					__u64 ns, union way way)
{
	__u32 root = before.root;

	if (!same_steps(before, way)) {
		between->ns[PART_UNKNOWN] += ns;
		return;
	}
	ns = add_parts(between, merged, ns);
	if (root == ACCOUNT_CPU_USER)
		between->ns[PART_RAN] += ns;
	else if (root == ACCOUNT_RUNQ_BUSY)
		between->ns[PART_QUEUED] += ns;
	else if (root == ACCOUNT_RUNQ_WAKING)
		between->ns[PART_WAKING] += ns;
	else
		between->ns[PART_UNKNOWN] += ns;
}

static __always_inline __u64 sum_of_parts(const struct between *between)
{
	__u64 sum = 0;

	for (__u32 part = 0; part < CHAIN_PARTS; part++)
		sum += between->ns[part];
	return sum;
}

/* May what lies between be merged into a segment of so much in all, or would that say too little of it? */
static __always_inline bool may_merge(const struct between *between, __u64 whole, __u64 other, __u64 turn)
{
	if (between->ns[PART_UNKNOWN] * MERGED_LOST > whole || whole >> 40)
		return false;
	return other * MERGED_KNOWN <= whole || (whole <= MERGED_TURNS_NS && turn <= MERGED_TURN_NS);
}

static __always_inline struct merged *merged_at(struct chain *chain, __u32 place)
{
	if (place > CHAIN_UNKNOWN)
		return NULL;
	barrier_var(place); /* or the compiler computes the address before the check, which the verifier asks for */
	return &chain->merged[place];
}

/* A place for what is merged into a segment; CHAIN_MERGED: there is none. */
static __always_inline __u32 take_place(struct chain *chain)
{
	for (__u32 place = 0; place < CHAIN_MERGED; place++) {
		if (chain->used & 1 << place)
			continue;
		chain->used |= 1 << place;
		return place;
	}
	return CHAIN_MERGED;
}

static __always_inline void set_merged_place(struct kept_segment *kept, __u32 place)
{
	kept->way.account = (kept->way.account & 1) | (place + 1) << 1;
}

static __always_inline void give_place(struct chain *chain, const struct kept_segment *kept)
{
	__u32 place = merged_place(kept);

	if (place < CHAIN_MERGED)
		chain->used &= ~(1 << place);
}

struct blurring {
	struct chain *chain;
	__u64 ns, end; /* shorter than that; where the segment ends that is looked at next */
};

static long blur_segment(__u32 back, struct blurring *blurring)
{
	struct chain *chain = blurring->chain;
	__u32 place = segment_place(chain, back);
	struct kept_segment *kept;
	__u64 begin;

	if (place >= CHAIN_SEGMENTS || back >= chain->valid)
		return 1;
	barrier_var(place);
	kept = &chain->segments[place];
	begin = segment_begin(chain, kept);
	if (merged_place(kept) < CHAIN_MERGED && blurring->end - begin < blurring->ns) {
		give_place(chain, kept);
		set_merged_place(kept, CHAIN_UNKNOWN);
		return 1;
	}
	blurring->end = begin;
	return 0;
}

/* Where no place is left for what is merged: the last segment that has one, and is shorter than so much, becomes unknown. */
static __noinline int blur_shorter(struct chain *chain, __u64 ns)
{
	struct blurring blurring = { chain, ns, chain->end };

	if (chain->used == (1 << CHAIN_MERGED) - 1)
		bpf_loop(CHAIN_SEGMENTS, blur_segment, &blurring, 0);
	return 0;
}

static __always_inline bool keep_parts(struct chain *chain, struct kept_segment *kept, const struct between *between,
				       __u64 whole)
{
	__u32 place = merged_place(kept);
	struct merged *merged;

	if (place >= CHAIN_MERGED) {
		place = take_place(chain);
		if (place >= CHAIN_MERGED)
			return false;
		chain->merged[place].longest_other_ns = 0;
		set_merged_place(kept, place);
	}
	merged = merged_at(chain, place);
	if (!merged)
		return false;
	for (__u32 part = 0; part < CHAIN_PARTS; part++)
		merged->parts[part] = ((between->ns[part] << 16) + whole / 2) / whole;
	return true;
}

/* Merges a segment, and what lies between, into the one at a place, which is of the same root. */
__weak __noinline int merge(struct chain *chain, struct kept_segment *before, struct between *between, __u64 before_end,
			    __u64 end)
{
	struct merged *merged;
	__u64 begin, whole, other, all;

	if (!chain || !before || !between)
		return false;
	merged = merged_at(chain, merged_place(before));
	begin = segment_begin(chain, before);
	whole = end - begin;
	other = sum_of_parts(between);
	add_parts(between, merged, before_end - begin);
	all = sum_of_parts(between);
	if (!may_merge(between, whole, all, end - before_end))
		return false;
	if (all && !keep_parts(chain, before, between, whole))
		return false;
	merged = merged_at(chain, merged_place(before));
	if (merged && other > merged->longest_other_ns)
		merged->longest_other_ns = other < ~0U ? other : ~0U;
	return true;
}
