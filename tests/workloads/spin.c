/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * spin - N threads that only compute: time goes to cpu.user and, with more threads than CPUs, to runq.busy.  Inside a
 * cgroup with a quota it goes to runq.throttled.  With --kernel 1 they make system calls instead: cpu.kernel.  They look
 * at the clock every few microseconds, which costs where the clock is a device, or every so many --rounds.
 */
#include "workload.h"

static long threads = 1, duration_ms = 2000, cpu = -1, in_kernel, rounds = 1;
static uint64_t end_ns, cpu_ns, wall_ns, done;
static volatile uint64_t sink;

static __attribute__((noinline)) uint64_t burn_cpu(uint64_t value)
{
	for (int i = 0; i < 10000; i++)
		value = value * 6364136223846793005ULL + 1442695040888963407ULL;
	return value;
}

static void *spin(void *argument)
{
	uint64_t begin = now_ns(), mine = 0;
	struct timespec used;
	char bytes[4096];

	if (cpu >= 0)
		pin(cpu);
	while (now_ns() < end_ns) {
		for (long i = 0; i < rounds; i++, mine++)
			if (in_kernel)
				CHECK(syscall(SYS_getrandom, bytes, sizeof(bytes), 0));
			else
				sink = burn_cpu(sink);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	__atomic_add_fetch(&cpu_ns, used.tv_sec * SECOND + used.tv_nsec, __ATOMIC_RELAXED);
	__atomic_add_fetch(&wall_ns, now_ns() - begin, __ATOMIC_RELAXED);
	__atomic_add_fetch(&done, mine, __ATOMIC_RELAXED);
	return argument;
}

int main(int argc, char **argv)
{
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("threads", threads, "who spin"),
					NUMBER("duration-ms", duration_ms, "how long"),
					NUMBER("cpu", cpu, "pin all of them to this CPU"),
					NUMBER("rounds", rounds, "of work between two looks at the clock"),
					NUMBER("kernel", in_kernel, "1: inside system calls")));
	pthread_t *handles = calloc(threads, sizeof(*handles));

	start_work(wait);
	end_ns = now_ns() + duration_ms * MILLISECOND;
	for (long i = 0; i < threads; i++)
		handles[i] = start_thread(spin, NULL);
	for (long i = 0; i < threads; i++)
		pthread_join(handles[i], NULL);
	PRINT_TRUTH({ "threads", threads }, { "cpu_ns", cpu_ns }, { "wall_ns", wall_ns }, { "rounds", done });
	return 0;
}
