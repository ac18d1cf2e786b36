/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an io_uring has in flight.  Whoever waits for its completions waits for reads and writes, or only for what comes
 * when somebody wants something: armed polls (accepts and receives are such, too), timeouts, and the commands by which a
 * server of ublk or FUSE is called.  Requests linked behind one of these wait with it.
 *
 * The kernel's lists are read without its locks.  What changes meanwhile can be missed or counted twice, for this wait.
 */
#pragma once
#include "wait/blocked.bpf.h"
#include "wait/file.bpf.h"
#include <linux/io_uring.h>

#define IO_RINGFD_REG_MAX 16
#define RING_STEPS 512 /* lists and requests that are looked at; of a ring with more it is not told */

struct ring {
	struct io_ring_ctx *context;
	__u32 total;	 /* requests, idle ones among them where the kernel counts these as well */
	__u32 accounted; /* of them: idle, or waiting until somebody wants something */
	/* Where it goes on: a request linked behind the last one, the next one of a list, the next list. */
	__u64 link, node, end;
	__u32 list, to_request; /* the distance from a node to its request */
	bool idle, seen_all;
};

enum { RING_FREE, RING_TIMEOUTS, RING_COMMANDS, RING_BUCKETS };

/* A thread can give rings to the kernel once, and name them by their place there. */
static __always_inline struct file *ring_file(struct task_struct *task, __u32 fd, __u32 flags)
{
	struct io_uring_task *own;

	if (!(flags & IORING_ENTER_REGISTERED_RING))
		return file_of(task, fd);
	if (!bpf_core_field_exists(struct io_uring_task, registered_rings) || fd >= IO_RINGFD_REG_MAX)
		return NULL;
	own = LOAD(task_struct, task, io_uring);
	return own ? (struct file *)LOAD(list_head, &own->registered_rings[fd], next) : NULL;
}

static __always_inline struct io_ring_ctx *ring_of(struct blocked *blocked)
{
	struct call *call = &blocked->call;
	struct file *file = ring_file(blocked->task, call->arguments[0], call->arguments[3]);
	struct open_file open;

	if (read_file(file, &open) || open.magic != ANON_INODE_MAGIC || !is_of_kind(file, "[io_urin"))
		return NULL;
	return LOAD(file, file, private_data);
}

/*
 * Requests that the kernel keeps for the ring, free ones included: 63de899cb622 ("io_uring: count allocated requests"),
 * v6.16.  Before, what was taken from the submission queue less what was completed.  cq_extra evens out completions
 * beside the rule but for two: those that are left out (IOSQE_CQE_SKIP_SUCCESS, which disables draining for good), and
 * the second ones of sends without copying, which soon make less than nothing of the difference.
 */
static __always_inline int count_requests(struct ring *ring)
{
	struct io_ring_ctx *context = ring->context;

	if (bpf_core_field_exists(struct io_ring_ctx, nr_req_allocated)) {
		ring->total = LOAD(io_ring_ctx, context, nr_req_allocated);
		return 0;
	}
	if (!bpf_core_field_exists(struct io_ring_ctx, cq_extra))
		return -1;
	if (bpf_core_field_exists(struct io_ring_ctx, drain_disabled) &&
	    BPF_CORE_READ_BITFIELD_PROBED(context, drain_disabled))
		return -1;
	ring->total = LOAD(io_ring_ctx, context, cached_sq_head) + LOAD(io_ring_ctx, context, cq_extra) -
		      LOAD(io_ring_ctx, context, cached_cq_tail);
	ring->list = RING_TIMEOUTS;
	return (__s32)ring->total < 0 ? -1 : 0;
}

/* Has its kernel thread left anything in the submission queue? */
static __always_inline bool has_unsubmitted(struct io_ring_ctx *context)
{
	struct io_rings *rings = LOAD(io_ring_ctx, context, rings);

	return LOAD(io_ring_ctx, context, flags) & IORING_SETUP_SQPOLL &&
	       LOAD(io_rings, rings, sq.tail) != LOAD(io_ring_ctx, context, cached_sq_head);
}

/* Not 0: it cannot be told.  Global, as begin_set() is. */
__weak __noinline int begin_ring(struct ring *ring, struct blocked *blocked)
{
	if (!ring || !blocked || !bpf_core_field_exists(struct io_ring_ctx, cancel_table))
		return -1;
	ring->context = ring_of(blocked);
	return ring->context ? count_requests(ring) : -1;
}

