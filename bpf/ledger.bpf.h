/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ledger: one record a thread, and the only code that writes into it.
 *
 * A record is written by its own thread alone (at its switches, on its CPU, with preemption off: see KEEP_CPU), so no
 * lock is needed; readers on other CPUs see an odd or changed `sequence` and try again.  The exceptions are `waking`,
 * `waker`, `throttled` and what is handed on, stored by the CPU that wakes the thread.
 */
#pragma once
#include "maps.bpf.h"

/*
 * Functions that are called often, or branch a lot, are global (weak, because several objects that are linked have
 * them): the verifier looks at such a function once and not at every call, which is most of the time to start.
 */

/*
 * Bucket 0: below 256 ns, bucket i: [2^(i+7), 2^(i+8)), the last: all longer ones.  No branch: each doubles the paths.
 */
__weak __noinline __u32 bucket_of(__u64 ns)
{
	__u64 bits = ns >> 8;

	bits |= bits >> 1;
	bits |= bits >> 2;
	bits |= bits >> 4;
	bits |= bits >> 8;
	bits |= bits >> 16;
	bits |= bits >> 32;
	/* How many are set now ("Hacker's Delight", 5-1): the position of the highest one. */
	bits -= bits >> 1 & 0x5555555555555555;
	bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
	bits = bits * 0x0101010101010101 >> 56;
	return bits < BUCKETS ? bits : BUCKETS - 1;
}

#if defined(__TARGET_ARCH_x86)
/* One writer, and stores become visible in their order: a plain one will do, at a tenth of the price. */
#define ADVANCE(sequence)                                                                                              \
	do {                                                                                                           \
		asm volatile("" ::: "memory");                                                                         \
		*(volatile __u32 *)&(sequence) += 1;                                                                   \
		asm volatile("" ::: "memory");                                                                         \
	} while (0)
#else
/* The result has to be wanted, or the compiler takes the instruction that orders nothing. */
#define ADVANCE(sequence)                                                                                              \
	do {                                                                                                           \
		__u32 before = __sync_fetch_and_add(&(sequence), 1);                                                   \
		barrier_var(before);                                                                                   \
	} while (0)
#endif

static __always_inline void begin_write(struct record *record)
{
	ADVANCE(record->sequence);
}

static __always_inline void end_write(struct record *record)
{
	ADVANCE(record->sequence);
}

static __always_inline void count_in(__u32 buckets[BUCKETS], __u64 ns)
{
	__u32 bucket = bucket_of(ns);

	if (bucket < BUCKETS)
		buckets[bucket]++;
}

/* The same where other CPUs count, too. */
static __always_inline void count_shared(__u32 buckets[BUCKETS], __u64 ns)
{
	__u32 bucket = bucket_of(ns);

	if (bucket < BUCKETS)
		__sync_fetch_and_add(&buckets[bucket], 1);
}

/* One more in a sum of all CPUs.  Two can race for the maximum, the smaller one then stays: tolerated. */
#define ADD_SHARED(sum, duration_ns)                                                                                   \
	do {                                                                                                           \
		__u64 added_ns = duration_ns;                                                                          \
		__sync_fetch_and_add(&(sum)->count, 1);                                                                \
		__sync_fetch_and_add(&(sum)->ns, added_ns);                                                            \
		if (added_ns > (sum)->max_ns)                                                                          \
			(sum)->max_ns = added_ns;                                                                      \
		count_shared((sum)->buckets, added_ns);                                                                \
	} while (0)

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

	if (!record)
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

/* The same nanoseconds once more, in the ledger of the operation the thread is in. */
__weak __noinline int book_operation(struct record *record, __u32 account, __u64 ns)
{
	if (!record)
		return 0;
	for (int i = 0; i < OPERATION_PARTS; i++) {
		if (record->parts[i].ns && record->parts[i].account != account)
			continue;
		record->parts[i].account = account;
		record->parts[i].ns += ns;
		break;
	}
	return 0;
}

/* Books ns to an account alone: running (cpu.*) has no object, and nobody asks how long its slices were. */
static __always_inline void add_to_sum(struct record *record, __u32 account, __u64 ns)
{
	struct account_sum *sum;

	if (account >= ACCOUNT_COUNT)
		return;
	if (knobs.slo_ns && record->operating)
		book_operation(record, account, ns);
	sum = &record->accounts[account];
	sum->ns += ns;
	sum->count++;
	if (ns >= (sum->max_us + 1ULL) * 1000) /* a division is needed rarely */
		sum->max_us = ns / 1000;
}

