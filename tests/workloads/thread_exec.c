/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * thread_exec - a thread that is not the leader calls exec: it takes over the leader's tid, the other threads die, and
 * the process goes on as another program.
 */
#include "workload.h"

static long before_ms = 300, after_ms = 400, computed_ns;

static void *idle(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void *replace(void *argument)
{
	char after[24], computed[24];
	struct timespec used;

	sleep_ns(MILLISECOND); /* bpftrace meets a thread when it leaves its CPU */
	spin_until(now_ns() + before_ms * MILLISECOND);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	snprintf(after, sizeof(after), "%ld", after_ms);
	snprintf(computed, sizeof(computed), "%llu", used.tv_sec * SECOND + used.tv_nsec);
	execl("/proc/self/exe", "thread_exec", "--second", "1", "--after-ms", after, "--computed-ns", computed, NULL);
	die("exec");
	return argument;
}

int main(int argc, char **argv)
{
	long second = 0, threads = 3;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("before-ms", before_ms, "how long the thread spins, then calls exec"),
					NUMBER("after-ms", after_ms, "how long the new program sleeps"),
					NUMBER("threads", threads, "others that exec ends"),
					NUMBER("second", second, "internal: this is the new program"),
					NUMBER("computed-ns", computed_ns, "internal: the CPU time before it")));

	if (second) {
		start_work(false);
		sleep_ns(after_ms * MILLISECOND);
		PRINT_TRUTH({ "slept_ns", now_ns() - workload_started_ns }, { "computed_ns", computed_ns });
		return 0;
	}
	start_work(wait);
	for (long i = 0; i < threads; i++)
		start_thread(idle, NULL);
	start_thread(replace, NULL);
	idle(NULL);
	return 1;
}
