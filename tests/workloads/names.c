/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * names - threads and files with hostile names: control sequences, markup, quotes, bytes that are no UTF-8.
 */
#include "workload.h"
#include <sys/prctl.h>

static const char *const hostile[] = {
	"\033[31mred\033[0m", "\xff\xfe\x80 bytes",
	"a\nb\rc\td",	      "\"quote\\back",
	"[bold]x[/bold]",     "",
	"\xc3(\xe2\x82",      "ok",
};
static long duration_ms = 500;

static void *work(void *name)
{
	prctl(PR_SET_NAME, name);
	spin_until(now_ns() + 5 * MILLISECOND);
	sleep_ns(duration_ms * MILLISECOND);
	return NULL;
}

int main(int argc, char **argv)
{
	const size_t count = sizeof(hostile) / sizeof(hostile[0]);
	bool wait = parse_options(argc, argv, KNOBS(NUMBER("duration-ms", duration_ms, "how long")));
	pthread_t handles[sizeof(hostile) / sizeof(hostile[0])];

	prctl(PR_SET_NAME, "\033]0;t\007\xff[b]");
	start_work(wait);
	for (size_t i = 0; i < count; i++)
		handles[i] = start_thread(work, (void *)hostile[i]);
	for (size_t i = 0; i < count; i++)
		pthread_join(handles[i], NULL);
	PRINT_TRUTH({ "threads", count });
	return 0;
}
