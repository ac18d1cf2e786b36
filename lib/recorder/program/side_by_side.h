/* SPDX-License-Identifier: GPL-2.0-only */
/* Loading programs side by side, on several CPUs. */
#pragma once
#include <bpf/libbpf.h>

/* From here on programs of an object that libbpf loads are only noted. */
void side_by_side_begin(const struct bpf_object *object);

/* Loads what was noted; 0, or -errno of one that the kernel refused, whose name is in failed. */
int side_by_side_load(const char **failed);

/* Forgets what was noted, before its object goes. */
void side_by_side_end(void);
