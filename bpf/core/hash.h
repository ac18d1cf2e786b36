/* SPDX-License-Identifier: GPL-2.0-only */
/* The hash of names.  Plain C: the same for the programs and for user space. */
#pragma once

/* One more step of a hash: the upper half of a product depends on all that went into it. */
static inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}
