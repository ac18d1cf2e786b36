// SPDX-License-Identifier: GPL-2.0-only
/*
 * memory - when does a thread free memory itself, or make room?
 *
 * HOOKS   tp_btf mm_vmscan_direct_reclaim_begin/_end, mm_vmscan_memcg_reclaim_begin/_end, mm_compaction_begin/_end,
 *         mm_filemap_fault.
 * COST    none until memory is short, but for a look-up of task storage a fault that maps a page of a file.
 * CANNOT  see reclaim done by kswapd for the thread: that is no wait of its own.  Faults and swap are classified at
 *         the switch (classify.bpf.h).
 */
#include "ledger.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(direct_reclaim_begin)
{
	return change_region(REGION_RECLAIM);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(direct_reclaim_end)
{
	return change_region(REGION_NONE);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(cgroup_reclaim_begin)
{
	return change_region(REGION_CGROUP_RECLAIM);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(cgroup_reclaim_end)
{
	return change_region(REGION_NONE);
}

SEC("tp_btf/mm_compaction_begin")
int BPF_PROG(compaction_begin)
{
	return change_region(REGION_COMPACTION);
}

SEC("tp_btf/mm_compaction_end")
int BPF_PROG(compaction_end)
{
	return change_region(REGION_NONE);
}

/*
 * Which file a fault reads, should it have to wait.  "filemap: add trace events for get_pages, map_pages, and fault",
 * v6.11; without it the wait has no object.
 */
SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(filemap_fault, struct address_space *mapping)
{
	struct record *record = record_of(bpf_get_current_task_btf());

	if (record && record->state == STATE_RUNNING)
		record->fault_inode = (__u64)LOAD(address_space, mapping, host);
	return 0;
}
