// SPDX-License-Identifier: GPL-2.0-only
/*
 * memory - when does a thread free memory itself, make room, or get paused for having dirtied too much?
 *
 * HOOKS   tp_btf mm_vmscan_direct_reclaim_begin/_end, mm_vmscan_memcg_reclaim_begin/_end, mm_compaction_begin/_end,
 *         balance_dirty_pages, mm_filemap_fault.
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

/* "254:0": the device of a backing device has no number of its own, only this name. */
static __always_inline __u32 device_of(const char *dev_name)
{
	__u32 major = 0, number = 0;
	char name[16] = {};

	bpf_probe_read_kernel_str(name, sizeof(name), dev_name);
	for (int i = 0; i < 15; i++) {
		if (name[i] == ':') {
			major = number;
			number = 0;
		} else if (name[i] >= '0' && name[i] <= '9') {
			number = number * 10 + name[i] - '0';
		} else {
			break;
		}
	}
	return major << 20 | number;
}

/*
 * Fires each time a writer is about to be judged; the pause itself is the sleep that follows.  Its arguments moved
 * (a dirty_throttle_control came in), the first never did; a sleep that does not follow is noticed because the mark
 * is only good for the very next block in a write (sched.bpf.c takes it away there).
 */
SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(balance_dirty_pages, struct bdi_writeback *writeback)
{
	struct record *record = record_of(bpf_get_current_task_btf());

	if (record && record->state == STATE_RUNNING && record->region == REGION_NONE) {
		record->region = REGION_DIRTY_THROTTLE;
		record->region_device = device_of(LOAD(bdi_writeback, writeback, bdi)->dev_name);
	}
	return 0;
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
