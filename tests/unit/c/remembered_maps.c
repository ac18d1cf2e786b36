// SPDX-License-Identifier: GPL-2.0-only
/* Names in processes that have ended: twins of this one, whose function is known. */
/* SOURCES: symbols/user_symbols.c base/helper.c symbols/remembered_maps.c symbols/maps_child.c scripts/interpreters.c scripts/script_names.c scripts/perl.c scripts/php.c scripts/python.c scripts/ruby.c scripts/v8.c base/memory_symbols.c output/json.c output/output.c base/process_files.c symbols/symbols_child.c symbols/symbols_filter.c symbols/process_maps.c symbols/elf_symbols.c symbols/go_symbols.c symbols/perf_map.c symbols/hotspot_code.c base/hotspot_layout.c base/capabilities.c */
/* LIBS: -lelf -llzma -lseccomp */
/* WRAPS: statx */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/monotonic.h"
#include "symbols/symbols.h"
#include "check.h"
#include "meet.h"

static bool hang_helper; /* the helper that reads maps stops */

int __real_statx(int directory, const char *path, int flags, unsigned int mask, struct statx *status);
int __wrap_statx(int directory, const char *path, int flags, unsigned int mask, struct statx *status);

int __wrap_statx(int directory, const char *path, int flags, unsigned int mask, struct statx *status)
{
	if (hang_helper)
		raise(SIGSTOP);
	return __real_statx(directory, path, flags, mask, status);
}

__attribute__((noinline)) static int known_function(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static pid_t start_twin(void)
{
	pid_t twin = fork();

	if (!twin)
		for (;;)
			pause();
	return twin;
}

static void end_twin(pid_t twin)
{
	kill(twin, SIGKILL);
	waitpid(twin, NULL, 0);
}

static char *name_in(pid_t pid)
{
	struct user_address asked = { .pid = pid, .address = (uintptr_t)known_function };

	user_symbols_resolve(&asked, 1, 5000);
	return asked.name;
}

static pid_t meet_and_end_twin(void)
{
	pid_t twin = start_twin();

	CHECK(meet_and_wait(twin));
	usleep(20000); /* by the clock of the kernel, whoever has its number next begins later */
	end_twin(twin);
	return twin;
}

static void names_who_was_met(void)
{
	char *name = name_in(meet_and_end_twin());

	CHECK(name && strstr(name, "known_function"));
	free(name);
}

/* More than can be remembered: the last ones are. */
static void forgets_the_oldest(void)
{
	pid_t twin = meet_and_end_twin();
	char *name;

	for (pid_t pid = 1; pid < 256; pid++)
		user_symbols_meet((1 << 24) + pid, false);
	name = name_in(twin);
	CHECK(name && strstr(name, "known_function"));
	free(name);
	user_symbols_meet((1 << 24) + 256, false);
	name = name_in(twin);
	CHECK_TEXT(name, NULL);
	free(name);
}

/* Two processes with one number, one after the other: an address may be of either. */
static void does_not_mix_processes_up(void)
{
	pid_t twin = meet_and_end_twin(), again = 0;

	for (int i = 0; i < 50 && again != twin; i++) {
		FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");

		if (!last || fprintf(last, "%d", twin - 1) < 0 || fclose(last)) {
			printf("skipped: the next process number cannot be set (%s)\n", strerror(errno));
			return;
		}
		again = start_twin();
		if (again != twin)
			end_twin(again);
	}
	CHECK_NUMBER(again, twin);
	CHECK_TEXT(name_in(twin), NULL);
	end_twin(again);
	CHECK_TEXT(name_in(twin), NULL);
}

/* The last words of a helper that hangs come late; names of the living do not need them. */
static void outlives_a_helper_that_hangs(void)
{
	int64_t begin;

	usleep(1100000);
	user_symbols_meet(getpid(), true);
	hang_helper = true;
	begin = monotonic_ms();
	for (int i = 0; i < 3; i++) {
		struct user_address asked = { .pid = getpid(), .address = (uintptr_t)known_function };

		CHECK_NUMBER(user_symbols_resolve(&asked, 1, 1600), 1);
		free(asked.name);
	}
	CHECK(monotonic_ms() - begin < 3 * 1600 + PATIENCE_MS);
	hang_helper = false;
}

static void leaves_nobody_behind(void)
{
	CHECK(waitpid(-1, NULL, WNOHANG) == 0); /* the helper */
	user_symbols_end();
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	user_symbols_end();
}

int main(void)
{
	CHECK_NUMBER(known_function(1), 2);
	RUN(names_who_was_met);
	RUN(does_not_mix_processes_up);
	RUN(forgets_the_oldest);
	RUN(outlives_a_helper_that_hangs);
	RUN(names_who_was_met);
	RUN(leaves_nobody_behind);
	return check_result();
}
