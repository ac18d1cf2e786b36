// SPDX-License-Identifier: GPL-2.0-only
/* No test but a tool of tests: takes levels, a line each, and answers each with its slot and the lowest level of that. */
#include <inttypes.h>
#include <linux/types.h>
#include <stdio.h>

#include "request/levels.h"

int main(void)
{
	uint64_t level;

	while (scanf("%" SCNu64, &level) == 1)
		printf("%u %u\n", level_slot(level), lowest_of_slot(level_slot(level)));
	return ferror(stdout) || !feof(stdin);
}
