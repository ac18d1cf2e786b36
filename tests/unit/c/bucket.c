// SPDX-License-Identifier: GPL-2.0-only
/* No test but a tool of tests: takes durations, a line each, and answers each with its two buckets. */
#include <inttypes.h>
#include <linux/types.h>
#include <stdio.h>

#define __weak __attribute__((weak))
#define __noinline __attribute__((noinline))

#include "core/bucket.h"

int main(void)
{
	uint64_t ns;

	while (scanf("%" SCNu64, &ns) == 1)
		printf("%u %u\n", bucket_of(ns), latency_bucket(ns));
	return ferror(stdout) || !feof(stdin);
}
