// SPDX-License-Identifier: GPL-2.0-only
/*
 * nfs_server - how long does this host, as an NFS server, take for a request?
 *
 * HOOKS   tp_btf svc_stats_latency (sunrpc), nfsd_compound, nfsd_compound_status (nfsd).
 * COST    two look-ups a request, and one or two an operation of NFS 4.  Nothing where no server runs.
 * CANNOT  see a request wait in its socket before a thread takes it up, nor the disk below: what the server's threads
 *         wait for is in their own ledgers, if those are recorded.
 */
#include "core/buckets.bpf.h"
#include "nfs/nfs_records.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 512);
	__type(key, struct nfsd_key);
	__type(value, struct nfsd_sum);
} nfsd_requests SEC(".maps");

/* When the operation that a thread of the server works on began, by thread; until the answer goes out. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} nfsd_operations SEC(".maps");

/* Not static, so that the verifier looks at it once. */
__weak __noinline int add_request(struct nfsd_key *of, __u64 ns)
{
	struct nfsd_sum *sum;
	struct nfsd_key key; /* verifiers before 6.5 want the keys of maps on the stack */
	bool made = false;

	if (!of)
		return 0;
	key = *of;
	sum = FIND_OR_MAKE(nfsd_requests, &key, COUNTER_RPC_FULL, &made);
	if (!sum)
		return 0;
	if (made)
		bpf_probe_read_kernel_str(sum->name, sizeof(sum->name), (void *)key.name);
	ADD_SHARED(sum, ns);
	return 0;
}

static __always_inline bool is_of_nfs(__u32 program)
{
	return program == PROGRAM_NFS || program == PROGRAM_NLM || program == PROGRAM_NFSACL;
}

/* The answer goes out.  The request was taken up at rq_stime, on the clock that programs read, too. */
SEC("tp_btf/svc_stats_latency")
int BPF_PROG(nfsd_answered, struct svc_rqst *request)
{
	__u32 tid = bpf_get_current_task_btf()->pid;
	__u64 start, now = bpf_ktime_get_ns();
	struct nfsd_key key;

	bpf_map_delete_elem(&nfsd_operations, &tid);
	if (!request) /* see nfs/nfs_call.bpf.c */
		return 0;
	start = BPF_CORE_READ(request, rq_stime);
	key.program = BPF_CORE_READ(request, rq_prog);
	key.version = BPF_CORE_READ(request, rq_vers);
	key.name = (__u64)BPF_CORE_READ(request, rq_procinfo, pc_name);
	if (is_of_nfs(key.program) && key.name && start && start < now)
		add_request(&key, now - start);
	return 0;
}

SEC("tp_btf/nfsd_compound")
int BPF_PROG(nfsd_compound)
{
	__u32 tid = bpf_get_current_task_btf()->pid;
	__u64 now = bpf_ktime_get_ns();

	if (bpf_map_update_elem(&nfsd_operations, &tid, &now, BPF_ANY))
		count_loss(COUNTER_RPC_FULL);
	return 0;
}

/* An operation is done; the next one of its COMPOUND begins. */
SEC("tp_btf/nfsd_compound_status")
int BPF_PROG(nfsd_operation, __u32 asked, __u32 done, __u32 status, const char *name)
{
	struct nfsd_key key = { .name = (__u64)name, .program = NFSD_OPERATION, .version = 4 };
	__u32 tid = bpf_get_current_task_btf()->pid;
	__u64 *start = bpf_map_lookup_elem(&nfsd_operations, &tid), now = bpf_ktime_get_ns();

	if (!start)
		return 0;
	add_request(&key, now - *start);
	*start = now;
	return 0;
}
