/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h about requests of block devices; included there. */
#pragma once

struct device_key {
	__u32 device;
	__u32 operation; /* enum request_kind */
};

/* The first three as in enum req_op of include/linux/blk_types.h. */
enum request_kind { REQUEST_READ, REQUEST_WRITE, REQUEST_FLUSH, REQUEST_DISCARD, REQUEST_OTHER };

#define REQUEST_OPERATION 0xff /* of the flags of a request */
#define REQUEST_WRITE_ZEROES 9 /* REQ_OP_WRITE_ZEROES */

/* A process, of the target or not, or a kernel thread, that has asked a disk for something. */
struct disk_user_key {
	__u32 device;
	__u32 pid; /* 0: unknown */
};

/* As in include/uapi/linux/ioprio.h. */
enum io_class { IO_CLASS_NONE, IO_CLASS_REAL_TIME, IO_CLASS_BEST_EFFORT, IO_CLASS_IDLE };

struct disk_user {
	__u64 count, read_bytes, written_bytes;
	__u32 kernel_thread;
	__u32 io_class; /* enum io_class, when it first asked */
	char comm[COMM_BYTES];
};

struct device_sum {
	__u64 count, errors, bytes, queue_ns, service_ns, max_ns;
	__u32 queue_buckets[BUCKETS];
	__u32 service_buckets[BUCKETS];
};
