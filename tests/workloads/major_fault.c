/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * major_fault - touches N pages of a mapped file that are not in memory: memory.major_fault.
 */
#include "workload.h"

int main(int argc, char **argv)
{
	const char *path = "read.data";
	long count = 211, stride = 1 << 20;
	bool wait = parse_options(argc, argv,
				  KNOBS(TEXT("file", path, "file to map"), NUMBER("count", count, "faults wanted"),
					NUMBER("stride", stride, "distance between them")));
	int fd = CHECK(open(path, O_RDONLY));
	off_t size = CHECK(lseek(fd, 0, SEEK_END));
	struct rusage before, after;
	uint64_t fault_ns = 0, sum = 0;
	volatile char *map;

	CHECK(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	map = CHECK(mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0));
	CHECK(madvise((void *)map, size, MADV_RANDOM));
	start_work(wait);
	getrusage(RUSAGE_SELF, &before);
	for (long i = 0; i < count && i * stride < size; i++) {
		uint64_t begin = now_ns();

		sum += map[i * stride];
		fault_ns += now_ns() - begin;
	}
	getrusage(RUSAGE_SELF, &after);
	PRINT_TRUTH({ "count", after.ru_majflt - before.ru_majflt }, { "fault_ns", fault_ns }, { "sum", sum });
	return 0;
}
