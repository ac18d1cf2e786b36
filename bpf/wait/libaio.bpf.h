/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a context of libaio has in flight.  Each of its places is free, for all CPUs or for one of them; or its completion
 * has not been accounted for; or it has a request.  Of these polls wait until somebody wants something, and they are
 * in a list of requests that can be cancelled (where beside them only those of USB gadgets are, which wait for a host).
 */
#pragma once
#include "wait/blocked.bpf.h"

/* Beyond these it is not told: */
#define AIO_CONTEXTS 64
#define AIO_CPUS 256
#define AIO_POLLS 64

struct aio {
	struct kioctx_table *table;
	struct kioctx *context;
	__u64 own; /* from a value of the map cpus to a CPU's free places */
	__u64 id, node, end;
	__s32 total, accounted;
	bool seen_all;
};

static long find_context(__u32 index, struct aio *aio)
{
	struct kioctx_table *table = aio->table;
	struct kioctx *context;

	if (index >= LOAD(kioctx_table, table, nr))
		return 1;
	context = (struct kioctx *)LOAD(list_head, &table->table[index], next);
	if (!context || LOAD(kioctx, context, user_id) != aio->id)
		return 0;
	aio->context = context;
	return 1;
}

/* The verifier computes with few pointers; as a number it knows what a program has read from memory. */
static __always_inline __u64 number_of(void *pointer)
{
	__u64 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), &pointer);
	return number;
}

/*
 * What each CPU has of its own lies equally far, on all of them, from what it has of another object: a value of a map,
 * of which it is known where it is and by which address the kernel names it.
 */
static long add_cpu(__u32 cpu, struct aio *aio)
{
	__u32 zero = 0;
	void *value = bpf_map_lookup_percpu_elem(&cpus, &zero, cpu);

	aio->seen_all = !value;
	if (!value)
		return 1;
	aio->accounted += LOAD(kioctx_cpu, aio->own + number_of(value), reqs_available);
	return aio->accounted >= aio->total;
}

static long add_poll(__u32 index, struct aio *aio)
{
	aio->seen_all = !aio->node || aio->node == aio->end;
	if (aio->seen_all)
		return 1;
	aio->node = LOAD_NUMBER(aio->node);
	aio->accounted++;
	return aio->accounted >= aio->total;
}

/* Finds where to look.  These are global, as begin_set() is. */
__weak __noinline int begin_aio(struct aio *aio, struct blocked *blocked)
{
	struct mm_struct *memory;

	if (!aio || !blocked)
		return 0;
	memory = LOAD(task_struct, blocked->task, mm);
	aio->id = blocked->call.arguments[0];
	aio->table = memory ? LOAD(mm_struct, memory, ioctx_table) : NULL;
	return 0;
}

__weak __noinline int begin_places(struct aio *aio)
{
	struct kioctx *context;

	if (!aio)
		return 0;
	context = aio->context;
	aio->own = LOAD_NUMBER((__u64)context + bpf_core_field_offset(struct kioctx, cpu)) -
		   LOAD_NUMBER(number_of(&cpus) + bpf_core_field_offset(struct bpf_array, pptrs));
	aio->end = (__u64)context + bpf_core_field_offset(struct kioctx, active_reqs);
	aio->node = (__u64)LOAD(kioctx, context, active_reqs.next);
	aio->total = LOAD(kioctx, context, nr_events) - 1; /* one place of the ring stays free */
	aio->accounted = LOAD(kioctx, context, reqs_available.counter) + LOAD(kioctx, context, completed_events);
	return 0;
}

/* What the context that the call names has in flight: enum in_flight. */
__weak __noinline int aio_in_flight(struct blocked *blocked)
{
	struct aio aio = {};

	if (!blocked || !bpf_core_field_exists(struct mm_struct, ioctx_table))
		return IN_FLIGHT_UNKNOWN;
	begin_aio(&aio, blocked);
	if (aio.table)
		bpf_loop(AIO_CONTEXTS, find_context, &aio, 0);
	if (!aio.context)
		return IN_FLIGHT_UNKNOWN;
	begin_places(&aio);
	if (aio.accounted < aio.total)
		bpf_loop(AIO_CPUS, add_cpu, &aio, 0);
	if (aio.accounted >= aio.total)
		return IN_FLIGHT_NONE;
	if (!aio.seen_all)
		return IN_FLIGHT_UNKNOWN;
	bpf_loop(AIO_POLLS, add_poll, &aio, 0);
	if (aio.accounted >= aio.total)
		return IN_FLIGHT_NONE;
	return aio.seen_all ? IN_FLIGHT_SOME : IN_FLIGHT_UNKNOWN;
}
