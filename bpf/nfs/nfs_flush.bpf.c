// SPDX-License-Identifier: GPL-2.0-only
/*
 * nfs_flush - what does a flush of a file on NFS cost in calls?
 *
 * HOOKS   tp_btf nfs_fsync_enter/_exit, nfs_writeback_inode_enter/_exit, nfs_initiate_write, nfs_initiate_commit (nfs).
 * COST    a call to write or to commit of anybody on the host: three look-ups and some ten loads; a flush of the target
 *         some ten look-ups, of others one.  Nothing without the module.
 * CANNOT  tell whose dirty pages the kernel's own flusher writes: its calls are in the sums of the mount, in no flush.
 */
#include "core/buckets.bpf.h"
#include "wait/call.bpf.h"
#include "nfs/nfs_mount.bpf.h"
#include "nfs/nfs_records.h"

char LICENSE[] SEC("license") = "GPL";

struct written {
	__u64 commits, writes, stable_writes, bytes;
};

/*
 * Calls of a file since the first of its flushes that are under way began, by the address of its inode: the COMMIT
 * of one is begun by whoever sees its last WRITE end, as a rule a worker of the kernel.
 */
struct flushed {
	struct written written;
	__u64 flushes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct flushed);
} flushed SEC(".maps");

/* The flush that a thread of the target is in, by thread. */
struct flushing {
	__u64 start;
	__u64 call;
	__u64 inode;
	struct written before;
	__u32 device;
	__u32 waits; /* for NFS to commit, that the thread has had */
	__u64 asked; /* by a call that is for it; others (close, unlock) flush what is there, mostly nothing */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct flushing);
} flushing SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct nfs_flush_key);
	__type(value, struct nfs_flush_sum);
} nfs_flushes SEC(".maps");

static __always_inline struct flushed *enter_file(__u64 inode)
{
	struct flushed *file = FIND_OR_MAKE(flushed, &inode, COUNTER_RPC_FULL, NULL);

	if (file)
		__sync_fetch_and_add(&file->flushes, 1);
	return file;
}

static __always_inline void leave_file(struct flushed *file, __u64 inode)
{
	if (__sync_fetch_and_add(&file->flushes, -1) == 1)
		bpf_map_delete_elem(&flushed, &inode);
}

static __always_inline int begin_flush(struct inode *inode, bool asked)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct record *record = record_of(task);
	struct flushing begun = { .inode = (__u64)inode, .asked = asked };
	struct flushed *file;
	__u32 tid = task->pid;
	struct call call;

	/* One inside another is part of it. */
	if (!inode || !record || bpf_map_lookup_elem(&flushing, &tid))
		return 0;
	file = enter_file(begun.inode);
	if (!file)
		return 0;
	begun.before = file->written;
	begun.start = bpf_ktime_get_ns();
	begun.device = BPF_CORE_READ(inode, i_sb, s_dev);
	begun.waits = record->accounts[ACCOUNT_NFS_COMMIT].count;
	read_call(task, &call);
	if (call.number >= 0)
		begun.call = call_object(&call);
	if (bpf_map_update_elem(&flushing, &tid, &begun, BPF_NOEXIST)) {
		count_loss(COUNTER_RPC_FULL);
		leave_file(file, begun.inode);
	}
	return 0;
}

static __always_inline void add_flush(struct flushing *flush, struct written *after)
{
	struct nfs_flush_key key = { .call = flush->call, .device = flush->device };
	struct nfs_flush_sum *sum = FIND_OR_MAKE(nfs_flushes, &key, COUNTER_RPC_FULL, NULL);

	if (!sum)
		return;
	ADD_SHARED(sum, bpf_ktime_get_ns() - flush->start);
	__sync_fetch_and_add(&sum->commits, after->commits - flush->before.commits);
	__sync_fetch_and_add(&sum->writes, after->writes - flush->before.writes);
	__sync_fetch_and_add(&sum->stable_writes, after->stable_writes - flush->before.stable_writes);
	__sync_fetch_and_add(&sum->bytes, after->bytes - flush->before.bytes);
}

static __always_inline int end_flush(bool asked)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct record *record = record_of(task);
	__u32 tid = task->pid;
	struct flushing *flush = bpf_map_lookup_elem(&flushing, &tid);
	struct flushed *file;
	__u64 inode;

	if (!flush || !record || flush->asked != asked)
		return 0;
	inode = flush->inode;
	file = bpf_map_lookup_elem(&flushed, &inode);
	if (file && !record->taken && (asked || flush->waits != record->accounts[ACCOUNT_NFS_COMMIT].count))
		add_flush(flush, &file->written);
	bpf_map_delete_elem(&flushing, &tid);
	if (file)
		leave_file(file, inode);
	return 0;
}

SEC("tp_btf/nfs_fsync_enter")
int BPF_PROG(nfs_fsync_enter, struct inode *inode)
{
	return begin_flush(inode, true);
}

SEC("tp_btf/nfs_fsync_exit")
int BPF_PROG(nfs_fsync_exit)
{
	return end_flush(true);
}

SEC("tp_btf/nfs_writeback_inode_enter")
int BPF_PROG(nfs_writeback_enter, struct inode *inode)
{
	return begin_flush(inode, false);
}

SEC("tp_btf/nfs_writeback_inode_exit")
int BPF_PROG(nfs_writeback_exit)
{
	return end_flush(false);
}

SEC("tp_btf/nfs_initiate_write")
int BPF_PROG(nfs_write_begun, struct nfs_pgio_header *header)
{
	struct flushed *file;
	__u64 inode;

	if (!header)
		return 0;
	inode = (__u64)BPF_CORE_READ(header, inode);
	meet_inode((struct inode *)inode);
	file = bpf_map_lookup_elem(&flushed, &inode);
	if (!file)
		return 0;
	__sync_fetch_and_add(&file->written.writes, 1);
	__sync_fetch_and_add(&file->written.bytes, BPF_CORE_READ(header, args.count));
	if (BPF_CORE_READ(header, args.stable) == bpf_core_enum_value(enum nfs3_stable_how, NFS_FILE_SYNC))
		__sync_fetch_and_add(&file->written.stable_writes, 1);
	return 0;
}

SEC("tp_btf/nfs_initiate_commit")
int BPF_PROG(nfs_commit_begun, struct nfs_commit_data *data)
{
	struct flushed *file;
	__u64 inode;

	if (!data)
		return 0;
	inode = (__u64)BPF_CORE_READ(data, inode);
	meet_inode((struct inode *)inode);
	file = bpf_map_lookup_elem(&flushed, &inode);
	if (file)
		__sync_fetch_and_add(&file->written.commits, 1);
	return 0;
}
