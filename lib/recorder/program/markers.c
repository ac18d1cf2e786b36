// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel functions that, found innermost on the stack of a blocked thread, say what it waits for.  Asked only where
 * the system call does not decide (bpf/wait/classify.bpf.h).  A name this kernel lacks costs nothing.
 */
#include <stdlib.h>
#include <string.h>
#include "recorder.h"
#include "program/syscall_table.h"

static const struct {
	const char *function;
	enum account account;
} known[] = {
	/* sleeping locks */
	{ "rwsem_down_read_slowpath", ACCOUNT_LOCK_KERNEL },
	{ "rwsem_down_write_slowpath", ACCOUNT_LOCK_KERNEL },
	{ "__mutex_lock", ACCOUNT_LOCK_KERNEL },
	{ "mutex_lock_nested", ACCOUNT_LOCK_KERNEL },
	{ "__ww_mutex_lock", ACCOUNT_LOCK_KERNEL },
	{ "__down", ACCOUNT_LOCK_KERNEL },
	{ "__down_common", ACCOUNT_LOCK_KERNEL },
	{ "percpu_rwsem_wait", ACCOUNT_LOCK_KERNEL },
	{ "__lock_sock", ACCOUNT_LOCK_KERNEL },
	{ "inode_dio_wait", ACCOUNT_LOCK_KERNEL },
	{ "d_alloc_parallel", ACCOUNT_LOCK_KERNEL },
	{ "rt_mutex_slowlock", ACCOUNT_LOCK_KERNEL },
	/* journals and logs: the path of a flush */
	{ "jbd2_log_wait_commit", ACCOUNT_DISK_FLUSH },
	{ "wait_transaction_locked", ACCOUNT_DISK_FLUSH },
	{ "wait_transaction_switching", ACCOUNT_DISK_FLUSH },
	{ "add_transaction_credits", ACCOUNT_DISK_FLUSH },
	{ "start_this_handle", ACCOUNT_DISK_FLUSH },
	{ "do_get_write_access", ACCOUNT_DISK_FLUSH },
	{ "jbd2_journal_wait_updates", ACCOUNT_DISK_FLUSH },
	{ "__jbd2_log_wait_for_space", ACCOUNT_DISK_FLUSH },
	{ "xlog_wait_on_iclog", ACCOUNT_DISK_FLUSH },
	{ "xlog_grant_head_wait", ACCOUNT_DISK_FLUSH },
	{ "xlog_cil_force_seq", ACCOUNT_DISK_FLUSH },
	{ "xfs_log_force_seq", ACCOUNT_DISK_FLUSH },
	{ "btrfs_wait_for_commit", ACCOUNT_DISK_FLUSH },
	{ "btrfs_commit_transaction", ACCOUNT_DISK_FLUSH },
	{ "wait_current_trans", ACCOUNT_DISK_FLUSH },
	{ "btrfs_sync_log", ACCOUNT_DISK_FLUSH },
	{ "blkdev_issue_flush", ACCOUNT_DISK_FLUSH },
	/* what kernel threads do for others: the journal's own thread, a flusher, nfsd */
	{ "jbd2_journal_commit_transaction", ACCOUNT_DISK_FLUSH },
	{ "vfs_fsync_range", ACCOUNT_DISK_FLUSH },
	{ "wb_workfn", ACCOUNT_DISK_WRITE },
	/* the block layer */
	{ "folio_wait_writeback", ACCOUNT_DISK_WRITE },
	{ "wait_on_page_writeback", ACCOUNT_DISK_WRITE },
	{ "wbt_wait", ACCOUNT_DISK_WRITE },
	{ "__sync_dirty_buffer", ACCOUNT_DISK_WRITE },
	{ "blkdev_issue_discard", ACCOUNT_DISK_WRITE },
	{ "blkdev_issue_zeroout", ACCOUNT_DISK_WRITE },
	{ "xfs_buf_iowait", ACCOUNT_DISK_READ },
	{ "read_extent_buffer_pages", ACCOUNT_DISK_READ },
	/* who writes a part of a block reads the rest of it before */
	{ "ext4_block_write_begin", ACCOUNT_DISK_READ },
	{ "__block_write_begin_int", ACCOUNT_DISK_READ },
	{ "iomap_write_begin", ACCOUNT_DISK_READ },
	{ "prepare_one_folio", ACCOUNT_DISK_READ },
	/* memory */
	{ "do_swap_page", ACCOUNT_MEMORY_SWAP_IN },
	{ "shmem_swapin_folio", ACCOUNT_MEMORY_SWAP_IN },
	{ "filemap_fault", ACCOUNT_MEMORY_MAJOR_FAULT },
	{ "balance_dirty_pages", ACCOUNT_MEMORY_DIRTY_THROTTLE },
	{ "throttle_direct_reclaim", ACCOUNT_MEMORY_RECLAIM },
	{ "reclaim_throttle", ACCOUNT_MEMORY_RECLAIM },
	{ "try_to_free_pages", ACCOUNT_MEMORY_RECLAIM },
	{ "try_to_free_mem_cgroup_pages", ACCOUNT_MEMORY_CGROUP },
	{ "mem_cgroup_handle_over_high", ACCOUNT_MEMORY_CGROUP },
	{ "__mem_cgroup_handle_over_high", ACCOUNT_MEMORY_CGROUP },
	{ "mem_cgroup_oom_synchronize", ACCOUNT_MEMORY_CGROUP },
	{ "try_to_compact_pages", ACCOUNT_MEMORY_COMPACTION },
	/* remote file systems */
	{ "request_wait_answer", ACCOUNT_REMOTE_FS },
	{ "fuse_simple_request", ACCOUNT_REMOTE_FS },
	{ "p9_client_rpc", ACCOUNT_REMOTE_FS },
	{ "wait_for_response", ACCOUNT_REMOTE_FS },
	{ "ceph_mdsc_wait_request", ACCOUNT_REMOTE_FS },
	/* NFS: a call is waited for, see search_frames() of bpf/wait/marker.bpf.h ... */
	{ "rpc_wait_bit_killable", ACCOUNT_NFS_METADATA },
	{ "nfs_wait_bit_killable", ACCOUNT_NFS_METADATA },
	{ "nfs_wait_on_request", ACCOUNT_NFS_METADATA },
	{ "nfs4_wait_clnt_recover", ACCOUNT_NFS_METADATA },
	{ "nfs4_handle_exception", ACCOUNT_KERNEL_OTHER }, /* no call is under way: the server asked to try later */
	/* ... and what it is for */
	{ "nfs_file_fsync", ACCOUNT_NFS_COMMIT },
	{ "nfs_wb_all", ACCOUNT_NFS_COMMIT },
	{ "nfs_wb_page", ACCOUNT_NFS_COMMIT },
	{ "nfs_wb_folio", ACCOUNT_NFS_COMMIT }, /* 0c493b5cf16e ("NFS: Convert buffered writes to use folios"), v6.3 */
	{ "nfs_commit_inode", ACCOUNT_NFS_COMMIT },
	{ "__nfs_commit_inode", ACCOUNT_NFS_COMMIT },
	{ "nfs_write_inode", ACCOUNT_NFS_COMMIT },
	{ "nfs_lock", ACCOUNT_NFS_LOCK },
	{ "nfs_flock", ACCOUNT_NFS_LOCK },
	{ "nfs_file_read", ACCOUNT_NFS_READ },
	{ "nfs_file_write", ACCOUNT_NFS_WRITE },
	/* file locks; a lease is given up by whom the kernel asks to, or taken away after a while */
	{ "__break_lease", ACCOUNT_KERNEL_OTHER },
	{ "locks_lock_inode_wait", ACCOUNT_LOCK_FILE },
	{ "flock_lock_inode_wait", ACCOUNT_LOCK_FILE },
	{ "do_lock_file_wait", ACCOUNT_LOCK_FILE },
	/* the rest, named by the function */
	{ "ptrace_stop", ACCOUNT_WAIT_STOPPED },
	{ "do_signal_stop", ACCOUNT_WAIT_STOPPED },
	{ "wait_for_vfork_done", ACCOUNT_WAIT_CHILD },
	{ "do_wait", ACCOUNT_WAIT_CHILD },
	{ "io_cqring_wait", ACCOUNT_WAIT_IO_URING },
	{ "handle_userfault", ACCOUNT_KERNEL_OTHER },
	{ "__wait_rcu_gp", ACCOUNT_KERNEL_OTHER },
	{ "synchronize_rcu", ACCOUNT_KERNEL_OTHER },
	{ "synchronize_rcu_expedited", ACCOUNT_KERNEL_OTHER },
	{ "coredump_wait", ACCOUNT_KERNEL_OTHER },
	{ "msleep", ACCOUNT_KERNEL_OTHER },
	{ "__flush_work", ACCOUNT_KERNEL_OTHER },
	{ "autofs_wait", ACCOUNT_KERNEL_OTHER },
	{ "n_tty_read", ACCOUNT_KERNEL_OTHER },
	{ "n_tty_write", ACCOUNT_KERNEL_OTHER },
	{ "de_thread", ACCOUNT_KERNEL_OTHER },
	{ "begin_new_exec", ACCOUNT_KERNEL_OTHER },
};

