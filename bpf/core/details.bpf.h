/* SPDX-License-Identifier: GPL-2.0-only */
/* The details of a record: what it has of an account by object, as many as have a place in it; the others are spilled. */
#pragma once
#include "core/buckets.bpf.h"

struct search {
	struct record *record;
	__u64 object;
	__u32 account;
	__u32 place;
};

static long try_place(__u32 place, struct search *search)
{
	struct detail *detail;

	if (place >= DETAILS)
		return 1;
	detail = &search->record->details[place];
	if (detail->count && (detail->account != search->account || detail->object != search->object))
		return 0;
	detail->account = search->account;
	detail->object = search->object;
	search->place = place;
	return 1;
}

/* The place of an account and object in a record: the one used last, its own, a free one; DETAILS if there is none. */
__weak __noinline __u32 find_place(struct record *record, __u32 account, __u64 object)
{
	struct search search = { .record = record, .object = object, .account = account, .place = DETAILS };
	struct detail *detail;
	__u32 place;

	if (!record || account >= ACCOUNT_COUNT)
		return DETAILS;
	place = record->hint[account];
	if (place < DETAILS) {
		detail = &record->details[place];
		if (detail->count && detail->account == account && detail->object == object)
			return place;
	}
	bpf_loop(DETAILS, try_place, &search, 0); /* a plain loop takes the verifier longer, in every program */
	if (search.place < DETAILS)
		record->hint[account] = search.place;
	return search.place;
}

/* Where the wait that is open will be booked; NULL if there was no room, then it is spilled. */
static __always_inline struct detail *open_detail(struct record *record)
{
	__u32 place = record->place;

	if (place >= DETAILS)
		return NULL;
	barrier_var(place); /* or the compiler computes the address before the check, which the verifier refuses */
	return &record->details[place];
}

static __always_inline struct detail *find_detail(struct record *record, __u32 account, __u64 object)
{
	__u32 place = find_place(record, account, object);

	if (place >= DETAILS)
		return NULL;
	barrier_var(place); /* as above */
	return &record->details[place];
}

static __always_inline void add_to_detail(struct detail *detail, __u64 ns)
{
	detail->ns += ns;
	detail->count++;
	if (ns >= (detail->max_us + 1ULL) * 1000)
		detail->max_us = ns / 1000;
	count_in(detail->buckets, ns);
}

/* A detail that finds no place in its thread's record. */
__weak __noinline int spill(struct record *record, __u32 account, __u64 object, __u64 ns)
{
	struct detail_key key = { .object = object, .account = account };
	struct detail *detail;
	__u32 us = ns / 1000;
	bool made = false;

	if (!record || record->taken)
		return 0;
	key.tgid = record->tgid;
	detail = FIND_OR_MAKE(spilled, &key, COUNTER_DETAIL_FULL, &made);
	if (!detail)
		return 0;
	if (made) {
		detail->account = account;
		detail->object = object;
	}
	__sync_fetch_and_add(&detail->ns, ns);
	__sync_fetch_and_add(&detail->count, 1);
	if (us > detail->max_us)
		detail->max_us = us; /* as in ADD_SHARED() */
	count_shared(detail->buckets, ns);
	return 0;
}
