/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h that is about chains of waits; included there. */
#pragma once

#define CHAIN_STEPS 3  /* accounts between a wait and its root that are kept: four steps together with the root */
#define CHAIN_CUT 0x80 /* in `depth`: there were more */
/* With these 932 bytes: storage for a task comes in powers of two, and 72 are its own. */
#define CHAIN_SEGMENTS 23
#define CHAIN_MERGED 6
#define CHAIN_UNKNOWN CHAIN_MERGED /* the place of those of which nothing is known: there is no other for them */
#define CHAIN_REASONS 5

/* How one comes from a wait to its root; compared as one word. */
union way {
	struct {
		__u8 root;		 /* enum account */
		__u8 depth;		 /* how many of `steps` there are, CHAIN_CUT */
		__u8 steps[CHAIN_STEPS]; /* enum account, the nearest first */
		__u8 account;		 /* of a reason: the wait's own; of a segment: the thread served somebody */
		__u16 first; /* of a segment: tells objects of its first step apart; of a reason: in a request */
	};
	__u64 word;
};

enum chain_part { PART_RAN, PART_QUEUED, PART_WAKING, PART_UNKNOWN, CHAIN_PARTS };

/* What short segments were that are merged into a longer one. */
struct merged {
	__u16 parts[CHAIN_PARTS]; /* in 65,536 of the whole */
	__u32 longest_other_ns;	  /* that was merged at once */
};

/*
 * What a thread was really in: its own account, or the root of what it waited for.  It ends where the next one begins.
 * Short ones in between can have been merged into it: of these the sums are kept.
 */
struct segment {
	__u64 begin;
	__u64 object; /* of the root */
	union way way;
	__u32 tid; /* the thread that was in the root */
	struct merged merged;
};

/* The same as a chain keeps it. */
struct kept_segment {
	__u64 when; /* its begin, in 64 ns and modulo 78 hours; in the lowest bits `tid` */
	__u64 object;
	union way way; /* above the lowest bit of `account`: 1 + its place in `merged`, 0: nothing is merged into it */
};

#define KEPT_TID_BITS 22 /* Linux has no more */
#define KEPT_UNIT_SHIFT 6
#define KEPT_BEGIN_BITS (64 - KEPT_TID_BITS + KEPT_UNIT_SHIFT)

/* Waits of a thread on one object that had one root, the same way. */
struct reason {
	__u64 object; /* of the wait */
	__u64 root_object;
	union way way;
	__u64 ns;
	__u64 wait;  /* when the last one that was counted began */
	__u32 count; /* of waits; one with several roots counts for each */
	__u32 tid;   /* majority vote over the threads in the root, by time */
	__u64 votes_ns;
};

/*
 * A thread's last segments, and for what it waited.  It is written by the thread's own switches and, while it is blocked,
 * by whoever wakes it.
 */
struct chain {
	__u64 end;     /* of the last segment; a thread that runs has run since then */
	__u16 last;    /* place of the last segment */
	__u16 valid;   /* how many there are */
	__u32 used;    /* which of `merged`, as bits */
	__u32 of_peer; /* it is asked who was in a root, so roots of two threads are two */
	__u32 padding;
	struct kept_segment segments[CHAIN_SEGMENTS];
	struct merged merged[CHAIN_MERGED + 1];
	struct reason reasons[CHAIN_REASONS];
};

_Static_assert(sizeof(struct chain) <= 1024 - 72, "storage of 2 kB a thread");

/* Where a segment stands that is so many before the last one. */
static inline __u32 segment_place(const struct chain *chain, __u32 back)
{
	__u32 place = chain->last + CHAIN_SEGMENTS - back;

	return place < CHAIN_SEGMENTS ? place : place - CHAIN_SEGMENTS;
}

static inline __u32 segment_tid(const struct kept_segment *kept)
{
	return kept->when & ((1 << KEPT_TID_BITS) - 1);
}

static inline __u64 segment_begin(const struct chain *chain, const struct kept_segment *kept)
{
	__u64 begin = kept->when >> KEPT_TID_BITS << KEPT_UNIT_SHIFT | chain->end >> KEPT_BEGIN_BITS << KEPT_BEGIN_BITS;

	return begin <= chain->end ? begin : begin - (1ULL << KEPT_BEGIN_BITS);
}

/* CHAIN_UNKNOWN, or more: nothing is merged into it. */
static inline __u32 merged_place(const struct kept_segment *kept)
{
	return (kept->way.account >> 1) - 1U;
}

static inline union way segment_way(const struct kept_segment *kept)
{
	union way way = kept->way;

	way.account &= 1;
	return way;
}

static inline void read_segment(const struct chain *chain, __u32 place, struct segment *segment)
{
	const struct kept_segment *kept = &chain->segments[place];
	__u32 merged = merged_place(kept);

	*segment = (struct segment){ .begin = segment_begin(chain, kept),
				     .object = kept->object,
				     .way = segment_way(kept),
				     .tid = segment_tid(kept) };
	if (merged <= CHAIN_UNKNOWN)
		segment->merged = chain->merged[merged];
}

static inline __u64 part_ns(const struct merged *merged, __u32 part, __u64 whole_ns)
{
	return merged->parts[part] * whole_ns >> 16;
}

/* A thread's chain as it is copied at the end of the window, and what it is in since. */
struct chain_copy {
	__u32 tid, tgid;
	__u32 account; /* enum account */
	__u32 served;  /* it is with a request */
	__u64 at;
	struct chain chain;
};

/* Reasons of threads that ended, or that found no place in their chain. */
struct because_key {
	__u64 object, root_object;
	union way way;
	__u32 tgid; /* 0: of processes that ended */
	__u32 padding;
};

/* For a wait that a thread outside of the target has ended: what that was in meanwhile, or whom it waited for itself. */
struct peer_wait_key {
	__u64 object, root_object;
	__u32 tgid; /* of who waited */
	__u32 peer; /* process that ended the waits */
	__u32 account, root;
	__u32 root_tid; /* whose root that is; 0: of threads that found no place */
	__u32 padding;
};

struct because_sum {
	__u64 ns;
	__u64 votes_ns;
	__u32 count, tid;
};
