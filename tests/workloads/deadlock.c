/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * deadlock - two threads take two locks in opposite order and wait for ever; the leader joins them, or ends before them.
 */
#include "workload.h"

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static const char *leader = "joins";

static __attribute__((noinline)) void *first_then_second(void *argument)
{
	pthread_mutex_lock(&one);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&two);
	pthread_mutex_unlock(&two);
	return argument;
}

static __attribute__((noinline)) void *second_then_first(void *argument)
{
	pthread_mutex_lock(&two);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&one);
	pthread_mutex_unlock(&one);
	return argument;
}

int main(int argc, char **argv)
{
	bool wait = parse_options(argc, argv, KNOBS(TEXT("leader", leader, "joins or exits")));
	pthread_t thread;

	pthread_barrier_init(&both, NULL, 2);
	start_work(wait);
	start_thread(first_then_second, NULL);
	thread = start_thread(second_then_first, NULL);
	if (!strcmp(leader, "exits"))
		pthread_exit(NULL);
	pthread_join(thread, NULL);
	return 0;
}