/* Armed polls; in two tables of one size before 085268829b07 ("io_uring/poll: get rid of unlocked cancel hash"), v6.13. */
static __always_inline bool open_bucket(struct ring *ring, __u32 bucket)
{
	struct io_ring_ctx *context = ring->context;
	__u32 buckets = 1U << (LOAD(io_ring_ctx, context, cancel_table.hash_bits) & 31);
	struct io_hash_bucket *table = LOAD(io_ring_ctx, context, cancel_table.hbs);

	if (bucket >= buckets) {
		bucket -= buckets;
		if (!bpf_core_field_exists(struct io_ring_ctx, cancel_table_locked) || bucket >= buckets)
			return false;
		table = LOAD(io_ring_ctx, context, cancel_table_locked.hbs);
	}
	ring->node = LOAD_NUMBER((__u64)table + bucket * bpf_core_type_size(struct io_hash_bucket) +
				 bpf_core_field_offset(struct io_hash_bucket, list));
	return true;
}

static __always_inline bool open_list(struct ring *ring)
{
	__u64 context = (__u64)ring->context;
	__u32 list = ring->list++;

	ring->idle = list == RING_FREE;
	ring->node = ring->end = 0;
	ring->to_request = bpf_core_field_offset(struct io_kiocb, hash_node);
	switch (list) {
	case RING_FREE:
		ring->node = LOAD_NUMBER(context + bpf_core_field_offset(struct io_ring_ctx, submit_state.free_list));
		return true;
	case RING_TIMEOUTS:
		ring->to_request = bpf_core_field_offset(struct io_timeout, list);
		ring->end = context + bpf_core_field_offset(struct io_ring_ctx, timeout_list);
		ring->node = LOAD_NUMBER(ring->end);
		return true;
	case RING_COMMANDS:
		if (bpf_core_field_exists(struct io_ring_ctx, cancelable_uring_cmd))
			ring->node =
				LOAD_NUMBER(context + bpf_core_field_offset(struct io_ring_ctx, cancelable_uring_cmd));
		return true;
	}
	return open_bucket(ring, list - RING_BUCKETS);
}

/* Armed until it can be written there: somebody does not take what he is sent, or does not answer. */
static __always_inline bool awaits_somebody(__u8 opcode)
{
	switch (opcode) {
	case IORING_OP_CONNECT:
	case IORING_OP_SEND:
	case IORING_OP_SENDMSG:
	case IORING_OP_SEND_ZC:
	case IORING_OP_SENDMSG_ZC:
	case IORING_OP_WRITE:
	case IORING_OP_WRITEV:
	case IORING_OP_WRITE_FIXED: return true;
	}
	return false;
}

static __always_inline void take_request(struct ring *ring)
{
	__u64 request = ring->node - ring->to_request;

	ring->node = LOAD_NUMBER(ring->node);
	if (!ring->idle && awaits_somebody(LOAD(io_kiocb, request, opcode)))
		return;
	ring->accounted++;
	if (!ring->idle)
		ring->link = (__u64)LOAD(io_kiocb, request, link);
}

/* The next request, or the next list.  All nodes of lists, and their heads, begin with the address of the next one. */
static long look_into_ring(__u32 step, struct ring *ring)
{
	if (ring->link) {
		ring->link = (__u64)LOAD(io_kiocb, ring->link, link);
		ring->accounted++;
	} else if (ring->node && ring->node != ring->end) {
		take_request(ring);
	} else {
		ring->seen_all = !open_list(ring);
	}
	return ring->seen_all || ring->accounted >= ring->total;
}

/* What the ring that the call names has in flight: enum in_flight. */
__weak __noinline int uring_in_flight(struct blocked *blocked)
{
	struct ring ring = {};

	if (!blocked || begin_ring(&ring, blocked))
		return IN_FLIGHT_UNKNOWN;
	if (has_unsubmitted(ring.context))
		return IN_FLIGHT_SOME;
	if (ring.total)
		bpf_loop(RING_STEPS, look_into_ring, &ring, 0);
	if (ring.accounted >= ring.total)
		return IN_FLIGHT_NONE;
	return ring.seen_all ? IN_FLIGHT_SOME : IN_FLIGHT_UNKNOWN;
}
