/* SPDX-License-Identifier: GPL-2.0-only */
/* How a segment is appended to a thread's line of time, or merged into one before it: see timeline.bpf.h. */
#pragma once
#include "wait/merging.bpf.h"

/* So many can lie between two flushes of a queue: run, be woken and wait for an interpreter's lock. */
#define MERGED_OVER 12

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
 * Is a segment that stands there of the same root as one that is appended?  A thread's own are all its own, but for those
 * that its maker has left it: see inherit_chain().
 */
static __always_inline bool is_same_root(const struct chain *chain, const struct kept_segment *kept,
					 const struct segment *segment)
{
	return kept->object == segment->object && segment_way(kept).word == segment->way.word &&
	       ((!chain->of_peer && segment->way.depth) || segment_tid(kept) == segment->tid);
}

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
	if (is_same_root(chain, before, segment))
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
	if (!is_same_root(chain, before, segment) || !merge(chain, before, &on->between, on->end, end))
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
