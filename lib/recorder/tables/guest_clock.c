// SPDX-License-Identifier: GPL-2.0-only
/*
 * What does this virtual machine take for things that cost nothing elsewhere?
 *
 * How fast does its CPU run?  In a guest whose counters of cycles nobody shows, a loop of a known number of cycles
 * tells.  Multiplications that need each other's result take 3 cycles each on Intel since 2008 (Nehalem) and on AMD
 * since 2017 (Zen).  Interrupts and a hypervisor that runs others only make a try longer: the shortest one counts.
 *
 * How late does it wake up?  A thread that sleeps until a given time goes on some microseconds later on hardware; in a
 * guest its virtual CPU has halted, and is to be found, and given a CPU, by the host.  Sleeps are longer than hosts poll
 * for a halted guest, or it would be their polling that is timed.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/prctl.h>
#include "recorder.h"

#if defined(__x86_64__)
#include "base/in_guest.h"

#define STEPS 10000
#define CYCLES (STEPS * 3)
#define SPIN_NS 5000000ULL /* so long, because a CPU that was idle needs a moment to raise its clock */
#define TRIES_MAX 2000
#define SLEEP_NS 500000ULL /* KVM polls for 200 us at most, unless told otherwise */
#define SLEEPS 10
#define SLEEPING_NS 10000000ULL /* where sleeps take much longer, fewer of them have to do */

static uint64_t try_once(void)
{
	uint64_t begin = now_ns(), value = 3;

	/* Ten in a row, so that the loop's own instructions have time beside them. */
	for (int i = 0; i < STEPS / 10; i++)
		asm volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0\n\t"
			     "imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0"
			     : "+r"(value));
	return now_ns() - begin;
}

static int by_length(const void *first, const void *second)
{
	uint64_t a = *(const uint64_t *)first, b = *(const uint64_t *)second;

	return (a > b) - (a < b);
}

static size_t spin(uint64_t *tries)
{
	uint64_t begin = now_ns();
	size_t count = 0;

	while (count < TRIES_MAX && now_ns() - begin < SPIN_NS)
		tries[count++] = try_once();
	qsort(tries, count, sizeof(*tries), by_length);
	return count;
}

/* How late each of some sleeps ended. */
static size_t oversleep(uint64_t *late)
{
	uint64_t begin = now_ns();
	size_t count = 0;

	prctl(PR_SET_TIMERSLACK, 1); /* or the kernel adds 50 us of its own */
	while (count < SLEEPS && now_ns() - begin < SLEEPING_NS) {
		uint64_t until = now_ns() + SLEEP_NS;
		struct timespec at = { .tv_sec = until / NS_PER_SECOND, .tv_nsec = until % NS_PER_SECOND };

		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL))
			break; /* a signal: what it was worth is not known */
		late[count++] = now_ns() - until;
	}
	prctl(PR_SET_TIMERSLACK, 0); /* back to what it was */
	qsort(late, count, sizeof(*late), by_length);
	return count;
}

void calibration_write(struct recorder *recorder)
{
	static uint64_t tries[TRIES_MAX];
	uint64_t begin = now_ns(), late[SLEEPS];
	struct json *json = &recorder->json;
	size_t count, sleeps;

	if (!in_guest())
		return;
	count = spin(tries);
	sleeps = oversleep(late);
	json_open(json, "calibration");
	json_u64(json, "at_ns", begin);
	json_u64(json, "cycles", CYCLES);
	json_u64(json, "shortest_ns", tries[0]);
	json_u64(json, "median_ns", tries[count / 2]);
	json_u64(json, "tries", count);
	if (sleeps) {
		json_u64(json, "late_shortest_ns", late[0]);
		json_u64(json, "late_median_ns", late[sleeps / 2]);
		json_u64(json, "sleeps", sleeps);
	}
	json_write(json, &recorder->output);
}
#else
void calibration_write(struct recorder *recorder)
{
	(void)recorder; /* no instruction takes the same time on all of these processors */
}
#endif
