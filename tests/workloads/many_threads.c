/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * many_threads - thousands of threads that sleep and wake now and then: does a recording of them still close?  With
 * --futexes N each waits for N futexes in turn instead, each until the period is over.
 */
#include "workload.h"
#include <limits.h>
#include <linux/futex.h>

static long period_ms = 1000, futexes;
static volatile bool closing;
static uint64_t wakeups;

static uint32_t words[64];

static void pass_period(uint64_t turn)
{
	struct timespec period = { .tv_sec = period_ms / 1000, .tv_nsec = period_ms % 1000 * MILLISECOND };

	if (futexes)
		syscall(SYS_futex, &words[turn % futexes], FUTEX_WAIT_PRIVATE, 0, &period, NULL, 0);
	else
		sleep_ns(period_ms * MILLISECOND);
}

static void *live(void *argument)
{
	unsigned int seed = (uintptr_t)argument;

	sleep_ns(rand_r(&seed) % (period_ms * MILLISECOND));
	for (uint64_t turn = 0; !closing; turn++) {
		__atomic_add_fetch(&wakeups, 1, __ATOMIC_RELAXED);
		pass_period(turn);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = 1009, duration_ms = 2000;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("threads", threads, "how many"),
					NUMBER("period-ms", period_ms, "sleep of each"),
					NUMBER("futexes", futexes, "wait for so many in turn, at most 64"),
					NUMBER("duration-ms", duration_ms, "how long")));
	pthread_attr_t attributes;

	if (futexes < 0 || futexes > (long)(sizeof(words) / sizeof(*words))) {
		errno = EINVAL;
		die("--futexes");
	}
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
