/* SPDX-License-Identifier: GPL-2.0-only */
/* What oom.bpf.c tells of a victim. */
#pragma once
#include "records.h"

/* The OOM killer has chosen a victim; an empty name is not known. */
struct kill_event {
	struct event event;
	__u32 asker; /* process that asked for the memory */
	__u32 padding;
	char comm[COMM_BYTES];
	char asker_comm[COMM_BYTES];
};
