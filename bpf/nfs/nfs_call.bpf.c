// SPDX-License-Identifier: GPL-2.0-only
/*
 * nfs_call - where does a remote procedure call of NFS spend its time?
 *
 * HOOKS   tp_btf rpc_task_begin, rpc_stats_latency, rpc_clnt_free (sunrpc); nfs_refresh_inode_enter, nfs_aop_readahead
 *         (nfs).
 * COST    a call: three look-ups and some thirty loads; an answer with names or attributes, or a read-ahead,
 *         five look-ups at most and some five loads: of anybody on the host.  Nothing without the modules.
 * CANNOT  tell the wire from the server: to the client both are the time until the answer.
 */
#include "core/buckets.bpf.h"
#include "nfs/nfs_mount.bpf.h"
#include "nfs/nfs_records.h"

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

/* Named when first met: the client may be gone when the recording is written. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RPC_ENTRIES);
	__type(key, struct rpc_key);
	__type(value, struct rpc_name);
} rpc_names SEC(".maps");

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
	name = FIND_OR_MAKE(rpc_names, &key, COUNTER_RPC_FULL, NULL);
	if (!name)
		return 0;
	client = (struct rpc_clnt *)(key.client & ~RPC_CLIENTS_GONE);
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
	bool made = false;
	struct rpc_sum *sum = FIND_OR_MAKE(rpcs, key, COUNTER_RPC_FULL, &made);

	if (made)
		name_rpc(key);
	return sum;
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
	key.client = client_id(BPF_CORE_READ(task, tk_client));
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
		record->rpc = client_id(BPF_CORE_READ(task, tk_client));
	return 0;
}

/* All its calls are over: what is at its address from now on is another one. */
SEC("tp_btf/rpc_clnt_free")
int BPF_PROG(rpc_client_gone, const struct rpc_clnt *client)
{
	if (client)
		forget_client(client);
	return 0;
}

/* Answers to calls for names and attributes pass here, those to WRITE and COMMIT do not. */
SEC("tp_btf/nfs_refresh_inode_enter")
int BPF_PROG(nfs_mount_met, struct inode *inode)
{
	if (inode)
		meet_inode(inode);
	return 0;
}

/* Which file a fault reads, as in memory/reclaim.bpf.c, for kernels that do not say it there. */
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