/* Books ns to an account and to its object's detail, where that has been looked up already (NULL: it has no room). */
static __always_inline void book_at(struct record *record, struct detail *detail, __u32 account, __u64 object, __u64 ns)
{
	add_to_sum(record, account, ns);
	if (detail)
		add_to_detail(detail, ns);
	else
		spill(record, account, object, ns);
}

/*
 * Books a part of a wait to its detail (NULL: it has no room), not to the account: whatever one object has of the wait
 * that is being booked counts once, by the whole of it.
 */
static __always_inline struct detail *book_part(struct record *record, __u32 account, __u64 object, __u64 ns)
{
	struct detail *detail = find_detail(record, account, object);
	__u32 bucket;

	if (!detail) {
		spill(record, account, object, ns);
		return NULL;
	}
	if (detail->count && detail->wait == record->sequence) {
		bucket = bucket_of(detail->part_ns);
		detail->ns -= detail->part_ns;
		detail->count--;
		if (bucket < BUCKETS)
			detail->buckets[bucket]--;
		ns += detail->part_ns;
	}
	detail->wait = record->sequence;
	detail->part_ns = ns;
	add_to_detail(detail, ns);
	return detail;
}

/* Books ns to one account and object.  The caller holds the record (begin_write). */
__weak __noinline int book(struct record *record, __u32 account, __u64 object, __u64 ns)
{
	if (record && account < ACCOUNT_COUNT)
		book_at(record, find_detail(record, account, object), account, object, ns);
	return 0;
}

/* Books the time a thread has been running since `since`, less what interrupts and `steal` took from it. */
static __always_inline void book_running(struct record *record, struct cpu_state *cpu, __u64 steal, __u64 now)
{
	__u64 ns = now > record->since ? now - record->since : 0;
	__u64 irq = cpu ? cpu->irq_ns - record->irq_ns : 0;
	__u32 account = vm_account(record->vm, running_account(record->region));

	if (irq) {
		if (irq > ns)
			irq = ns;
		add_to_sum(record, ACCOUNT_CPU_IRQ, irq);
		ns -= irq;
	}
	/* A steal clock that ran backwards, or of another CPU, is no steal. */
	if (steal && steal <= ns) {
		add_to_sum(record, ACCOUNT_CPU_STOLEN, steal);
		ns -= steal;
	}
	if (account == ACCOUNT_CPU_USER)
		add_to_sum(record, account, ns);
	else
		book(record, account,
		     account == ACCOUNT_VM_EXIT ? record->left.exit
						: region_object(record->region, record->region_detail),
		     ns);
	if (account == ACCOUNT_VM_EXIT)
		record->left.ran_ns += ns;
	record->since = now;
	record->irq_ns = cpu ? cpu->irq_ns : 0;
}

/* Enters or leaves a region that books differently from here on (the running thread itself). */
__weak __noinline int change_region(__u32 region)
{
	struct record *record = record_of(bpf_get_current_task_btf());

	if (!record || record->state != STATE_RUNNING)
		return 0;
	KEEP_CPU();
	begin_write(record);
	book_running(record, this_cpu(), 0, bpf_ktime_get_ns()); /* what was stolen is seen at the switch */
	record->region = region;
	end_write(record);
	GIVE_CPU();
	return 0;
}

/* Leaves KVM_RUN for good, not to have an exit handled: what comes then is none of that exit's (the thread itself). */
__weak __noinline int leave_vm(void)
{
	struct record *record = record_of(bpf_get_current_task_btf());

	if (!record || record->state != STATE_RUNNING || record->vm != VM_EXIT)
		return 0;
	KEEP_CPU();
	begin_write(record);
	book_running(record, this_cpu(), 0, bpf_ktime_get_ns());
	record->vm = VM_LEFT;
	record->left.until = record->since;
	end_write(record);
	GIVE_CPU();
	return 0;
}

/* Room for the name of an object; NULL if it has one already, or there is no room. */
static __always_inline struct object_name *new_name(__u64 object)
{
	bool made = false;
	struct object_name *name = FIND_OR_MAKE(names, &object, COUNTER_NAMES_FULL, &made);

	return made ? name : NULL;
}

/* A process has another name after its exec: the last one that somebody met stays. */
static __always_inline void rename_object(__u64 object, const struct object_name *name)
{
	struct object_name *room = FIND_OR_MAKE(names, &object, COUNTER_NAMES_FULL, NULL);

	if (room)
		*room = *name;
}
