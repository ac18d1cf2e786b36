/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * grow - touches N MiB of memory of its own, a page at a time, and tells how long each MiB took: over memory.high of its
 * cgroup that is slow (memory.cgroup), in pieces of huge pages it may have to be made room (memory.compaction).
 */
#include "workload.h"

int main(int argc, char **argv)
{
	long mebibytes = 37, huge = 0;
	uint64_t touch_ns = 0, worst_ns = 0;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("mebibytes", mebibytes, "how much"),
					NUMBER("huge", huge, "1: in huge pages, 0: in small ones")));
	size_t bytes = (size_t)mebibytes << 20;
	char *memory;

	memory = CHECK(mmap(NULL, bytes + (2 << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	memory += -(uintptr_t)memory & ((2 << 20) - 1);
	CHECK(madvise(memory, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE));
	start_work(wait);
	for (size_t at = 0; at < bytes; at += 1 << 20) {
		uint64_t begin = now_ns(), spent;

		for (size_t page = 0; page < 1 << 20; page += 4096)
			memory[at + page] = 1;
		spent = now_ns() - begin;
		touch_ns += spent;
		if (spent > worst_ns)
			worst_ns = spent;
	}
	PRINT_TRUTH({ "mebibytes", mebibytes }, { "touch_ns", touch_ns }, { "worst_ns", worst_ns });
	return 0;
}
