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

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct chain);
} chains SEC(".maps");

/*
 * 8,192 of 56 bytes, 1 MB, allocated before: a thread that ends gives all its reasons at once, with interrupts off,
 * where the kernel has four elements at hand (prefill_mem_cache() in kernel/bpf/memalloc.c) and gets no more.
 */
LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct because_key);
	__type(value, struct because_sum);
} because SEC(".maps");

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

	if (chain)
		chain->end = now;
	else
		count_loss(COUNTER_STORAGE_FAILED);
}

/* Short segments between two of the same root, by what they were. */
struct between {
	__u64 ns[CHAIN_PARTS];
};

/* Returns what is left of a segment for its root. */
static __always_inline __u64 add_parts(struct between *between, const struct segment *segment, __u64 whole_ns)
{
	__u64 left_ns = whole_ns;

	for (__u32 part = 0; part < CHAIN_PARTS; part++) {
		__u64 ns = part_ns(segment, part, whole_ns);

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

static __always_inline void add_between(struct between *between, const struct segment *segment, __u64 ns, union way way)
{
	__u32 root = segment->way.root;

	if (!same_steps(segment->way, way)) {
		between->ns[PART_UNKNOWN] += ns;
		return;
	}
	ns = add_parts(between, segment, ns);
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

/* Merges what lies between into the segment before, from its end up to `end`; false if that would say too little of it. */
static __always_inline bool merge(struct segment *before, const struct between *between, __u64 before_end, __u64 end)
{
	__u64 whole = end - before->begin, other = sum_of_parts(between);

	if (between->ns[PART_UNKNOWN] * MERGED_LOST > whole || whole >> 40)
		return false;
	if (other * MERGED_KNOWN > whole && (whole > MERGED_TURNS_NS || end - before_end > MERGED_TURN_NS))
		return false;
	if (!other)
		return true;
	for (__u32 part = 0; part < CHAIN_PARTS; part++)
		before->parts[part] = ((between->ns[part] << 16) + whole / 2) / whole;
	return true;
}

/*
 * Appends a segment, or merges it into one that lies just before it and has the same root, with the short ones between
 * them: a queue behind slow flushes is hundreds of these, and all of them short but the flushes.
 */
__weak __noinline int append(struct chain *chain, struct segment *segment, __u64 end)
{
	struct between between = {};
	__u32 index;

	if (!chain || !segment || end <= segment->begin)
		return 0;
	add_parts(&between, segment, end - segment->begin);
	for (__u32 back = 0; back < MERGED_OVER && back < chain->valid; back++) {
		struct segment *before;
		__u64 before_end, other;

		index = (chain->last - back) % CHAIN_SEGMENTS;
		before = &chain->segments[index];
		before_end = end_of_segment(chain, index, back);
		if (before->object != segment->object || before->way.word != segment->way.word) {
			add_between(&between, before, before_end - before->begin, segment->way);
			continue;
		}
		other = sum_of_parts(&between);
		add_parts(&between, before, before_end - before->begin);
		if (!merge(before, &between, before_end, end))
			break;
		if (other > before->longest_other_ns)
			before->longest_other_ns = other < ~0U ? other : ~0U;
		chain->last -= back;
		chain->valid -= back;
		chain->end = end;
		return 0;
	}
	index = ++chain->last % CHAIN_SEGMENTS;
	chain->segments[index] = *segment;
	chain->end = end;
	if (chain->valid < CHAIN_SEGMENTS)
		chain->valid++;
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
	bpf_probe_read_kernel(chain->segments, sizeof(chain->segments), made_by->segments);
	chain->last = made_by->last;
	chain->valid = made_by->valid;
	chain->end = made_by->end;
	append_own(chain, record, ACCOUNT_CPU_USER, 0, now);
}

static __always_inline __u32 vote_by_time(__u32 tid, __u64 *votes_ns, __u32 other, __u64 ns)
{
	if (tid == other) {
		*votes_ns += ns;
	} else if (*votes_ns >= ns) {
		*votes_ns -= ns;
	} else {
		*votes_ns = ns - *votes_ns;
		return other;
	}
	return tid;
}

/* Takes a reason out of a chain; by its thread's end, its next waker or the recorder, whoever comes first. */
__weak __noinline int spill_reason(struct reason *reason, __u32 tgid)
{
	struct because_key key = {};
	struct because_sum *sum;
	__u64 ns;

	if (!reason)
		return 0;
	ns = __sync_lock_test_and_set(&reason->ns, 0);
	if (!ns)
		return 0;
	key.object = reason->object;
	key.root_object = reason->root_object;
	key.way.word = reason->way.word;
	key.tgid = tgid;
	sum = FIND_OR_MAKE(because, &key, COUNTER_BECAUSE_FULL, NULL);
	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->ns, ns);
	__sync_fetch_and_add(&sum->count, reason->count);
	sum->tid = vote_by_time(sum->tid, &sum->votes_ns, reason->tid, reason->votes_ns); /* as in ADD_SHARED() */
	return 0;
}

struct reason_search {
	struct chain *chain;
	struct reason *wanted; /* object, root_object and way */
	__u32 place, smallest;
	__u64 smallest_ns;
};

static long try_reason(__u32 place, struct reason_search *search)
{
	struct reason *reason;

	if (place >= CHAIN_REASONS)
		return 1;
	reason = &search->chain->reasons[place];
	if (reason->ns && (reason->way.word != search->wanted->way.word || reason->object != search->wanted->object ||
			   reason->root_object != search->wanted->root_object)) {
		if (reason->ns < search->smallest_ns) {
			search->smallest_ns = reason->ns;
			search->smallest = place;
		}
		return 0;
	}
	search->place = place;
	return 1;
}

/* Adds to the reasons of a chain; where there is no place, that with the least time goes into the sum of all threads. */
__weak __noinline int add_reason(struct chain *chain, struct reason *more, __u32 tgid)
{
	struct reason_search search = { chain, more, CHAIN_REASONS, 0, ~0ULL };
	struct reason *reason;
	__u32 place;

	if (!chain || !more)
		return 0;
	bpf_loop(CHAIN_REASONS, try_reason, &search, 0);
	place = search.place < CHAIN_REASONS ? search.place : search.smallest;
	if (place >= CHAIN_REASONS)
		return 0;
	barrier_var(place);
	reason = &chain->reasons[place];
	if (search.place >= CHAIN_REASONS)
		spill_reason(reason, tgid);
	if (!reason->ns) {
		*reason = *more;
		reason->count = 1;
		reason->votes_ns = more->ns;
		return 0;
	}
	reason->ns += more->ns;
	reason->tid = vote_by_time(reason->tid, &reason->votes_ns, more->tid, more->ns);
	if (reason->wait != more->wait)
		reason->count++;
	reason->wait = more->wait;
	return 0;
}

struct spilling {
	struct chain *chain;
	__u32 tgid;
};

static long spill_place(__u32 place, struct spilling *spilling)
{
	if (place >= CHAIN_REASONS)
		return 1;
	spill_reason(&spilling->chain->reasons[place], spilling->tgid);
	return 0;
}

static __always_inline void spill_reasons(struct chain *chain, __u32 tgid)
{
	bpf_loop(CHAIN_REASONS, spill_place, &(struct spilling){ chain, tgid }, 0);
}
