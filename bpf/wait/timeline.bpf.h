/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For what did a thread wait, when it waited for another thread?  Each keeps its last segments as a line of time, in
 * which a wait for another thread stands as what that one was in meanwhile: its root.  So whoever wakes a thread has
 * the root of each moment of that wait at hand, however long the chain, and nothing is ever followed further than to
 * the waker.  What is booked here is a second view on waits that the ledger has in full: it is never added to them.
 *
 * While a thread is blocked its chain is written by its waker, who holds its pi_lock; the waker's own is at rest, because
 * it is the current task and switches are off.  Otherwise by its own switches alone.
 */
#pragma once
#include "request/connection.bpf.h"
#include "wait/reasons.bpf.h"

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct chain);
} chains SEC(".maps");

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

static __always_inline struct chain *chain_of(struct task_struct *task)
{
	return bpf_task_storage_get(&chains, task, NULL, 0);
}

static __always_inline void begin_chain(struct task_struct *task, __u64 now)
{
	struct chain *chain = bpf_task_storage_get(&chains, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!chain) {
		count_loss(COUNTER_STORAGE_FAILED);
		return;
	}
	chain->end = now;
	chain->merged[CHAIN_UNKNOWN].parts[PART_UNKNOWN] = 0xffff;
}

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

/* Where no place is left for what is merged: the last segment that has one, and is shorter than so much, becomes unknown. */
static __always_inline void blur_shorter(struct chain *chain, __u64 ns)
{
	__u64 end = chain->end, begin;

	if (chain->used != (1 << CHAIN_MERGED) - 1)
		return;
	for (__u32 back = 0; back < CHAIN_SEGMENTS && back < chain->valid; back++) {
		__u32 place = segment_place(chain, back);
		struct kept_segment *kept;

		if (place >= CHAIN_SEGMENTS)
			break;
		kept = &chain->segments[place];
		begin = segment_begin(chain, kept);
		if (merged_place(kept) < CHAIN_MERGED && end - begin < ns) {
			give_place(chain, kept);
			set_merged_place(kept, CHAIN_UNKNOWN);
			return;
		}
		end = begin;
	}
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
static __always_inline bool merge(struct chain *chain, struct kept_segment *before, struct between *between,
				  __u64 before_end, __u64 end)
{
	struct merged *merged = merged_at(chain, merged_place(before));
	__u64 begin = segment_begin(chain, before), whole = end - begin, other = sum_of_parts(between), all;

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

static __always_inline void push(struct chain *chain, const struct segment *segment, __u64 end)
{
	__u32 place = chain->last + 1, merged = CHAIN_UNKNOWN + 1;
	struct kept_segment *kept;

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
}

/*
 * Appends a segment, or merges it into one that lies just before it and has the same root, with the short ones between
 * them: a queue behind slow flushes is hundreds of these, and all of them short but the flushes.
 */
__weak __noinline int append(struct chain *chain, struct segment *segment, __u64 end)
{
	struct between between = {};
	__u64 before_end;
	__u32 freed = 0;

	if (!chain || !segment || end <= segment->begin)
		return 0;
	blur_shorter(chain, end - segment->begin);
	add_parts(&between, &segment->merged, end - segment->begin);
	before_end = chain->end;
	for (__u32 back = 0; back < MERGED_OVER && back < chain->valid; back++) {
		__u32 place = segment_place(chain, back);
		struct kept_segment *before;
		union way way;

		if (place >= CHAIN_SEGMENTS)
			break;
		before = &chain->segments[place];
		way = segment_way(before);
		if (before->object != segment->object || way.word != segment->way.word) {
			__u64 begin = segment_begin(chain, before);

			add_between(&between, way, merged_at(chain, merged_place(before)), before_end - begin,
				    segment->way);
			before_end = begin;
			freed |= 2U << (before->way.account >> 1) >> 2;
			continue;
		}
		if (!merge(chain, before, &between, before_end, end))
			break;
		chain->used &= ~freed;
		chain->last = place;
		chain->valid -= back;
		chain->end = end;
		return 0;
	}
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

#define ROOM 4 /* segments that a thread pushes at a switch, and one */

/*
 * Where a chain is full, its oldest segment goes.  That may be a second that the thread waited before it took twenty locks
 * for a moment each, and it is the second that the next one waits for: so the short ones go instead.  Called where the stack
 * has room for it.
 */
__weak __noinline int make_room(struct chain *chain)
{
	if (!chain)
		return 0;
	for (int times = 0; times < ROOM && chain->valid > CHAIN_SEGMENTS - ROOM; times++)
		if (!keep_oldest(chain))
			break;
	return 0;
}

/* What a thread was in itself, from the end of its chain on.  It may have answered somebody while it ran. */
static __always_inline void append_own(struct chain *chain, const struct record *record, __u32 account, __u64 object,
				       __u64 end)
{
	struct segment segment = { .begin = chain->end,
				   .object = object,
				   .tid = record->tid,
				   .way = { .root = account,
					    .account = record->serving_since > chain->end || is_serving(record) } };

	append(chain, &segment, end);
}

/*
 * What a new thread is asked for may have waited before there was one: for its maker, whose line of time it goes on with.
 */
static __always_inline void inherit_chain(struct task_struct *child, struct task_struct *maker,
					  const struct record *record, __u64 now)
{
	struct chain *chain = chain_of(child), *made_by = chain_of(maker);

	if (!chain || !made_by)
		return;
	/* Too long for clang to copy in line. */
	bpf_probe_read_kernel(chain, __builtin_offsetof(struct chain, reasons), made_by);
	append_own(chain, record, ACCOUNT_CPU_USER, 0, now);
}
