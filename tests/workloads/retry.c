/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * retry - a process that fails to lock a file, which it has locked itself by another descriptor, and sleeps before each
 * further try.
 */
#include "workload.h"
#include <sys/file.h>

int main(int argc, char **argv)
{
	const char *path = "retry.lock";
	long count = 23, pause_ms = 50;
	uint64_t slept_ns = 0;
	bool wait =
		parse_options(argc, argv,
			      KNOBS(NUMBER("count", count, "tries"), NUMBER("pause-ms", pause_ms, "before the next"),
				    TEXT("file", path, "what is locked")));
	int held = CHECK(open(path, O_RDWR | O_CREAT, 0600)), wanted = CHECK(open(path, O_RDONLY));

	CHECK(flock(held, LOCK_EX));
	start_work(wait);
	for (long i = 0; i < count; i++) {
		uint64_t begin;

		if (!flock(wanted, LOCK_EX | LOCK_NB))
			die("it was free");
		begin = now_ns();
		sleep_ns(pause_ms * MILLISECOND);
		slept_ns += now_ns() - begin;
	}
	PRINT_TRUTH({ "count", count }, { "slept_ns", slept_ns });
	return 0;
}
