/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * file_lock - one process holds a lock on a file for 50 ms, another one waits for it, N times: lock.file.
 */
#include "workload.h"
#include <sys/file.h>
#include <sys/prctl.h>

static const char *mode = "flock";

static void lock(int fd, bool wanted)
{
	struct flock range = { .l_type = wanted ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET };

	if (!strcmp(mode, "fcntl"))
		CHECK(fcntl(fd, F_SETLKW, &range));
	else
		CHECK(flock(fd, wanted ? LOCK_EX : LOCK_UN));
}

int main(int argc, char **argv)
{
	const char *path = "lock.file";
	long count = 23, hold_ms = 50;
	bool wait = parse_options(argc, argv,
				  KNOBS(TEXT("mode", mode, "flock or fcntl"), TEXT("file", path, "file to lock"),
					NUMBER("count", count, "rounds"), NUMBER("hold-ms", hold_ms, "held how long")));
	uint64_t wait_ns = 0;
	int held[2], done[2], fd;
	char byte = 'x';

	CHECK(pipe(held));
	CHECK(pipe(done));
	if (CHECK(fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "lock-holder");
		fd = CHECK(open(path, O_RDWR | O_CREAT, 0600));
		while (read(done[0], &byte, 1) == 1) {
			lock(fd, true);
			if (write(held[1], &byte, 1) != 1)
				break;
			sleep_ns(hold_ms * MILLISECOND);
			lock(fd, false);
		}
		_exit(0);
	}
	fd = CHECK(open(path, O_RDWR | O_CREAT, 0600));
	start_work(wait);
	for (long i = 0; i < count; i++) {
		uint64_t begin;

		if (write(done[1], &byte, 1) != 1 || read(held[0], &byte, 1) != 1)
			die("pipe");
		begin = now_ns();
		lock(fd, true);
		wait_ns += now_ns() - begin;
		lock(fd, false);
	}
	PRINT_TRUTH({ "count", count }, { "wait_ns", wait_ns });
	return 0;
}
