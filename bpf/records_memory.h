/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h about memory: files read into it, and pages that wait to be written. */
#pragma once

/* A file of which the target read pages that were not in memory; keyed by its object. */
struct file_sum {
	__u64 pages;	  /* that its threads brought into the page cache, read-ahead included */
	__u64 waits, ns;  /* for a read of it; faults have the file as the object of their account */
	__u64 size_bytes; /* when pages of it were last brought in */
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