/* A soft limit is dealt with on the way back to user space, or, far over it, after the charge. */
static enum memory_limit limit_of(const char *function, enum account account)
{
	if (account != ACCOUNT_MEMORY_CGROUP)
		return LIMIT_NONE;
	return strstr(function, "over_high") ? LIMIT_HIGH : LIMIT_MAX;
}

static const char *names[MARKERS];

struct found {
	struct marker marker;
	const char *name;
};

static int by_address(const void *a, const void *b)
{
	const struct found *one = a, *two = b;

	return one->marker.start < two->marker.start ? -1 : one->marker.start > two->marker.start;
}

size_t markers_fill(const struct kernel_symbols *symbols, struct marker markers[MARKERS])
{
	struct found found[MARKERS];
	size_t count = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && count < MARKERS; i++) {
		struct found *one = &found[count];
		uint64_t start, end;

		if (kernel_symbols_range(symbols, known[i].function, &start, &end))
			continue;
		*one = (struct found){ { .start = start,
					 .end = end,
					 .account = known[i].account,
					 .limit = limit_of(known[i].function, known[i].account) },
				       known[i].function };
		count++;
	}
	qsort(found, count, sizeof(*found), by_address);
	for (size_t i = 0; i < count; i++) {
		markers[i] = found[i].marker;
		names[i] = found[i].name;
	}
	return count;
}

/* How calls go on that a signal has interrupted, where they do not begin anew. */
void markers_fill_restarted(const struct kernel_symbols *symbols, struct restarted_call restarted[RESTARTED_CALLS])
{
	static const struct {
		const char *function, *call;
	} known[RESTARTED_CALLS] = {
		{ "hrtimer_nanosleep_restart", "clock_nanosleep" },
		{ "do_restart_poll", "poll" },
		{ "do_no_restart_syscall", "futex" }, /* as futex_wait_restart() leaves it while it waits */
	};
	uint64_t start, end;

	for (size_t i = 0; i < RESTARTED_CALLS; i++) {
		if (kernel_symbols_range(symbols, known[i].function, &start, &end))
			continue;
		restarted[i] = (struct restarted_call){ .function = start,
							.number = syscall_number(known[i].call, false),
							.i386_number = syscall_number(known[i].call, true) };
	}
}

const char *marker_name(size_t index)
{
	return index < MARKERS && names[index] ? names[index] : "unknown";
}
