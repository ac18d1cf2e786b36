// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast does this CPU run?  In a guest whose counters of cycles nobody shows, a loop of a known number of cycles
 * tells.  Multiplications that need each other's result take 3 cycles each on Intel since 2008 (Nehalem) and on AMD
 * since 2017 (Zen).  Interrupts and a hypervisor that runs others only make a try longer: the shortest one counts.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include "recorder.h"

#if defined(__x86_64__)
#include "in_guest.h"

#define STEPS 10000
#define CYCLES (STEPS * 3)
#define SPIN_NS 5000000ULL /* so long, because a CPU that was idle needs a moment to raise its clock */
#define TRIES_MAX 2000

static uint64_t try_once(void)
{
	uint64_t begin = now_ns(), value = 3;

	/* Ten in a row, so that the loop's own instructions have time beside them. */
	for (int i = 0; i < STEPS / 10; i++)
		asm volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0\n\t"
			     "imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0"
			     : "+r"(value));
	return now_ns() - begin;
}

static int by_length(const void *first, const void *second)
{
	uint64_t a = *(const uint64_t *)first, b = *(const uint64_t *)second;

	return (a > b) - (a < b);
}

void calibration_write(struct recorder *recorder)
{
	static uint64_t tries[TRIES_MAX];
	uint64_t begin = now_ns();
	struct json *json = &recorder->json;
	size_t count = 0;

	if (!in_guest())
		return;
	while (count < TRIES_MAX && now_ns() - begin < SPIN_NS)
		tries[count++] = try_once();
	qsort(tries, count, sizeof(*tries), by_length);
	json_open(json, "calibration");
	json_u64(json, "at_ns", begin);
	json_u64(json, "cycles", CYCLES);
	json_u64(json, "shortest_ns", tries[0]);
	json_u64(json, "median_ns", tries[count / 2]);
	json_u64(json, "tries", count);
	json_write(json, &recorder->output);
}
#else
void calibration_write(struct recorder *recorder)
{
	(void)recorder; /* no instruction takes the same time on all of these processors */
}
#endif
