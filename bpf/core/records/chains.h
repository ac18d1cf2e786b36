/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h that is about chains of waits; included there. */
#pragma once

#define CHAIN_STEPS 3  /* accounts between a wait and its root that are kept: four steps together with the root */
#define CHAIN_CUT 0x80 /* in `depth`: there were more */
/* With 5 reasons 1,704 bytes: storage for a task comes in powers of two, and 72 are its own. */
#define CHAIN_SEGMENTS 32
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

/* What short segments were that are merged into a longer one, as parts in 65,536 of that. */
enum chain_part { PART_RAN, PART_QUEUED, PART_WAKING, PART_UNKNOWN, CHAIN_PARTS };

/*
 * What a thread was really in: its own account, or the root of what it waited for.  It ends where the next one begins.
 * Short ones in between can have been merged into it: of these the sums are kept.
 */
struct segment {
	__u64 begin;
	__u64 object; /* of the root */
	union way way;
	__u32 tid; /* the thread that was in the root */
	__u16 parts[CHAIN_PARTS];
	__u32 longest_other_ns; /* that was merged at once */
};

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
	__u64 end;   /* of the last segment; a thread that runs has run since then */
	__u32 last;  /* index of the last segment, modulo CHAIN_SEGMENTS */
	__u32 valid; /* how many there are */
	struct segment segments[CHAIN_SEGMENTS];
	struct reason reasons[CHAIN_REASONS];
};

static inline __u64 end_of_segment(const struct chain *chain, __u32 index, __u32 back)
{
	return back ? chain->segments[(index + 1) % CHAIN_SEGMENTS].begin : chain->end;
}

static inline __u64 part_ns(const struct segment *segment, __u32 part, __u64 whole_ns)
{
	return segment->parts[part] * whole_ns >> 16;
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

struct because_sum {
	__u64 ns;
	__u64 votes_ns;
	__u32 count, tid;
};
