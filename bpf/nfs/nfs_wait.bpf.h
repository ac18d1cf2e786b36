/* SPDX-License-Identifier: GPL-2.0-only */
/* What a thread that waits for NFS waits for: the call and its descriptor tell, or else the functions on its stack. */
#pragma once
#include "wait/file.bpf.h"
#include "wait/syscall_class.h"

static __always_inline bool is_memory(__u32 account)
{
	return account >= ACCOUNT_MEMORY_RECLAIM && account <= ACCOUNT_MEMORY_CGROUP;
}

/* Not only after a call, but also between its begin and its answer: for its socket, or for memory to send it. */
static __always_inline bool may_delay_call(__u32 account)
{
	return account == ACCOUNT_LOCK_KERNEL || is_memory(account);
}

static __always_inline __u32 nfs_account(__u32 flags, __u32 class)
{
	switch (class) {
	case SYSCALL_FSYNC: return ACCOUNT_NFS_COMMIT;
	case SYSCALL_LOCK: return ACCOUNT_NFS_LOCK;
	case SYSCALL_FD_READ: return ACCOUNT_NFS_READ;
	case SYSCALL_FD_WRITE: return flags & O_DSYNC ? ACCOUNT_NFS_COMMIT : ACCOUNT_NFS_WRITE;
	}
	return ACCOUNT_NFS_METADATA;
}

/*
 * The account of a call on a file of NFS, of which the stack says `seen`.  Locks, unlocks, close and ftruncate flush
 * first; a write of a mount that is synchronous flushes, too, and is a write all the same, and so is one that has to
 * wait for the flush of a page it changes.
 */
static __always_inline __u32 nfs_account_seen(__u32 account, __u32 seen)
{
	bool may_flush = account == ACCOUNT_NFS_METADATA || account == ACCOUNT_NFS_LOCK;

	if (seen == ACCOUNT_NFS_COMMIT && may_flush)
		return seen;
	if (seen == ACCOUNT_NFS_LOCK && account == ACCOUNT_NFS_METADATA)
		return seen;
	return account;
}

/* The mount that a thread without a descriptor waits for: that of its last call, once an answer told which it is. */
static __always_inline __u64 nfs_mount_called(struct record *record)
{
	__u64 client = record->rpc;
	__u32 *device = client ? bpf_map_lookup_elem(&rpc_mounts, &client) : NULL;

	if (device)
		return OBJECT(OBJECT_MOUNT, *device);
	return client ? OBJECT(OBJECT_RPC, client) : 0;
}
