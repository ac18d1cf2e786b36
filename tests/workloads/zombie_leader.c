/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zombie_leader - the main thread ends while the others go on: the process lives, its leader is a zombie.
 */
#include "workload.h"

static long threads = 3, duration_ms = 1000, leader_ms = 300;
static uint64_t slept_ns;
static long left;

static void *work(void *argument)
{
	uint64_t begin = now_ns();

	sleep_ns(duration_ms * MILLISECOND);
	__atomic_add_fetch(&slept_ns, now_ns() - begin, __ATOMIC_RELAXED);
	if (__atomic_sub_fetch(&left, 1, __ATOMIC_ACQ_REL) == 0)
		PRINT_TRUTH({ "threads", threads }, { "slept_ns", slept_ns });
	return argument;
}

int main(int argc, char **argv)
{
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("threads", threads, "that survive the leader"),
					NUMBER("duration-ms", duration_ms, "how long they sleep"),
					NUMBER("leader-ms", leader_ms, "how long the leader lives")));

	start_work(wait);
	left = threads;
	for (long i = 0; i < threads; i++)
		start_thread(work, NULL);
	sleep_ns(leader_ms * MILLISECOND);
	pthread_exit(NULL);
}
