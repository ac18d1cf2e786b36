/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading what the programs keep in hashes, while they may still write there. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct map_walk {
	int fd;
	bool begun;
};

/* The next key and its value, passing over what is gone meanwhile.  False: that was the last one. */
bool map_next(struct map_walk *walk, void *key, void *value);

typedef void map_add(void *total, const void *more);

/* Likewise of a hash that has a value, of `size` bytes, for each CPU: `total` is their sum, by `add`. */
bool map_next_sum(struct map_walk *walk, void *key, void *total, size_t size, map_add *add);
