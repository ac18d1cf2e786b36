// SPDX-License-Identifier: GPL-2.0-only
/*
 * dirty_pages - who is paused for pages that wait to be written, and whose pages are they?
 *
 * HOOKS   tp_btf balance_dirty_pages.
 * COST    none until more pages are dirty than half way to the limit; then some look-ups for each round of a writer,
 *         who is about to sleep for milliseconds.
 * CANNOT  see what is dirtied while fewer pages are dirty than half way to the limit, where nobody is held: whoever
 *         dirtied them before counts less than he did.  Tell the device of btrfs or 9p, whose backing devices have
 *         other names.  The pause itself is the sleep that follows, booked at the switch.
 */
#include "core/maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 512);
	__type(key, struct writeback_key);
	__type(value, struct writeback_sum);
} writebacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 2048);
	__type(key, struct dirtier_key);
	__type(value, struct dirtier);
} dirtiers SEC(".maps");

/*
 * "254:0", "8:1-fuseblk": the device of a backing device has no number of its own, only this name; "btrfs-1" has none.
 */
static __always_inline __u32 device_of(const char *dev_name)
{
	__u32 major = 0, number = 0;
	bool colon = false;
	char name[16] = {};

	bpf_probe_read_kernel_str(name, sizeof(name), dev_name);
	for (int i = 0; i < 15; i++) {
		if (name[i] == ':') {
			major = number;
			number = 0;
			colon = true;
		} else if (name[i] >= '0' && name[i] <= '9') {
			number = number * 10 + name[i] - '0';
		} else {
			break;
		}
	}
	return colon ? major << 20 | number : 0;
}

/*
 * Its counters are of all CPUs together, each of which keeps back a few pages.  (No function: the place of an item is
 * looked up by the loader, which must find a number here.)
 */
#define PAGES_OF(writeback, item) LOAD(bdi_writeback, writeback, stat[item].count)

static __always_inline __u64 memory_cgroup(struct bdi_writeback *writeback)
{
	struct cgroup_subsys_state *css;

	if (!bpf_core_field_exists(struct bdi_writeback, memcg_css))
		return 0;
	css = LOAD(bdi_writeback, writeback, memcg_css);
	return css ? BPF_CORE_READ(css, cgroup, kn, id) : 0;
}

static __always_inline void note_writeback(struct bdi_writeback *writeback, __u32 device)
{
	struct writeback_key key = { .device = device, .cgroup = memory_cgroup(writeback) };
	bool made = false;
	struct writeback_sum *sum = FIND_OR_MAKE(writebacks, &key, COUNTER_DIRTIERS_FULL, &made);
	__s64 pages = PAGES_OF(writeback, WB_RECLAIMABLE) + PAGES_OF(writeback, WB_WRITEBACK);
	__u64 now = bpf_ktime_get_ns();

	if (!sum)
		return;
	if (made) {
		sum->first_ns = now;
		sum->first_written = PAGES_OF(writeback, WB_WRITTEN);
	}
	__sync_fetch_and_add(&sum->rounds, 1);
	if (pages > (__s64)sum->most_pages)
		sum->most_pages = pages;
	sum->last_ns = now;
	sum->last_written = PAGES_OF(writeback, WB_WRITTEN);
}

static __always_inline void note_dirtier(struct task_struct *task, __u32 device)
{
	struct dirtier_key key = { .device = device, .tid = task->pid };
	__u64 paused_when = task->dirty_paused_when, pages = task->nr_dirtied;
	bool made = false;
	struct dirtier *dirtier = FIND_OR_MAKE(dirtiers, &key, COUNTER_DIRTIERS_FULL, &made);

	if (!dirtier)
		return;
	if (made) {
		dirtier->tgid = task->tgid;
		bpf_probe_read_kernel(dirtier->comm, sizeof(dirtier->comm),
				      LOAD(task_struct, task, group_leader)->comm);
	}
	/* Its count goes on from round to round until a pause is due: that is noted when its time moves. */
	if (dirtier->rounds++ && dirtier->paused_when == paused_when && dirtier->counted <= pages)
		dirtier->pages += pages - dirtier->counted;
	else
		dirtier->pages += pages;
	dirtier->paused_when = paused_when;
	dirtier->counted = pages;
}

/*
 * Fires each time a writer is judged, whether it is paused or not; the pause itself is the sleep that follows
 * (classify.bpf.h makes sure that it is one; sched.bpf.c takes the mark away at the next block of any kind).
 */
SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(balance_dirty_pages, struct bdi_writeback *writeback)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct record *record = record_of(task);
	__u32 device = device_of(LOAD(bdi_writeback, writeback, bdi)->dev_name);

	note_writeback(writeback, device);
	note_dirtier(task, device);
	if (record && record->state == STATE_RUNNING && record->region == REGION_NONE && pause_of_writer(ctx) > 0) {
		record->region = REGION_DIRTY_THROTTLE;
		record->region_detail = device;
	}
	return 0;
}
