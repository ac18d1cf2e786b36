/* SPDX-License-Identifier: GPL-2.0-only */
/* The one clock of the recorder, which is also that of the BPF programs: nothing sets it. */
#pragma once
#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* The same, as poll() counts. */
static inline int64_t monotonic_ms(void)
{
	return now_ns() / 1000000;
}
