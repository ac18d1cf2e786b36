/* SPDX-License-Identifier: GPL-2.0-only */
/* In what a thread was while a request lay unread, by its line of time: for the kernel side and for the recorder. */
#pragma once
#include "core/records.h"

/* What the verifier looks at once, whoever calls it; the recorder has its own copy. */
#ifdef __bpf__
#define VERIFIED_ONCE __weak __noinline
#else
#define VERIFIED_ONCE static inline
#endif

/*
 * Adds to the part that is `word` of union unread_in.  What finds no room is told as the rest.  Inlined, in a callback of
 * bpf_loop() that calls it four times, it was more than the verifier of Linux 7.2 looks at: a million instructions.
 */
VERIFIED_ONCE int add_unread_part(struct unread_parts *parts, __u64 word, __u64 ns)
{
	if (!parts)
		return 0;
	for (__u32 i = 0; i < UNREAD_PARTS; i++) {
		struct unread_part *part = &parts->parts[i];

		if (i < parts->used && part->in.word == word) {
			part->ns += ns;
			break;
		}
		if (i >= parts->used) {
			*part = (struct unread_part){ .in.word = word, .ns = ns };
			parts->used = i + 1;
			break;
		}
	}
	return 0;
}

/* Takes at most so much from the part that is `word` of union unread_in; returns how much. */
static inline __u64 take_unread_part(struct unread_parts *parts, __u64 word, __u64 ns)
{
	for (__u32 i = 0; i < UNREAD_PARTS && i < parts->used; i++) {
		struct unread_part *part = &parts->parts[i];

		if (part->in.word != word)
			continue;
		if (part->ns < ns)
			ns = part->ns;
		part->ns -= ns;
		return ns;
	}
	return 0;
}

static inline union unread_in in_segment(const struct segment *segment, __u32 root)
{
	return (union unread_in){ .account = segment->way.depth ? segment->way.steps[0] : root,
				  .root = root,
				  .served = segment->way.account };
}

static inline __u64 add_part_of_segment(struct unread_parts *parts, const struct segment *segment, __u32 part,
					__u32 root, __u64 whole_ns)
{
	__u64 ns = part_ns(&segment->merged, part, whole_ns);

	if (ns)
		add_unread_part(parts, in_segment(segment, root).word, ns);
	return ns;
}

/* A piece of a merged segment has of each of its parts as much as the whole: where in it they lay is not known. */
static inline void add_segment(struct unread_parts *parts, const struct segment *segment, __u64 ns)
{
	__u64 left_ns = ns - part_ns(&segment->merged, PART_UNKNOWN, ns);

	left_ns -= add_part_of_segment(parts, segment, PART_RAN, ACCOUNT_CPU_USER, ns);
	left_ns -= add_part_of_segment(parts, segment, PART_QUEUED, ACCOUNT_RUNQ_BUSY, ns);
	left_ns -= add_part_of_segment(parts, segment, PART_WAKING, ACCOUNT_RUNQ_WAKING, ns);
	if (left_ns)
		add_unread_part(parts, in_segment(segment, segment->way.root).word, left_ns);
}

/*
 * How wrong a piece that is cut off a merged segment can be: where its root and the others come in turn by one of these,
 * and never by more than what is left of it, or than what of the whole is its root.
 */
static inline __u64 cut_error_ns(const struct segment *segment, __u64 whole_ns, __u64 piece_ns)
{
	__u64 longest_ns = segment->merged.longest_other_ns, error_ns = piece_ns < longest_ns ? piece_ns : longest_ns;
	__u64 other_ns = 0;

	for (__u32 part = 0; part < CHAIN_PARTS; part++)
		other_ns += part_ns(&segment->merged, part, whole_ns);
	if (whole_ns - piece_ns < error_ns)
		error_ns = whole_ns - piece_ns;
	return whole_ns - other_ns < error_ns ? whole_ns - other_ns : error_ns;
}

/*
 * Goes one segment back, and adds what of it lies between `begun` and `*until`, where the one after it began; false: it
 * was the last.  `*error_ns`: how wrong that can be.  The chain can be written meanwhile: no moment counts twice, and none after the first `*until`.
 */
static inline _Bool add_segment_before(struct unread_parts *parts, const struct chain *chain, __u32 back, __u64 begun,
				       __u64 *until, __u64 *error_ns)
{
	__u32 place = segment_place(chain, back);
	struct segment segment;
	__u64 begin;

	if (back >= chain->valid || place >= CHAIN_SEGMENTS || *until <= begun)
		return 0;
	read_segment(chain, place, &segment);
	begin = segment.begin > begun ? segment.begin : begun;
	if (begin < *until) {
		add_segment(parts, &segment, *until - begin);
		if (segment.begin < begin)
			*error_ns = cut_error_ns(&segment, *until - segment.begin, *until - begin);
		*until = begin;
	}
	return 1;
}
