/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memory - wants more memory than its cgroup may have: anonymous pages go to swap and come back (memory.swap_in), or
 * pages of a file push each other out (memory.reclaim, memory.cgroup).
 */
#include "workload.h"

int main(int argc, char **argv)
{
	const char *mode = "anonymous", *path = "read.data";
	long mebibytes = 64, rounds = 3, pages = 0;
	bool wait =
		parse_options(argc, argv,
			      KNOBS(TEXT("mode", mode, "anonymous or file"), TEXT("file", path, "file to read"),
				    NUMBER("mebibytes", mebibytes, "how much"), NUMBER("rounds", rounds, "how often")));
	size_t bytes = (size_t)mebibytes << 20;
	struct rusage before, after;
	int fd = -1;
	char *memory;

	if (!strcmp(mode, "file"))
		fd = CHECK(open(path, O_RDONLY));
	memory = CHECK(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	CHECK(madvise(memory, bytes, MADV_NOHUGEPAGE));
	start_work(wait);
	getrusage(RUSAGE_SELF, &before);
	for (long round = 0; round < rounds; round++) {
		for (size_t at = 0; at < bytes; at += 4096, pages++) {
			if (fd >= 0)
				CHECK(pread(fd, memory, 4096, at));
			else
				*(size_t *)(memory + at) += at ^ round;
		}
	}
	getrusage(RUSAGE_SELF, &after);
	PRINT_TRUTH({ "pages", pages }, { "major_faults", after.ru_majflt - before.ru_majflt },
		    { "context_switches", after.ru_nvcsw - before.ru_nvcsw });
	return 0;
}
