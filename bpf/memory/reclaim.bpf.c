// SPDX-License-Identifier: GPL-2.0-only
/*
 * reclaim - when does a thread free memory itself, or make room?
 *
 * HOOKS   tp_btf mm_vmscan_direct_reclaim_begin/_end, mm_vmscan_memcg_reclaim_begin/_end, mm_compaction_begin/_end,
 *         mm_compaction_try_to_compact_pages, mm_filemap_fault.
 * COST    none until memory is short, but for a look-up of task storage a fault that maps a page of a file.  Reclaim
 *         for a cgroup reads its own stack: 1 us before it scans 32 pages or more.
 * CANNOT  see reclaim done by kswapd for the thread: that is no wait of its own.  Faults and swap are classified at
 *         the switch (classify.bpf.h).
 */
#include "core/ledger.bpf.h"
#include "wait/marker.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* What the region that is about to begin is for. */
static __always_inline void note_detail(__u32 detail)
{
	struct record *record = record_of(bpf_get_current_task_btf());

	if (record && record->region == REGION_NONE)
		record->region_detail = detail;
}

#define FRAMES 20 /* from the reclaim up to the charge, or the return to user space, that called for it */

/*
 * Which limit makes a thread reclaim: the same function does it for both, its caller tells.  The frames lie on a stack
 * of its own, not in the scratch of marker.bpf.h: a switch may come in between.
 */
__weak __noinline int limit_in_frame(__u64 address)
{
	int marker = find_marker(address);

	return marker >= 0 && marker < MARKERS ? knobs.markers[marker].limit : LIMIT_NONE;
}

static __noinline int limit_on_stack(void *ctx)
{
	__u64 frames[FRAMES];
	long bytes = bpf_get_stack(ctx, frames, sizeof(frames), 0);
	int limit = LIMIT_NONE;

	if (bytes <= 0)
		return LIMIT_NONE;
	for (int i = 0; i < FRAMES && i * 8 < bytes; i++) {
		int found = limit_in_frame(frames[i]);

		if (found == LIMIT_HIGH)
			return LIMIT_HIGH;
		if (found)
			limit = LIMIT_MAX;
	}
	return limit;
}

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
	note_detail(limit_on_stack(ctx));
	return change_region(REGION_CGROUP_RECLAIM);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(cgroup_reclaim_end)
{
	return change_region(REGION_NONE);
}

/* Announces what is wanted in one piece; then each zone has a begin and an end. */
SEC("tp_btf/mm_compaction_try_to_compact_pages")
int BPF_PROG(compaction_wanted, int order)
{
	note_detail(order + 1);
	return 0;
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
