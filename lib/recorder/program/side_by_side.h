/* SPDX-License-Identifier: GPL-2.0-only */
/* Loading programs side by side, on several CPUs. */
#pragma once

/* From here on what libbpf loads is noted alone. */
void side_by_side_begin(void);

/* Loads what was noted; 0, or -errno of one that the kernel refused, whose name is in failed. */
int side_by_side_load(const char **failed);

/* Forgets what was noted: its object goes. */
void side_by_side_end(void);
