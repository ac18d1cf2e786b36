/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tight_memory - fills its cgroup: holds so much for good, and walks through a file larger than what is left, for
 * ever, so that pages push each other out and whoever else wants memory there has to take it from this walk.
 */
#include "workload.h"
#include <sys/prctl.h>

int main(int argc, char **argv)
{
	const char *path = "read.data";
	long mebibytes = 96;
	bool wait = parse_options(argc, argv,
				  KNOBS(TEXT("file", path, "file to walk through"),
					NUMBER("mebibytes", mebibytes, "how much is held")));
	size_t held = (size_t)mebibytes << 20, size;
	int fd = CHECK(open(path, O_RDONLY));
	volatile char *file;
	char *memory;

	CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL)); /* never without the test that started it */
	size = CHECK(lseek(fd, 0, SEEK_END));
	memory = CHECK(mmap(NULL, held, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	memset(memory, 1, held);
	file = CHECK(mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0));
	CHECK(madvise((void *)file, size, MADV_RANDOM));
	start_work(wait);
	for (;;)
		for (size_t at = 0; at < size; at += 4096)
			(void)file[at];
}
