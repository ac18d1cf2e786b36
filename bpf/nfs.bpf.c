// SPDX-License-Identifier: GPL-2.0-only
/*
 * nfs - where does a remote procedure call of NFS spend its time, and what does a flush of a file cost in calls?
 *
 * HOOKS   tp_btf rpc_task_begin, rpc_stats_latency (sunrpc); nfs_refresh_inode_enter, nfs_fsync_enter/_exit,
 *         nfs_writeback_inode_enter/_exit, nfs_initiate_write, nfs_initiate_commit, nfs_aop_readahead (nfs).
 * COST    a call: two look-ups and some thirty loads; an answer with names or attributes, a call to write or to commit and
 *         a read-ahead: two look-ups and some five loads; a flush of the target six look-ups.  All of the host's, whoever
 *         calls; nothing without the modules.
 * CANNOT  tell the wire from the server: to the client both are the time until the answer.  Nor whose dirty pages the
 *         kernel's own flusher writes: its calls are in the sums of the mount, in no flush.
 */
#include "ledger.bpf.h"
#include "nfs_records.h"

char LICENSE[] SEC("license") = "GPL";

/* 256 clients times the dozen procedures in use. */
#define RPC_ENTRIES 4096

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RPC_ENTRIES);
	__type(key, struct rpc_key);
	__type(value, struct rpc_sum);
} rpcs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rpc_sum);
} empty_rpc SEC(".maps");

/* Named when first met: the client may be gone when the recording is written. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RPC_ENTRIES);
	__type(key, struct rpc_key);
	__type(value, struct rpc_name);
} rpc_names SEC(".maps");

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

/* Not static, so that the verifier looks at it once.  To be called with a key of which nothing is known yet. */
__weak __noinline int name_rpc(struct rpc_key *of)
{
	struct rpc_procinfo *procedure;
	struct rpc_clnt *client;
	struct rpc_name *name;
	struct rpc_key key; /* verifiers before 6.5 want the keys of maps on the stack */
	const char *text;

	if (!of)
		return 0;
	key = *of;
	bpf_map_update_elem(&rpc_names, &key, zeroes, BPF_NOEXIST);
	name = bpf_map_lookup_elem(&rpc_names, &key);
	if (!name)
		return 0; /* full, as the table of the calls is then */
	client = (struct rpc_clnt *)key.client;
	procedure = (struct rpc_procinfo *)key.procedure;
	name->version = BPF_CORE_READ(client, cl_vers);
	text = BPF_CORE_READ(client, cl_program, name);
	bpf_probe_read_kernel_str(name->program, sizeof(name->program), text);
	text = BPF_CORE_READ(procedure, p_name);
	bpf_probe_read_kernel_str(name->procedure, sizeof(name->procedure), text);
	text = BPF_CORE_READ(client, cl_xprt, address_strings[0]); /* RPC_DISPLAY_ADDR */
	bpf_probe_read_kernel_str(name->server, sizeof(name->server), text);
	return 0;
}

static __always_inline struct rpc_sum *sum_of(struct rpc_key *key)
{
	struct rpc_sum *sum = bpf_map_lookup_elem(&rpcs, key), *empty;
	__u32 zero = 0;

	if (sum)
		return sum;
	name_rpc(key);
	empty = bpf_map_lookup_elem(&empty_rpc, &zero);
	if (empty)
		bpf_map_update_elem(&rpcs, key, empty, BPF_NOEXIST);
	sum = bpf_map_lookup_elem(&rpcs, key);
	if (!sum)
		count_loss(COUNTER_RPC_FULL);
	return sum;
}

static __always_inline void count_in(__u32 buckets[BUCKETS], __u64 ns)
{
	__u32 bucket = bucket_of(ns);

	if (bucket < BUCKETS)
		buckets[bucket]++;
}

/* A call is over.  The kernel takes its times for /proc/self/mountstats, whether anybody looks or not. */
SEC("tp_btf/rpc_stats_latency")
int BPF_PROG(rpc_ended, struct rpc_task *task, __u64 queue_ns, __u64 wire_ns, __u64 whole_ns)
{
	struct rpc_rqst *request;
	struct rpc_key key;
	struct rpc_sum *sum;
	int sent;

	if (!task) /* 7.2 wants arguments of modules' tracepoints asked for NULL; none is */
		return 0;
	request = BPF_CORE_READ(task, tk_rqstp);
	key.client = (__u64)BPF_CORE_READ(task, tk_client);
	key.procedure = (__u64)BPF_CORE_READ(task, tk_msg.rpc_proc);
	if (!key.client || !key.procedure)
		return 0;
	sum = sum_of(&key);
	if (!sum)
		return 0;
	sent = BPF_CORE_READ(request, rq_ntrans);
	sum->count++;
	sum->errors += BPF_CORE_READ(task, tk_status) < 0;
	sum->retransmits += sent > 1 ? sent - 1 : 0;
	sum->bytes_sent += BPF_CORE_READ(request, rq_xmit_bytes_sent);
	sum->bytes_received += BPF_CORE_READ(request, rq_reply_bytes_recvd);
	sum->queue_ns += queue_ns;
	sum->wire_ns += wire_ns;
	if (whole_ns > queue_ns + wire_ns)
		sum->reply_ns += whole_ns - queue_ns - wire_ns;
	if (whole_ns > sum->max_ns)
		sum->max_ns = whole_ns;
	count_in(sum->queue_buckets, queue_ns);
	count_in(sum->wire_buckets, wire_ns);
	return 0;
}

