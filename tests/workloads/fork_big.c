/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fork_big - a process with much memory that forks so many times; each child ends at once.  The kernel copies the page
 * tables of all that memory each time.  Its twin has next to none: --megabytes 0.
 */
#include "workload.h"

static uint64_t cpu_time_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * SECOND + used.tv_nsec;
}

int main(int argc, char **argv)
{
	long megabytes = 256, forks = 61;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("megabytes", megabytes, "of memory in small pages"),
					NUMBER("forks", forks, "how many children")));
	size_t bytes = megabytes << 20;
	uint64_t forking_ns = 0;

	if (bytes) {
		char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			die("mmap");
		CHECK(madvise(memory, bytes, MADV_NOHUGEPAGE));
		memset(memory, 1, bytes);
	}
	start_work(wait);
	for (long i = 0; i < forks; i++) {
		uint64_t begin_ns = cpu_time_ns();
		pid_t child = CHECK(fork());

		if (child == 0)
			_exit(0);
		forking_ns += cpu_time_ns() - begin_ns;
		CHECK(waitpid(child, NULL, 0));
	}
	PRINT_TRUTH({ "forks", forks }, { "forking_ns", forking_ns });
	return 0;
}
