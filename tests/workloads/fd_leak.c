/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fd_leak - opens files and never closes them, until RLIMIT_NOFILE refuses: EMFILE, which was seen or will be soon.
 */
#include "workload.h"

int main(int argc, char **argv)
{
	long limit = 1024, stop_at = 0, attempts = 1100, pause_us = 500;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("limit", limit, "RLIMIT_NOFILE"), NUMBER("stop-at", stop_at, "0: never"),
					NUMBER("attempts", attempts, "opens in all"),
					NUMBER("pause-us", pause_us, "between")));
	struct rlimit rlimit = { limit, limit };
	uint64_t opened = 0, refused = 0;

	CHECK(setrlimit(RLIMIT_NOFILE, &rlimit));
	start_work(wait);
	for (long i = 0; i < attempts; i++) {
		if (stop_at && (long)opened >= stop_at)
			sleep_ns(pause_us * 1000);
		else if (open("/dev/null", O_RDONLY) >= 0)
			opened++;
		else if (errno == EMFILE)
			refused++;
		else
			die("open");
		sleep_ns(pause_us * 1000);
	}
	PRINT_TRUTH({ "opened", opened }, { "refused", refused });
	return 0;
}
