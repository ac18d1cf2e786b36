/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tid_reuse - children that get the pid of the one before: the same tid, one after the other, is another thread.
 * Asks the kernel for it through ns_last_pid; when somebody else was faster, it tries again.
 */
#include "workload.h"

static void ask_for(pid_t pid)
{
	FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "w");

	if (!file || fprintf(file, "%d", pid - 1) < 0 || fclose(file))
		die("/proc/sys/kernel/ns_last_pid");
}

/* Returns the pid; the child lives for `live_ms`. */
static pid_t bear(long live_ms)
{
	pid_t child = CHECK(fork());

	if (child == 0) {
		sleep_ns(live_ms * MILLISECOND);
		_exit(0);
	}
	CHECK(waitpid(child, NULL, 0));
	return child;
}

int main(int argc, char **argv)
{
	long wanted = 5, live_ms = 20, children = 1, reused = 0;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("count", wanted, "reuses wanted"),
					NUMBER("live-ms", live_ms, "life of each")));
	pid_t pid;

	start_work(wait);
	pid = bear(live_ms);
	while (reused < wanted && children < 50) {
		ask_for(pid);
		children++;
		if (bear(live_ms) == pid)
			reused++;
	}
	PRINT_TRUTH({ "children", children }, { "reused", reused }, { "child", pid });
	return 0;
}
