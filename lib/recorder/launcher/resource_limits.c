// SPDX-License-Identifier: GPL-2.0-only
#include "launcher/resource_limits.h"
#include <stdio.h>
#include <sys/resource.h>

#define KIBIBYTE 1024UL
#define MEBIBYTE (1024 * KIBIBYTE)

/*
 * With less, Python fails with pages of its own messages before our first line runs, and libbpf blames the kernel for
 * what it had no memory for.  The limit of open files is in the recorder's main.c, which may raise its own.
 */
static const struct need {
	int resource;
	char option; /* of ulimit */
	const char *what, *unit;
	rlim_t unit_size, python, with_recorder;
} needs[] = {
	{ RLIMIT_CPU, 't', "CPU time", "s", 1, 1, 1 },
	{ RLIMIT_STACK, 's', "the stack", "KiB", KIBIBYTE, 512 * KIBIBYTE, 512 * KIBIBYTE },
	{ RLIMIT_DATA, 'd', "data", "KiB", KIBIBYTE, 16 * MEBIBYTE, 32 * MEBIBYTE },
	{ RLIMIT_AS, 'v', "memory", "KiB", KIBIBYTE, 16 * MEBIBYTE, 40 * MEBIBYTE },
	{ RLIMIT_FSIZE, 'f', "the size of files", "KiB", KIBIBYTE, 0, MEBIBYTE },
};

int check_resource_limits(bool with_recorder)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
		const struct need *need = &needs[i];
		rlim_t needed = with_recorder ? need->with_recorder : need->python;
		struct rlimit limit;

		if (getrlimit(need->resource, &limit) || limit.rlim_cur >= needed)
			continue;
		fprintf(stderr,
			"error: the limit of %s is %llu %s: perfdiag needs %llu\n"
			"HINT: raise the limit: ulimit -%c unlimited\n",
			need->what, (unsigned long long)(limit.rlim_cur / need->unit_size), need->unit,
			(unsigned long long)(needed / need->unit_size), need->option);
		return -1;
	}
	return 0;
}
