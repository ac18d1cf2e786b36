/* SPDX-License-Identifier: GPL-2.0-only */
/* The details of a record: what it has of an account by object, as many as have a place in it; the others are spilled. */
#pragma once
#include "core/buckets.bpf.h"
#include "core/hash.h"

/* Tells details apart without a look at each, which lie in three lines of memory; never 0. */
static __always_inline __u16 tag_of(__u32 account, __u64 object)
{
	return mix(account, object) >> 48 | 1;
}

#define IN_EACH_TAG(bits) ((bits)*0x0001000100010001ULL)

/* The first detail of that tag, 0: the first that is free; DETAILS or more: none.  Four tags at a time. */
static __always_inline __u32 find_tag(const struct record *record, __u16 tag)
{
	for (__u32 place = 0; place < TAGS; place += 4) {
		__u64 other = *(const __u64 *)&record->tags[place] ^ IN_EACH_TAG(tag);
		__u64 same = (other - IN_EACH_TAG(1)) & ~other & IN_EACH_TAG(1ULL << 15); /* right to the first one */

		if (same)
			return place + count_bits((same & -same) - 1) / 16;
	}
	return DETAILS;
}

static __always_inline bool is_detail(const struct record *record, __u32 place, __u32 account, __u64 object)
{
	const struct detail *detail;

	barrier_var(place); /* or the compiler computes the address before the check, which the verifier refuses */
	if (place >= DETAILS)
		return false;
	detail = &record->details[place];
	return record->tags[place] && detail->account == account && detail->object == object;
}

/*
 * The place of an account and object in a record: the one used last, its own, a free one; DETAILS if there is none, or
 * another one has the same tag, as one of 32,768 has.
 */
__weak __noinline __u32 find_place(struct record *record, __u32 account, __u64 object)
{
	struct detail *detail;
	__u32 place;
	__u16 tag;

	if (!record || account >= ACCOUNT_COUNT)
		return DETAILS;
	place = record->hint[account];
	if (is_detail(record, place, account, object))
		return place;
	tag = tag_of(account, object);
	place = find_tag(record, tag);
	if (place < DETAILS) {
		if (!is_detail(record, place, account, object))
			return DETAILS;
		record->hint[account] = place;
		return place;
	}
	place = find_tag(record, 0);
	barrier_var(place);
	if (place >= DETAILS)
		return DETAILS;
	record->tags[place] = tag;
	detail = &record->details[place];
	detail->account = account;
	detail->object = object;
	record->hint[account] = place;
	return place;
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

/* Chooses where the open wait will be booked.  A place that was meant for it before, as another one's, is free again. */
static __always_inline void open_place(struct record *record)
{
	struct detail *detail = open_detail(record);

	if (detail && !detail->count)
		record->tags[record->place] = 0;
	record->place = find_place(record, record->account, record->object);
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
