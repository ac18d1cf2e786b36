/* SPDX-License-Identifier: GPL-2.0-only */
/* What the target reads that is not in memory, and what it flushes, by file. */
#pragma once
#include "wait/file.bpf.h"

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct file_sum);
} files SEC(".maps");

static __always_inline struct file_sum *sum_of_file(struct inode *inode)
{
	__u64 object = file_object(inode);

	return FIND_OR_MAKE(files, &object, COUNTER_FILES_FULL, NULL);
}

/* A wait for a read, or a flush, is over; the thread is still in the call, which holds the file. */
__weak __noinline int book_file(struct record *record, __u64 ns)
{
	bool flushes;
	struct file_sum *sum;

	if (!record || record->taken)
		return 0;
	sum = sum_of_file((struct inode *)record->file_inode);
	record->file_inode = 0;
	if (!sum)
		return 0;
	flushes = record->account == ACCOUNT_DISK_FLUSH;
	__sync_fetch_and_add(flushes ? &sum->flushes : &sum->waits, 1);
	__sync_fetch_and_add(flushes ? &sum->flush_ns : &sum->ns, ns);
	return 0;
}
