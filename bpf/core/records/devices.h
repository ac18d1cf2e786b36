/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h about requests of block devices; included there. */
#pragma once

struct device_key {
	__u32 device;
	__u32 operation; /* enum request_kind */
};

enum request_kind { REQUEST_READ, REQUEST_WRITE, REQUEST_FLUSH, REQUEST_DISCARD, REQUEST_OTHER };

struct device_sum {
	__u64 count, errors, bytes, queue_ns, service_ns, max_ns;
	__u32 queue_buckets[BUCKETS];
	__u32 service_buckets[BUCKETS];
};
