/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * devour - takes memory until the OOM killer ends somebody: pages of its own (anonymous), pages of a file that it
 * locks (locked), a file (file), or pages of pipes of which every other is given back, so that much is free
 * but nowhere two pages together (pipes; then it asks for four together at a time).
 */
#include "workload.h"
#include <sys/prctl.h>

#define PIPE_BYTES (1 << 20)
#define PAGE_BYTES 4096
#define CHUNK_BYTES (64 << 10)

static const char page[CHUNK_BYTES] = { 1 };

/* Its pages go with this process. */
static int open_unlinked(const char *path)
{
	int fd = CHECK(open(path, O_RDWR | O_CREAT, 0600));

	CHECK(unlink(path));
	return fd;
}

static long take_anonymous(size_t bytes)
{
	char *memory =
		CHECK(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));

	for (size_t at = 0; at < bytes; at += PAGE_BYTES)
		memory[at] = 1;
	return bytes / PAGE_BYTES;
}

static long take_locked(const char *path, size_t bytes)
{
	int fd = open_unlinked(path);
	char *memory;

	CHECK(ftruncate(fd, bytes));
	memory = CHECK(mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0));
	CHECK(mlock(memory, bytes));
	return bytes / PAGE_BYTES;
}

static long take_file(const char *path, size_t bytes)
{
	int fd = open_unlinked(path);

	for (size_t at = 0; at < bytes; at += CHUNK_BYTES)
		CHECK(write(fd, page, CHUNK_BYTES));
	return bytes / PAGE_BYTES;
}

/* Two at a time, page by page: the pages of the second lie between those of the first. */
static long take_pipes(size_t bytes)
{
	size_t pairs = bytes / PIPE_BYTES / 2;
	int(*ends)[2] = calloc(2 * pairs, sizeof(*ends));
	long grown = 0;

	CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 65536, 65536 }));
	for (size_t i = 0; i < 2 * pairs; i++) {
		CHECK(pipe(ends[i]));
		CHECK(fcntl(ends[i][1], F_SETPIPE_SZ, PIPE_BYTES));
	}
	for (size_t i = 0; i < 2 * pairs; i += 2)
		for (size_t at = 0; at < PIPE_BYTES; at += PAGE_BYTES)
			for (size_t which = i; which < i + 2; which++)
				CHECK(write(ends[which][1], page, PAGE_BYTES));
	for (size_t i = 1; i < 2 * pairs; i += 2) {
		close(ends[i][0]);
		close(ends[i][1]);
	}
	for (;; grown++) {
		CHECK(pipe(ends[1]));
		CHECK(fcntl(ends[1][1], F_SETPIPE_SZ, PIPE_BYTES)); /* its table takes four pages together */
	}
	return grown;
}

int main(int argc, char **argv)
{
	const char *mode = "anonymous", *path = "devoured";
	long mebibytes = 64, hold_ms = 0, pages;
	bool wait = parse_options(argc, argv,
				  KNOBS(TEXT("mode", mode, "anonymous, locked, file or pipes"),
					TEXT("file", path, "file to fill or lock"),
					NUMBER("mebibytes", mebibytes, "how much"),
					NUMBER("hold", hold_ms, "how long it is kept, in ms")));
	size_t bytes = (size_t)mebibytes << 20;

	CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL)); /* never without the test that started it */
	start_work(wait);
	if (!strcmp(mode, "locked"))
		pages = take_locked(path, bytes);
	else if (!strcmp(mode, "file"))
		pages = take_file(path, bytes);
	else if (!strcmp(mode, "pipes"))
		pages = take_pipes(bytes);
	else
		pages = take_anonymous(bytes);
	sleep_ns(hold_ms * MILLISECOND);
	PRINT_TRUTH({ "pages", pages });
	return 0;
}
