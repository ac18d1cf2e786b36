// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "program/map_walk.h"

bool map_next(struct map_walk *walk, void *key, void *value)
{
	while (!bpf_map_get_next_key(walk->fd, walk->begun ? key : NULL, key)) {
		walk->begun = true;
		if (!bpf_map_lookup_elem(walk->fd, key, value))
			return true;
	}
	return false;
}

bool map_next_sum(struct map_walk *walk, void *key, void *total, size_t size, map_add *add)
{
	size_t stride = (size + 7) / 8 * 8; /* as the kernel puts the values of the CPUs side by side */
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ char *values = calloc(cpus > 0 ? cpus : 1, stride);

	if (!values || !map_next(walk, key, values))
		return false;
	memset(total, 0, size);
	for (int cpu = 0; cpu < cpus; cpu++)
		add(total, values + cpu * stride);
	return true;
}
