/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wake - a thread that is woken again and again on a CPU that is idle then: runq.waking.  By its own timer, or with
 * --waker-cpu by a thread on another CPU, which notes the time before it does so: "wake_ns" is the sum of what the
 * woken thread then waited, as both see it.
 */
#include "workload.h"

static long count = 211, every_us = 3000, cpu = -1, waker_cpu = -1;
static int fds[2];

static void *wake(void *argument)
{
	uint64_t now;

	pin(waker_cpu);
	for (long i = 0; i < count; i++) {
		sleep_ns(every_us * 1000);
		now = now_ns();
		if (write(fds[1], &now, sizeof(now)) != sizeof(now))
			die("write");
	}
	return argument;
}

int main(int argc, char **argv)
{
	uint64_t woken, wake_ns = 0;
	pthread_t waker = 0;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("count", count, "wake-ups"),
					NUMBER("every-us", every_us, "pause before each"),
					NUMBER("cpu", cpu, "of the woken thread"),
					NUMBER("waker-cpu", waker_cpu, "of the other one; -1: its own timer")));

	CHECK(pipe(fds));
	if (cpu >= 0)
		pin(cpu);
	start_work(wait);
	if (waker_cpu >= 0)
		waker = start_thread(wake, NULL);
	for (long i = 0; i < count; i++) {
		if (waker_cpu < 0) {
			sleep_ns(every_us * 1000);
		} else {
			if (read(fds[0], &woken, sizeof(woken)) != sizeof(woken))
				die("read");
			wake_ns += now_ns() - woken;
		}
	}
	if (waker_cpu >= 0)
		pthread_join(waker, NULL);
	PRINT_TRUTH({ "count", count }, { "wake_ns", wake_ns });
	return 0;
}
