/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * frameless - computes in the C library, four fifths of the time for one caller and one fifth for another, and keeps no
 * frame pointers: a walk of the stack finds neither.
 */
#pragma GCC optimize("omit-frame-pointer")
#include "workload.h"

static long count = 2000;
static char text[1 << 18];
static volatile size_t found;

static __attribute__((noinline)) void find_end(void)
{
	volatile char line[64] = {};

	for (int i = 0; i < 8; i++)
		found += strlen(text);
	__asm__ volatile("" : : "m"(line));
}

static __attribute__((noinline)) void read_numbers(void)
{
	volatile char numbers[128] = {};

	for (int i = 0; i < 32; i++)
		found += strlen(text);
	__asm__ volatile("" : : "m"(numbers));
}

int main(int argc, char **argv)
{
	bool wait = parse_options(argc, argv, KNOBS(NUMBER("count", count, "rounds of 40 searches of 256 KiB")));

	memset(text, 'x', sizeof(text) - 1);
	start_work(wait);
	for (long i = 0; i < count; i++) {
		read_numbers();
		find_end();
	}
	PRINT_TRUTH({ "count", count });
	return 0;
}
