/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * thread_churn - 211 threads are born, sleep a moment and die, at most eight at a time.
 */
#include "workload.h"

static long sleep_us = 3000;
static uint64_t asleep_ns, lived_ns;

static void *live(void *argument)
{
	uint64_t begin = now_ns(), end;

	sleep_ns(sleep_us * 1000);
	end = now_ns();
	__atomic_add_fetch(&asleep_ns, end - begin, __ATOMIC_RELAXED);
	spin_until(end + sleep_us * 100);
	__atomic_add_fetch(&lived_ns, now_ns() - begin, __ATOMIC_RELAXED);
	return argument;
}

int main(int argc, char **argv)
{
	enum { TOGETHER = 8 };
	long count = 211;
	bool wait = parse_options(
		argc, argv, KNOBS(NUMBER("count", count, "threads"), NUMBER("sleep-us", sleep_us, "life of each")));
	pthread_t handles[TOGETHER];

	start_work(wait);
	for (long i = 0; i < count; i++) {
		if (i >= TOGETHER)
			pthread_join(handles[i % TOGETHER], NULL);
		handles[i % TOGETHER] = start_thread(live, NULL);
	}
	for (long i = count > TOGETHER ? count - TOGETHER : 0; i < count; i++)
		pthread_join(handles[i % TOGETHER], NULL);
	PRINT_TRUTH({ "threads", count }, { "asleep_ns", asleep_ns }, { "lived_ns", lived_ns });
	return 0;
}
