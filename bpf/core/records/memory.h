/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of records.h about memory: what a thread does for want of it, files read into it, and pages that wait to be
 * written.
 */
#pragma once

/* A thread inside one of these books there, running or blocked. */
enum region { REGION_NONE, REGION_RECLAIM, REGION_CGROUP_RECLAIM, REGION_COMPACTION, REGION_DIRTY_THROTTLE };

static inline __u32 region_account(__u32 region)
{
	switch (region) {
	case REGION_RECLAIM: return ACCOUNT_MEMORY_RECLAIM;
	case REGION_CGROUP_RECLAIM: return ACCOUNT_MEMORY_CGROUP;
	case REGION_COMPACTION: return ACCOUNT_MEMORY_COMPACTION;
	case REGION_DIRTY_THROTTLE: return ACCOUNT_MEMORY_DIRTY_THROTTLE;
	}
	return ACCOUNT_CPU_USER; /* user and kernel are told apart by the kernel's own tick counts, in user space */
}

/* The pause of a throttled writer is a wait; until then it runs as ever. */
static inline __u32 running_account(__u32 region)
{
	return region == REGION_DIRTY_THROTTLE ? ACCOUNT_CPU_USER : region_account(region);
}

/* Which limit of a memory cgroup: writers over the first are slowed down, nobody gets over the second. */
enum memory_limit { LIMIT_NONE, LIMIT_HIGH, LIMIT_MAX };

/* What a region is about, by its record's region_detail; 0: not known. */
static inline __u64 region_object(__u32 region, __u32 detail)
{
	if (!detail)
		return 0;
	switch (region) {
	case REGION_DIRTY_THROTTLE: return OBJECT(OBJECT_DEVICE, detail);
	case REGION_CGROUP_RECLAIM: return OBJECT(OBJECT_LIMIT, detail);
	case REGION_COMPACTION: return OBJECT(OBJECT_ORDER, detail - 1);
	}
	return 0;
}

/* A file of which the target read pages that were not in memory; keyed by its object. */
struct file_sum {
	__u64 pages;		 /* that its threads brought into the page cache, read-ahead included */
	__u64 waits, ns;	 /* for a read of it; faults have the file as the object of their account */
	__u64 size_bytes;	 /* when pages of it were last brought in */
	__u64 flushes, flush_ns; /* waits until it was safe on disk */
};

/* The dirty pages of one device or mount, as one memory cgroup has them. */
struct writeback_key {
	__u32 device;
	__u32 padding;
	__u64 cgroup; /* inode number; 0: the kernel does not tell cgroups apart */
};

/* What a backing device said of itself each time a writer to it, anybody, was held to the limit. */
struct writeback_sum {
	__u64 rounds;
	__u64 most_pages; /* dirty or under way */
	__u64 first_ns, last_ns;
	__s64 first_written, last_written; /* its counter of pages written */
};

/* A thread that was held to the limit of dirty pages, and what it had dirtied since the time before. */
struct dirtier_key {
	__u32 device;
	__u32 tid;
};

struct dirtier {
	__u64 rounds, pages;
	__u64 paused_when, counted; /* its own clock and count of pages, the time before */
	__u32 tgid, padding;
	char comm[COMM_BYTES]; /* of its process */
};
