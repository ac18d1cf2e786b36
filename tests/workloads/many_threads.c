/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * many_threads - thousands of threads that sleep and wake now and then: does a recording of them still close?
 */
#include "workload.h"
#include <limits.h>

static long period_ms = 1000;
static volatile bool closing;
static uint64_t wakeups;

static void *live(void *argument)
{
	unsigned int seed = (uintptr_t)argument;

	sleep_ns(rand_r(&seed) % (period_ms * MILLISECOND));
	while (!closing) {
		__atomic_add_fetch(&wakeups, 1, __ATOMIC_RELAXED);
		sleep_ns(period_ms * MILLISECOND);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = 1009, duration_ms = 2000;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("threads", threads, "how many"),
					NUMBER("period-ms", period_ms, "sleep of each"),
					NUMBER("duration-ms", duration_ms, "how long")));
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
	for (long i = 0; i < threads; i++) {
		pthread_t thread;

		errno = pthread_create(&thread, &attributes, live, (void *)(i + 1));
		if (errno)
			die("pthread_create");
	}
	start_work(wait);
	sleep_ns(duration_ms * MILLISECOND);
	closing = true;
	PRINT_TRUTH({ "threads", threads }, { "wakeups", wakeups });
	_exit(0);
}
