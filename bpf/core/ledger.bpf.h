/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ledger: one record a thread, and the only code that writes into it.
 *
 * A record is written by its own thread alone (at its switches, on its CPU, with preemption off: see KEEP_CPU), so no
 * lock is needed; readers on other CPUs see an odd or changed `sequence` and try again.  The exceptions are `waking`,
 * `waker`, `signalled`, `throttled` and what is handed on, stored by the CPU that wakes the thread, and `taken`, by the
 * last snapshot.
 */
#pragma once
#include "request/connection.bpf.h"
#include "core/details.bpf.h"

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
__weak __noinline int add_to_sum(struct record *record, __u32 account, __u64 ns)
{
	struct account_sum *sum;

	if (!record || account >= ACCOUNT_COUNT)
		return 0;
	if (knobs.operations && record->operating)
		book_operation(record, account, ns);
	if (!(record->serving.cookie && book_request(record, account, ns)) && account == ACCOUNT_CPU_USER)
		count_beside(unbooked_since(record), record->since + ns);
	sum = &record->accounts[account];
	sum->ns += ns;
	sum->count++;
	if (ns >= (sum->max_us + 1ULL) * 1000) /* a division is needed rarely */
		sum->max_us = ns / 1000;
	return 0;
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
__weak __noinline int book_running(struct record *record, struct cpu_state *cpu, __u64 steal, __u64 now)
{
	__u32 account;
	__u64 ns, irq;

	if (!record)
		return 0;
	ns = now > record->since ? now - record->since : 0;
	irq = cpu ? cpu->irq_ns - record->irq_ns : 0;
	account = vm_account(record->vm, running_account(record->region));
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
	return 0;
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
