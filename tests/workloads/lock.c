/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lock - N threads share one lock that each holds for 20 ms of every 21: time goes to lock.futex.  With --others-us the
 * first one holds it for long, the others touch it only, and wake each other after each of its turns.
 */
#include "workload.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static const char *mode = "mutex", *held = "sleep";
static long threads = 3, duration_ms = 2000, hold_ms = 20, pause_ms = 1, others_us = -1;
static uint64_t end_ns, wait_ns, hold_ns, rounds;

static void *work(void *argument)
{
	uint64_t begin, locked, unlocked;
	uint64_t held_ns = argument && others_us >= 0 ? (uint64_t)others_us * 1000 : hold_ms * MILLISECOND;

	while ((begin = now_ns()) < end_ns) {
		if (!strcmp(mode, "rwlock"))
			pthread_rwlock_wrlock(&rwlock);
		else
			pthread_mutex_lock(&mutex);
		locked = now_ns();
		if (!strcmp(held, "sleep"))
			sleep_ns(held_ns);
		else
			spin_until(locked + held_ns);
		unlocked = now_ns();
		if (!strcmp(mode, "rwlock"))
			pthread_rwlock_unlock(&rwlock);
		else
			pthread_mutex_unlock(&mutex);
		__atomic_add_fetch(&wait_ns, locked - begin, __ATOMIC_RELAXED);
		__atomic_add_fetch(&hold_ns, unlocked - locked, __ATOMIC_RELAXED);
		__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
		sleep_ns(pause_ms * MILLISECOND);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	bool wait = parse_options(
		argc, argv,
		KNOBS(TEXT("mode", mode, "mutex or rwlock"), TEXT("held", held, "sleep or spin"),
		      NUMBER("threads", threads, "who share it"), NUMBER("duration-ms", duration_ms, "how long"),
		      NUMBER("hold-ms", hold_ms, "how long the lock is held"),
		      NUMBER("others-us", others_us, "how long all but the first hold it, if not as long"),
		      NUMBER("pause-ms", pause_ms, "how long a thread stays away from it")));
	pthread_t *handles = calloc(threads, sizeof(*handles));

	start_work(wait);
	end_ns = now_ns() + duration_ms * MILLISECOND;
	for (long i = 0; i < threads; i++)
		handles[i] = start_thread(work, (void *)i);
	for (long i = 0; i < threads; i++)
		pthread_join(handles[i], NULL);
	PRINT_TRUTH({ "threads", threads }, { "rounds", rounds }, { "wait_ns", wait_ns }, { "hold_ns", hold_ns });
	return 0;
}
