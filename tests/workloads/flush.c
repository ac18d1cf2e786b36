/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * flush - writes a block and makes it safe, N times: time goes to disk.flush, on any file system.  With --compute-us it
 * takes so much of a CPU before each, as a service that does something else besides: cpu.user.
 */
#include "workload.h"

static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * SECOND + used.tv_nsec;
}

/* What this thread has waited for a CPU; 0: this kernel does not tell. */
static uint64_t queued_ns(void)
{
	FILE *file = fopen("/proc/thread-self/schedstat", "r");
	unsigned long ran, queued = 0;

	if (file && fscanf(file, "%lu %lu", &ran, &queued) != 2)
		queued = 0;
	if (file)
		fclose(file);
	return queued;
}

/* By its own clock, so that it takes longer where others have the CPU; looks at it seldom, as that is a system call. */
static void compute(uint64_t ns)
{
	static volatile uint64_t sink;

	for (uint64_t end = cpu_ns() + ns; ns && cpu_ns() < end;)
		for (int i = 0; i < 50000; i++)
			sink = sink * 6364136223846793005ULL + 1442695040888963407ULL;
}

int main(int argc, char **argv)
{
	const char *path = "flush.data", *mode = "fdatasync";
	long count = 23, bytes = 4096, append = 1, compute_us = 0;
	uint64_t write_ns = 0, flush_ns = 0, worst_ns = 0, compute_ns = 0;
	bool wait =
		parse_options(argc, argv,
			      KNOBS(TEXT("file", path, "file to write"), NUMBER("count", count, "how many flushes"),
				    NUMBER("bytes", bytes, "size of each write"),
				    NUMBER("append", append, "1: the file grows, 0: one block is overwritten"),
				    NUMBER("compute-us", compute_us, "CPU time before each"),
				    TEXT("mode", mode, "fdatasync, fsync, sync_file_range, msync, O_SYNC or none")));
	bool synchronous = !strcmp(mode, "O_SYNC"), mapped = !strcmp(mode, "msync");
	char *block = malloc(bytes), *map = NULL;
	int fd = CHECK(open(path, O_RDWR | O_CREAT | O_TRUNC | (synchronous ? O_DSYNC : 0), 0600));

	memset(block, 'x', bytes);
	if (mapped) {
		CHECK(ftruncate(fd, bytes));
		CHECK(fsync(fd));
		map = CHECK(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	}
	start_work(wait);
	for (long i = 0; i < count; i++) {
		uint64_t began = now_ns(), begin, middle, end;

		compute(compute_us * 1000);
		begin = now_ns();
		compute_ns += begin - began;
		if (mapped)
			memset(map, i, bytes);
		else if (pwrite(fd, block, bytes, append ? i * bytes : 0) != bytes)
			die("pwrite");
		middle = synchronous ? begin : now_ns();
		if (mapped)
			CHECK(msync(map, bytes, MS_SYNC));
		else if (!strcmp(mode, "fsync"))
			CHECK(fsync(fd));
		else if (!strcmp(mode, "sync_file_range"))
			CHECK(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
		else if (!synchronous && strcmp(mode, "none"))
			CHECK(fdatasync(fd));
		end = now_ns();
		write_ns += middle - begin;
		flush_ns += end - middle;
		if (end - middle > worst_ns)
			worst_ns = end - middle;
	}
	PRINT_TRUTH({ "count", count }, { "write_ns", write_ns }, { "flush_ns", flush_ns }, { "worst_ns", worst_ns },
		    { "compute_ns", compute_ns }, { "cpu_ns", cpu_ns() }, { "queued_ns", queued_ns() });
	return 0;
}
