/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * chain - processes that wait for each other at pipes, each for the next; the last one sleeps, then tells the one
 * before it, and so on: the first waits for ipc.pipe, because of wait.timer, `depth` steps away.
 */
#include "workload.h"

#define MOST 16

static int pipes[MOST][2]; /* pipes[i]: from process i + 1 to process i; pipes[depth]: from the first to the last one */

static void tell(int pipe)
{
	if (write(pipes[pipe][1], "x", 1) != 1)
		die("write");
}

static bool hear(int pipe)
{
	char byte;

	return read(pipes[pipe][0], &byte, 1) == 1;
}

/* Goes on until the first process has gone: so the ends of pipes that only others need are closed. */
static void follow(long self, long depth, long sleep_ms)
{
	for (long i = 0; i <= depth; i++)
		close(pipes[i][1 - (i == self - 1)]);
	while (hear(self == depth ? depth : self)) {
		if (self == depth)
			sleep_ns(sleep_ms * MILLISECOND);
		tell(self - 1);
	}
	exit(0);
}

int main(int argc, char **argv)
{
	long count = 23, depth = 3, sleep_ms = 20;
	uint64_t wait_ns = 0;
	bool wait =
		parse_options(argc, argv,
			      KNOBS(NUMBER("count", count, "rounds"), NUMBER("depth", depth, "steps to the sleeper"),
				    NUMBER("sleep-ms", sleep_ms, "how long the last one sleeps")));

	if (depth < 1 || depth >= MOST)
		die("--depth");
	start_work(wait);
	for (long i = 0; i <= depth; i++)
		CHECK(pipe(pipes[i]));
	for (long i = 1; i <= depth; i++)
		if (!CHECK(fork()))
			follow(i, depth, sleep_ms);
	for (long i = 0; i < depth; i++)
		close(pipes[i][1]);
	spin_until(now_ns() +
		   30 * MILLISECOND); /* all of them wait for each other by now, and not because of a sleep */
	for (long i = 0; i < count; i++) {
		uint64_t begin = now_ns();

		tell(depth);
		if (!hear(0))
			die("read");
		wait_ns += now_ns() - begin;
	}
	close(pipes[depth][1]);
	while (wait4(-1, NULL, 0, NULL) > 0)
		;
	PRINT_TRUTH({ "count", count }, { "wait_ns", wait_ns });
	return 0;
}
