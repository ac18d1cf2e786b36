/* SPDX-License-Identifier: GPL-2.0-only */
/* Asynchronous I/O: part of kernel.h. */
#pragma once

struct io_wq_work_node {
	struct io_wq_work_node *next;
};

struct io_submit_state {
	struct io_wq_work_node free_list;
};

struct io_hash_bucket {
	struct hlist_head list;
};

struct io_hash_table {
	struct io_hash_bucket *hbs;
	unsigned int hash_bits;
};

struct io_rings {
	struct {
		__u32 tail;
	} sq;
};

struct io_ring_ctx {
	unsigned int flags;
	unsigned int drain_disabled : 1;
	struct io_rings *rings;
	unsigned int cached_sq_head, cached_cq_tail, cq_extra, nr_req_allocated;
	struct io_submit_state submit_state;
	struct io_hash_table cancel_table, cancel_table_locked;
	struct hlist_head cancelable_uring_cmd;
	struct list_head timeout_list;
};

struct io_kiocb {
	__u8 opcode;
	struct hlist_node hash_node;
	struct io_kiocb *link;
};

/* The command of a request, which begins with it. */
struct io_timeout {
	struct list_head list;
};

struct io_uring_task {
	struct file *registered_rings[16];
};

/* Of a map with a value for each CPU: by which addresses the kernel names these values. */
struct bpf_array {
	void *pptrs[1];
};

struct kioctx_cpu {
	unsigned int reqs_available;
};

struct kioctx {
	unsigned long user_id;
	struct kioctx_cpu *cpu;
	unsigned int nr_events, completed_events;
	struct {
		int counter;
	} reqs_available;
	struct list_head active_reqs;
};

struct kioctx_table {
	unsigned int nr;
	struct kioctx *table[];
};

struct mm_struct {
	struct kioctx_table *ioctx_table;
};
