/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fork_tree - 97 short-lived children, one after the other, that exec /bin/true: births, execs and deaths.
 */
#include "workload.h"

/* A chain of `depth` processes, each the parent of the next; the last one becomes /bin/true. */
static void descend(long depth)
{
	for (; depth > 1; depth--) {
		pid_t child = CHECK(fork());
		int status;

		if (child) {
			CHECK(waitpid(child, &status, 0));
			_exit(WEXITSTATUS(status));
		}
	}
	execl("/bin/true", "true", NULL);
	_exit(127);
}

int main(int argc, char **argv)
{
	long count = 97, depth = 1, pause_us = 0;
	uint64_t wait_ns = 0, failed = 0;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("count", count, "children"), NUMBER("depth", depth, "generations"),
					NUMBER("pause-us", pause_us, "between them")));

	start_work(wait);
	for (long i = 0; i < count; i++) {
		uint64_t begin;
		int status;
		pid_t child = CHECK(fork());

		if (child == 0)
			descend(depth);
		begin = now_ns();
		CHECK(waitpid(child, &status, 0));
		wait_ns += now_ns() - begin;
		failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
		if (pause_us)
			sleep_ns(pause_us * 1000);
	}
	PRINT_TRUTH({ "processes", count * depth }, { "execs", count }, { "failed", failed }, { "wait_ns", wait_ns });
	return 0;
}
