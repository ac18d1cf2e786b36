/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h about whole operations, not single waits; included there. */
#pragma once

/* System calls that blocked, by number: their time from the first block to the return, and its ledger. */
struct operation_key {
	__u64 call; /* as an object of kind OBJECT_SYSCALL */
	__u64 over_slo;
};

struct operation_sum {
	__u64 count, errors, ns, max_ns;
	__u32 buckets[BUCKETS];
	struct account_sum accounts[ACCOUNT_COUNT];
};
