/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which marker, a function that says what a thread in it waits for, stands innermost on a stack.  Asked only when the
 * system call does not decide.
 */
#pragma once
#include "core/maps.bpf.h"

#define STACK_LOOKED_AT 28 /* frames; the first few are this program's own */

struct frames {
	__u64 addresses[STACK_LOOKED_AT];
};

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct frames);
} frames_scratch SEC(".maps");

static __always_inline int find_marker(__u64 address)
{
	__u32 low = 0, high = knobs.marker_count;

	for (int step = 0; step < 8 && low < high; step++) { /* 2^8 > MARKERS */
		__u32 middle = (low + high) / 2;

		if (middle >= MARKERS)
			return -1;
		if (address < knobs.markers[middle].start)
			high = middle;
		else if (address >= knobs.markers[middle].end)
			low = middle + 1;
		else
			return middle;
	}
	return -1;
}

/*
 * Where a call of NFS is waited for, what it is for stands further out: a flush, a lock.  Pages under write-back are
 * waited for in the same function on all file systems.
 */
static __always_inline bool is_told_further_out(__u32 account)
{
	return account == ACCOUNT_NFS_METADATA || account == ACCOUNT_DISK_WRITE;
}

static __always_inline bool tells_of_nfs(__u32 account)
{
	return is_nfs(account) && account != ACCOUNT_NFS_METADATA;
}

#define TELLS_ALL 0x10000 /* beside the index of a marker: frames further out say no more */

/* Which marker was found so far (-1: none), now that one more frame is looked at.  Global: the verifier walks it once. */
__weak __noinline int look_at_frame(__u64 address, int found)
{
	int marker = find_marker(address);
	__u32 account;

	if (marker < 0 || marker >= MARKERS)
		return found;
	account = knobs.markers[marker].account;
	if (found < 0 ? !is_told_further_out(account) : tells_of_nfs(account))
		return marker | TELLS_ALL;
	return found < 0 ? marker : found;
}

/* Index of the innermost marker among the frames in frames_scratch, or -1; of NFS, of what the wait is for. */
__weak __noinline int search_frames(long bytes)
{
	__u32 zero = 0;
	struct frames *frames = bpf_map_lookup_elem(&frames_scratch, &zero);
	int found = -1;

	if (!frames)
		return -1;
	if (bytes <= 0)
		count_loss(COUNTER_STACKS_FAILED);
	for (int i = 0; i < STACK_LOOKED_AT && i * 8 < bytes && found < TELLS_ALL; i++)
		found = look_at_frame(frames->addresses[i], found);
	return found < TELLS_ALL ? found : found - TELLS_ALL;
}

/* The marker of the task that runs this program.  (bpf_get_task_stack() would leave out the sleeping locks.) */
static __always_inline int marker_of_current(void *ctx)
{
	__u32 zero = 0;
	struct frames *frames = bpf_map_lookup_elem(&frames_scratch, &zero);

	return frames ? search_frames(bpf_get_stack(ctx, frames->addresses, sizeof(frames->addresses), 0)) : -1;
}

/* The marker of any other task; scheduler functions, sleeping locks among them, are not in such a stack. */
static __always_inline int marker_of(struct task_struct *task)
{
	__u32 zero = 0;
	struct frames *frames = bpf_map_lookup_elem(&frames_scratch, &zero);

	return frames ? search_frames(bpf_get_task_stack(task, frames->addresses, sizeof(frames->addresses), 0)) : -1;
}
