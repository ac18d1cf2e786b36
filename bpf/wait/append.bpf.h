/* SPDX-License-Identifier: GPL-2.0-only */
/* How a segment is appended to a thread's line of time, and merged into one before it: see timeline.bpf.h. */
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
/* So many can lie between two flushes of a queue: run, be woken and wait for an interpreter's lock. */
#define MERGED_OVER 12

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

static __always_inline bool has_parts(const struct merged *merged)
{
	return *(const __u64 *)merged->parts || merged->longest_other_ns;
}

__weak __noinline int push(struct chain *chain, struct segment *segment, __u64 end)
{
	__u32 place, merged = CHAIN_UNKNOWN + 1;
	struct kept_segment *kept;

	if (!chain || !segment)
		return 0;
	place = chain->last + 1;
	barrier_var(place); /* the verifier of Linux 6.1 wants the check on what is used */
	if (place >= CHAIN_SEGMENTS)
		place = 0;
	kept = &chain->segments[place];
	if (chain->valid == CHAIN_SEGMENTS)
		give_place(chain, kept);
	if (has_parts(&segment->merged)) {
		merged = take_place(chain);
		if (merged < CHAIN_MERGED)
			chain->merged[merged] = segment->merged;
	}
	*kept = (struct kept_segment){ .when = segment->begin >> KEPT_UNIT_SHIFT << KEPT_TID_BITS | segment->tid,
				       .object = segment->object,
				       .way = segment->way };
	if (merged <= CHAIN_UNKNOWN)
		set_merged_place(kept, merged);
	chain->last = place;
	chain->end = end;
	if (chain->valid < CHAIN_SEGMENTS)
		chain->valid++;
	return 0;
}

/* The way back from a segment that is appended: what lies between it and where it may be merged. */
struct way_back {
	struct between between;
	__u64 end;   /* of the segment that is looked at next */
	__u32 freed; /* places of what lies between, as bits */
};

/*
 * Looks at the segment so many before the last one; returns whether it is none of the same root, but lies between.
 * Global, so that the verifier walks it once and not in each turn.
 */
__weak __noinline int look_back(struct chain *chain, struct segment *segment, struct way_back *on, __u32 back)
{
	struct kept_segment *before;
	__u64 begin;
	__u32 place;
	union way way;

	if (!chain || !segment || !on || back >= chain->valid)
		return false;
	place = segment_place(chain, back);
	barrier_var(place);
	if (place >= CHAIN_SEGMENTS)
		return false;
	before = &chain->segments[place];
	way = segment_way(before);
	if (before->object == segment->object && way.word == segment->way.word)
		return false;
	begin = segment_begin(chain, before);
	add_between(&on->between, way, merged_at(chain, merged_place(before)), on->end - begin, segment->way);
	on->end = begin;
	on->freed |= 2U << (before->way.account >> 1) >> 2;
	return true;
}

/* Merges the segment, and what lies between, into the one so many before the last one, if that is of the same root. */
static __always_inline bool merge_back(struct chain *chain, const struct segment *segment, struct way_back *on,
				       __u32 back, __u64 end)
{
	__u32 place = segment_place(chain, back);
	struct kept_segment *before;

	barrier_var(place);
	if (back >= MERGED_OVER || back >= chain->valid || place >= CHAIN_SEGMENTS)
		return false;
	before = &chain->segments[place];
	if (before->object != segment->object || segment_way(before).word != segment->way.word ||
	    !merge(chain, before, &on->between, on->end, end))
		return false;
	chain->used &= ~on->freed;
	chain->last = place;
	chain->valid -= back;
	chain->end = end;
	return true;
}

/*
 * Appends a segment, or merges it into one that lies just before it and has the same root, with the short ones between
 * them: a queue behind slow flushes is hundreds of these, and all of them short but the flushes.
 */
__weak __noinline int append(struct chain *chain, struct segment *segment, __u64 end)
{
	struct way_back on = {};
	__u32 back;

	if (!chain || !segment || end <= segment->begin)
		return 0;
	blur_shorter(chain, end - segment->begin);
	add_parts(&on.between, &segment->merged, end - segment->begin);
	on.end = chain->end;
#pragma nounroll
	for (back = 0; back < MERGED_OVER && look_back(chain, segment, &on, back); back++)
		;
	if (!merge_back(chain, segment, &on, back, end))
		push(chain, segment, end);
	return 0;
}

/* Merges the short segment after a long oldest one into that; returns whether it did. */
__weak __noinline int keep_oldest(struct chain *chain)
{
	struct between between = {};
	struct kept_segment *oldest, *after;
	__u32 first, second, third;
	__u64 begin, middle, end;

	if (!chain)
		return 0;
	first = segment_place(chain, chain->valid - 1);
	second = segment_place(chain, chain->valid - 2);
	third = segment_place(chain, chain->valid - 3);
	barrier_var(first);
	barrier_var(second);
	barrier_var(third);
	if (first >= CHAIN_SEGMENTS || second >= CHAIN_SEGMENTS || third >= CHAIN_SEGMENTS)
		return 0;
	oldest = &chain->segments[first];
	after = &chain->segments[second];
	begin = segment_begin(chain, oldest);
	middle = segment_begin(chain, after);
	end = segment_begin(chain, &chain->segments[third]);
	if ((end - middle) * MERGED_LOST > middle - begin)
		return 0;
	blur_shorter(chain, middle - begin);
	add_between(&between, segment_way(after), merged_at(chain, merged_place(after)), end - middle,
		    segment_way(oldest));
	if (!merge(chain, oldest, &between, middle, end))
		return 0;
	give_place(chain, after);
	*after = *oldest;
	chain->valid--;
	return 1;
}
