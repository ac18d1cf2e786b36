/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lock - N threads share one lock that each holds for 20 ms of every 21: time goes to lock.futex.  With --others-us the
 * first one holds it for long, the others touch it only, and wake each other after each of its turns.  With --held flush
 * it is held until a block is safe in --file.
 */
#include "workload.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static const char *mode = "mutex", *held = "sleep", *path = "lock.data";
static int fd = -1;
static long threads = 3, duration_ms = 2000, hold_ms = 20, pause_ms = 1, others_us = -1;
static uint64_t end_ns, wait_ns, hold_ns, rounds;
static uint64_t waiting, held_up, held_up_ns; /* threads that want the lock; those at each turn, and for how long */

static void hold(uint64_t begin, uint64_t held_ns)
{
	if (fd >= 0) {
		if (pwrite(fd, &begin, sizeof(begin), 0) != sizeof(begin))
			die("pwrite");
		CHECK(fdatasync(fd));
	} else if (!strcmp(held, "sleep")) {
		sleep_ns(held_ns);
	} else {
		spin_until(begin + held_ns);
	}
}

static void *work(void *argument)
{
	uint64_t begin, locked, unlocked, others;
	uint64_t held_ns = argument && others_us >= 0 ? (uint64_t)others_us * 1000 : hold_ms * MILLISECOND;

	while ((begin = now_ns()) < end_ns) {
		__atomic_add_fetch(&waiting, 1, __ATOMIC_RELAXED);
		if (!strcmp(mode, "rwlock"))
			pthread_rwlock_wrlock(&rwlock);
		else
			pthread_mutex_lock(&mutex);
		locked = now_ns();
		others = __atomic_sub_fetch(&waiting, 1, __ATOMIC_RELAXED);
		hold(locked, held_ns);
		unlocked = now_ns();
		held_up += others;
		held_up_ns += others * (unlocked - locked);
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
		KNOBS(TEXT("mode", mode, "mutex or rwlock"), TEXT("held", held, "sleep, spin or flush"),
		      TEXT("file", path, "what is flushed"), NUMBER("threads", threads, "who share it"),
		      NUMBER("duration-ms", duration_ms, "how long"),
		      NUMBER("hold-ms", hold_ms, "how long the lock is held"),
		      NUMBER("others-us", others_us, "how long all but the first hold it, if not as long"),
		      NUMBER("pause-ms", pause_ms, "how long a thread stays away from it")));
	pthread_t *handles = calloc(threads, sizeof(*handles));

	if (!strcmp(held, "flush"))
		fd = CHECK(open(path, O_RDWR | O_CREAT, 0600));
	start_work(wait);
	end_ns = now_ns() + duration_ms * MILLISECOND;
	for (long i = 0; i < threads; i++)
		handles[i] = start_thread(work, (void *)i);
	for (long i = 0; i < threads; i++)
		pthread_join(handles[i], NULL);
	PRINT_TRUTH({ "threads", threads }, { "rounds", rounds }, { "wait_ns", wait_ns }, { "hold_ns", hold_ns },
		    { "held_up", held_up }, { "held_up_ns", held_up_ns });
	return 0;
}
