/* SPDX-License-Identifier: GPL-2.0-only */
/* For what a thread waited: the sums of each chain, and those of all threads that have left theirs. */
#pragma once
#include "core/maps.bpf.h"

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

/* What it waited for is what it waited for: that needs no other name. */
static __always_inline bool says_more(const struct reason *reason)
{
	return reason->ns && (reason->way.root != reason->way.account || reason->root_object != reason->object);
}

/* Adds to the reasons of a chain; where there is no place, that with the least time goes into the sum of all threads. */
__weak __noinline int add_reason(struct chain *chain, struct reason *more, __u32 tgid)
{
	struct reason_search search = { chain, more, CHAIN_REASONS, 0, ~0ULL };
	struct reason *reason;
	__u32 place;

	if (!chain || !more || !says_more(more))
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
