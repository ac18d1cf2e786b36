/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * callers - one thread waits in the same call for two callers in turn, as a database does for its locks and its
 * clients: what the frames of the stack say of both is the same where there are no frame pointers.
 */
#pragma GCC optimize("omit-frame-pointer")
#include "workload.h"
#include <sys/epoll.h>

static long count = 53;

static __attribute__((noinline)) void wait_a_moment(int fd)
{
	struct epoll_event event;

	epoll_wait(fd, &event, 1, 3);
}

static __attribute__((noinline)) void for_client(int fd)
{
	wait_a_moment(fd);
	__asm__ volatile(""); /* no tail call */
}

static __attribute__((noinline)) void for_lock(int fd)
{
	volatile char held[64] = {};

	wait_a_moment(fd);
	__asm__ volatile("" : : "m"(held));
}

int main(int argc, char **argv)
{
	bool wait = parse_options(
		argc, argv, KNOBS(NUMBER("count", count, "waits for a client; three times as many are for a lock")));
	int fd;

	start_work(wait);
	fd = epoll_create1(0);
	for (long i = 0; i < count; i++) {
		for_client(fd);
		for (int k = 0; k < 3; k++)
			for_lock(fd);
	}
	PRINT_TRUTH({ "count", count });
	return 0;
}
