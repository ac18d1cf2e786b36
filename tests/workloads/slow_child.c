/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slow_child - a process that waits for slow children, one after the other: wait.child here, the cause in the child.
 */
#include "workload.h"

static void flush(const char *path)
{
	int fd = CHECK(open(path, O_RDWR | O_CREAT, 0600));

	if (pwrite(fd, path, 1, 0) != 1)
		die("pwrite");
	CHECK(fsync(fd));
}

int main(int argc, char **argv)
{
	const char *how = "sleep", *path = "slow_child.data";
	long count = 7, child_ms = 150;
	uint64_t wait_ns = 0;
	bool wait = parse_options(
		argc, argv,
		KNOBS(NUMBER("count", count, "children"), NUMBER("child-ms", child_ms, "life of each"),
		      TEXT("how", how, "they sleep, spin or flush"), TEXT("file", path, "what they flush")));

	start_work(wait);
	for (long i = 0; i < count; i++) {
		pid_t child = CHECK(fork());
		uint64_t begin = now_ns();

		if (child == 0) {
			if (!strcmp(how, "spin"))
				spin_until(begin + child_ms * MILLISECOND);
			else if (!strcmp(how, "flush"))
				flush(path);
			else
				sleep_ns(child_ms * MILLISECOND);
			_exit(0);
		}
		CHECK(waitpid(child, NULL, 0));
		wait_ns += now_ns() - begin;
	}
	PRINT_TRUTH({ "count", count }, { "wait_ns", wait_ns });
	return 0;
}