/* In the thread that calls, also where a worker of the kernel then carries the call out. */
SEC("tp_btf/rpc_task_begin")
int BPF_PROG(rpc_begun, struct rpc_task *task)
{
	struct record *record = record_of(bpf_get_current_task_btf());

	if (record && task)
		record->rpc = (__u64)BPF_CORE_READ(task, tk_client);
	return 0;
}

/* A call itself knows no file: the mount of its client is learnt from inodes. */
static __always_inline void learn_mount(__u64 client, __u32 device)
{
	__u32 *known = client ? bpf_map_lookup_elem(&rpc_mounts, &client) : &device;

	if (known && *known == device)
		return;
	if (bpf_map_update_elem(&rpc_mounts, &client, &device, BPF_ANY))
		count_loss(COUNTER_NAMES_FULL);
}

static __always_inline void meet_inode(struct inode *inode)
{
	struct super_block *super = BPF_CORE_READ(inode, i_sb);
	struct nfs_server *server = BPF_CORE_READ(super, s_fs_info);
	__u32 device = BPF_CORE_READ(super, s_dev);

	learn_mount((__u64)BPF_CORE_READ(server, client), device);
	learn_mount((__u64)BPF_CORE_READ(server, client_acl), device);
}

/* Answers to calls for names and attributes pass here, those to WRITE and COMMIT do not. */
SEC("tp_btf/nfs_refresh_inode_enter")
int BPF_PROG(nfs_mount_met, struct inode *inode)
{
	if (inode)
		meet_inode(inode);
	return 0;
}

static __always_inline struct flushed *enter_file(__u64 inode)
{
	struct flushed *file = bpf_map_lookup_elem(&flushed, &inode);

	if (!file) {
		bpf_map_update_elem(&flushed, &inode, zeroes, BPF_NOEXIST);
		file = bpf_map_lookup_elem(&flushed, &inode);
	}
	if (file)
		__sync_fetch_and_add(&file->flushes, 1);
	else
		count_loss(COUNTER_RPC_FULL);
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
		begun.call = OBJECT(OBJECT_SYSCALL, call.number | (call.i386 ? OBJECT_SYSCALL_I386 : 0));
	if (bpf_map_update_elem(&flushing, &tid, &begun, BPF_NOEXIST)) {
		count_loss(COUNTER_RPC_FULL);
		leave_file(file, begun.inode);
	}
	return 0;
}

static __always_inline void add_flush(struct flushing *flush, struct written *after)
{
	struct nfs_flush_key key = { .call = flush->call, .device = flush->device };
	struct nfs_flush_sum *sum = bpf_map_lookup_elem(&nfs_flushes, &key);
	__u64 ns = bpf_ktime_get_ns() - flush->start;
	__u32 bucket = bucket_of(ns);

	if (!sum) {
		bpf_map_update_elem(&nfs_flushes, &key, zeroes, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&nfs_flushes, &key);
		if (!sum) {
			count_loss(COUNTER_RPC_FULL);
			return;
		}
	}
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->ns, ns);
	if (ns > sum->max_ns)
		sum->max_ns = ns; /* two CPUs can race here: tolerated, as in spill() */
	__sync_fetch_and_add(&sum->commits, after->commits - flush->before.commits);
	__sync_fetch_and_add(&sum->writes, after->writes - flush->before.writes);
	__sync_fetch_and_add(&sum->stable_writes, after->stable_writes - flush->before.stable_writes);
	__sync_fetch_and_add(&sum->bytes, after->bytes - flush->before.bytes);
	if (bucket < BUCKETS)
		__sync_fetch_and_add(&sum->buckets[bucket], 1);
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
	if (file && (asked || flush->waits != record->accounts[ACCOUNT_NFS_COMMIT].count))
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

/* Which file a fault reads, as in memory.bpf.c, for kernels that do not say it there. */
SEC("tp_btf/nfs_aop_readahead")
int BPF_PROG(nfs_readahead, struct inode *inode)
{
	struct record *record = record_of(bpf_get_current_task_btf());

	if (inode)
		meet_inode(inode);
	if (record && record->state == STATE_RUNNING)
		record->fault_inode = (__u64)inode;
	return 0;
}
