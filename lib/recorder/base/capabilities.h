/* SPDX-License-Identifier: GPL-2.0-only */
/* Linux capabilities of the calling process. */
#pragma once
#include <linux/capability.h>
#include <stdint.h>

#define CAPABILITY(name) (1ULL << CAP_##name)

/* Those it may make effective; 0 where the kernel does not say. */
uint64_t capabilities_permitted(void);
/*
 * Keeps no others than these, for good: no exec brings one back (no_new_privs; the inheritable, ambient and, where
 * this process may, bounding sets become empty).  Of those kept, `effective` act; the rest can be made to later.
 * 0 or -errno.
 */
int capabilities_keep(uint64_t permitted, uint64_t effective);
