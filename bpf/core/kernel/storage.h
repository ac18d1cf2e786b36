/* SPDX-License-Identifier: GPL-2.0-only */
/* Fields of cached pages, and of what takes them to a disk: part of kernel.h. */
#pragma once

struct backing_dev_info {
	char dev_name[64];
};

struct percpu_counter {
	__s64 count;
};

enum wb_stat_item { WB_RECLAIMABLE, WB_WRITEBACK, WB_DIRTIED, WB_WRITTEN, NR_WB_STAT_ITEMS };

struct bdi_writeback {
	struct backing_dev_info *bdi;
	struct percpu_counter stat[NR_WB_STAT_ITEMS];
	struct cgroup_subsys_state *memcg_css;
};

/* Its flags have a type of their own on 6.18, see folio_pages(). */
struct folio {
	unsigned long flags;
	struct address_space *mapping;
	unsigned int _folio_nr_pages;
	unsigned char _folio_order;
};

struct folio___typed {
	struct {
		unsigned long f;
	} flags;
	unsigned int _nr_pages;
};

enum pageflags { PG_head = 6 };

struct trace_event_raw_balance_dirty_pages {
	unsigned long wb_setpoint;
};

struct gendisk {
	int major, first_minor;
};

struct block_device {
	struct gendisk *bd_disk;
};

struct bvec_iter {
	unsigned int bi_size;
};

struct bio {
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	__u64 start_time_ns, io_start_time_ns;
};
