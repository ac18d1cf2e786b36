/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * condition - a pool of threads that waits for work on a condition variable, a semaphore or a barrier: idle, and
 * never a lock.
 */
#include "workload.h"
#include <semaphore.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static const char *mode = "condition";
static long threads = 7, duration_ms = 1500, jobs = 23;
static long queued, done;
static bool closing;
static uint64_t idle_ns;

/* Returns false when there will be no more work. */
static bool wait_for_job(void)
{
	bool job;

	if (!strcmp(mode, "semaphore")) {
		sem_wait(&semaphore);
		pthread_mutex_lock(&mutex);
	} else {
		pthread_mutex_lock(&mutex);
		while (!queued && !closing)
			pthread_cond_wait(&condition, &mutex);
	}
	job = queued > 0;
	queued -= job;
	pthread_mutex_unlock(&mutex);
	return job;
}

static void *serve(void *argument)
{
	uint64_t begin = now_ns();

	while (wait_for_job()) {
		__atomic_add_fetch(&idle_ns, now_ns() - begin, __ATOMIC_RELAXED);
		__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
		begin = now_ns();
	}
	__atomic_add_fetch(&idle_ns, now_ns() - begin, __ATOMIC_RELAXED);
	return argument;
}

static void announce(long job, bool last)
{
	pthread_mutex_lock(&mutex);
	queued += job;
	closing = last;
	pthread_mutex_unlock(&mutex);
	for (long i = 0; i < (last ? threads : 1); i++)
		sem_post(&semaphore);
	if (last)
		pthread_cond_broadcast(&condition);
	else
		pthread_cond_signal(&condition);
}

int main(int argc, char **argv)
{
	bool wait = parse_options(argc, argv,
				  KNOBS(TEXT("mode", mode, "condition or semaphore"),
					NUMBER("threads", threads, "the pool"),
					NUMBER("duration-ms", duration_ms, "how long"),
					NUMBER("jobs", jobs, "jobs that come in that time")));
	pthread_t *handles = calloc(threads, sizeof(*handles));

	sem_init(&semaphore, 0, 0);
	start_work(wait);
	for (long i = 0; i < threads; i++)
		handles[i] = start_thread(serve, NULL);
	for (long i = 0; i < jobs; i++) {
		sleep_ns(duration_ms * MILLISECOND / jobs);
		announce(1, false);
	}
	announce(0, true);
	for (long i = 0; i < threads; i++)
		pthread_join(handles[i], NULL);
	PRINT_TRUTH({ "threads", threads }, { "jobs", done }, { "idle_ns", idle_ns });
	return 0;
}
