/* SPDX-License-Identifier: GPL-2.0-only */
/* The number of a disk as records have it. */
#pragma once
#include "core/compat.bpf.h"

/* As dev_t of the kernel: major << 20 | minor. */
static __always_inline __u32 number_of_disk(const struct gendisk *disk)
{
	return LOAD(gendisk, disk, major) << 20 | LOAD(gendisk, disk, first_minor);
}
