/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sieve - takes all memory but N MiB and gives every other page back: what is free then is free in single pages.  It has
 * done so when it waits for its start, and ends when it is started.
 */
#include "workload.h"

static size_t available_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	char line[128];
	size_t kibibytes = 0;

	if (!file)
		die("/proc/meminfo");
	while (fgets(line, sizeof(line), file) && sscanf(line, "MemAvailable: %zu", &kibibytes) != 1)
		;
	fclose(file);
	return kibibytes << 10;
}

int main(int argc, char **argv)
{
	long leave = 160;
	bool wait = parse_options(argc, argv, KNOBS(NUMBER("leave", leave, "MiB that others may have")));
	size_t bytes = available_bytes() - ((size_t)leave << 20);
	char *memory = CHECK(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	CHECK(madvise(memory, bytes, MADV_NOHUGEPAGE));
	for (size_t at = 0; at < bytes; at += 4096)
		memory[at] = 1;
	for (size_t at = 0; at + 4096 < bytes; at += 8192)
		CHECK(madvise(memory + at, 4096, MADV_DONTNEED));
	start_work(wait);
	PRINT_TRUTH({ "bytes", bytes / 2 });
	return 0;
}
