/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mmap_contention - threads of one process map, touch and unmap memory at the same time: they wait for each other on
 * the lock of the address space, lock.kernel.
 */
#include "workload.h"

static long bytes = 64 << 20, duration_ms = 1500;
static uint64_t end_ns, rounds, wall_ns;

static void *churn(void *argument)
{
	uint64_t begin = now_ns();

	while (now_ns() < end_ns) {
		char *map = CHECK(
			mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));

		CHECK(munmap(map, bytes));
		__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
	}
	__atomic_add_fetch(&wall_ns, now_ns() - begin, __ATOMIC_RELAXED);
	return argument;
}

int main(int argc, char **argv)
{
	long threads = 4;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("threads", threads, "who do it"),
					NUMBER("bytes", bytes, "size of each mapping"),
					NUMBER("duration-ms", duration_ms, "how long")));
	pthread_t *handles = calloc(threads, sizeof(*handles));

	start_work(wait);
	end_ns = now_ns() + duration_ms * MILLISECOND;
	for (long i = 0; i < threads; i++)
		handles[i] = start_thread(churn, NULL);
	for (long i = 0; i < threads; i++)
		pthread_join(handles[i], NULL);
	PRINT_TRUTH({ "threads", threads }, { "rounds", rounds }, { "wall_ns", wall_ns });
	return 0;
}
