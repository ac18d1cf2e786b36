// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: facts/facts.c facts/child.c facts/list.c facts/host_files.c facts/list_answers.c facts/cgroups.c facts/competitors.c facts/affinity.c facts/kernel_threads.c facts/read.c facts/mount_sources.c facts/mount_options.c facts/cpuid.c facts/nfs_connections.c facts/listeners.c facts/traffic_control.c facts/link_settings.c facts/network_settings.c facts/boot_options.c facts/file_systems.c facts/user_tasks.c facts/hotspot.c base/hotspot_layout.c facts/hotspot_counters.c base/memory_symbols.c base/sock_diag.c base/netlink.c facts/oom_log.c facts/log_text.c base/process_files.c output/json.c output/output.c base/capabilities.c base/namespaces.c base/passed_descriptors.c base/receive.c */
/* WRAPS: fact_read facts_list_namespaces waitpid */
/* Host facts while single files hang, burn CPU time or kill their reader. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "facts/internal.h"
#include "check.h"
#include "facts_text.h"

#define NAMESPACES "/proc/[0-9]*/ns"

static const char *sick_path;  /* every path that contains this ... */
static void (*sickness)(void); /* ... gets this first */
static bool nobody_ends;       /* waitpid() finds no child ended: all are in uninterruptible sleep */
static pid_t waited_for[128];  /* meanwhile */

void __real_fact_read(const struct wanted *wanted, struct fact_text *fact);
void __wrap_fact_read(const struct wanted *wanted, struct fact_text *fact);
int __real_facts_list_namespaces(struct wanted_list *list, enum facts_phase phase, const pid_t *pids, size_t count);
int __wrap_facts_list_namespaces(struct wanted_list *list, enum facts_phase phase, const pid_t *pids, size_t count);
pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);

void __wrap_fact_read(const struct wanted *wanted, struct fact_text *fact)
{
	if (sick_path && strstr(wanted->path, sick_path))
		sickness();
	__real_fact_read(wanted, fact);
}

int __wrap_facts_list_namespaces(struct wanted_list *list, enum facts_phase phase, const pid_t *pids, size_t count)
{
	if (sick_path && !strcmp(sick_path, NAMESPACES))
		sickness();
	return __real_facts_list_namespaces(list, phase, pids, count);
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	int place = 0;

	if (!nobody_ends)
		return __real_waitpid(pid, status, options);
	while (waited_for[place] && waited_for[place] != pid)
		place++;
	waited_for[place] = pid;
	return 0;
}

/* Whoever waitpid() was asked about has ended by now; it may be asked again. */
static void await_ends(void)
{
	siginfo_t info;

	for (int i = 0; waited_for[i]; i++) {
		waitid(P_PID, waited_for[i], &info, WEXITED | WNOWAIT);
		waited_for[i] = 0;
	}
}

static void hang(void)
{
	for (;;)
		pause();
}

/* Longer than a silence is allowed to last, but running all the time. */
static void burn(void)
{
	uint64_t end = now_ns() + DEADLINE_MS / 5 * 1000000ULL;

	while (now_ns() < end)
		;
}

static void die(void)
{
	raise(SIGKILL);
}

/* Ends the reader, and so leaves an error, if anything but the pipe is open in it. */
static void check_descriptors(void)
{
	for (int fd = 1; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			die();
}

static void a_file_that_hangs_costs_only_itself(void)
{
	char *text;
	int elapsed_ms;

	sick_path = "/proc/loadavg";
	sickness = hang;
	text = facts("begin", &(pid_t){ getpid() }, 1, DEADLINE_MS, &elapsed_ms);
	CHECK(says(text, "/proc/loadavg", "\"error\":\"timeout\""));
	CHECK_NUMBER(count(text, "\"error\":\"timeout\""), 1);
	CHECK(says(text, "/proc/swaps", "\"text\":\""));
	CHECK(elapsed_ms < DEADLINE_MS / 2);
	free(text);
	while (waitpid(-1, NULL, 0) > 0) /* for ever, if one were left alive */
		;
	sick_path = NULL;
}

static unsigned int *hanging; /* counted by the children */

static void hang_and_count(void)
{
	__atomic_add_fetch(hanging, 1, __ATOMIC_RELAXED);
	hang();
}

static void hangs_once(const char *path)
{
	char *text;

	hanging = mmap(NULL, sizeof(*hanging), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sick_path = path;
	sickness = hang_and_count;
	nobody_ends = true;
	for (int i = 0; i < 5; i++) {
		text = own_facts("series");
		CHECK(says(text, path, "\"error\":\"timeout\""));
		CHECK(says(text, "/proc/stat", "\"text\":\""));
		CHECK_NUMBER(count(text, "\"error\":\"timeout\""), 1);
		free(text);
	}
	CHECK_NUMBER(*hanging, 1);
	nobody_ends = false;
	sick_path = NULL;
	await_ends();
	text = own_facts("series");
	CHECK_NUMBER(count(text, "\"error\":\"timeout\""), 0);
	free(text);
	munmap(hanging, sizeof(*hanging));
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void what_hangs_is_not_tried_again_while_it_does(void)
{
	hangs_once("/proc/sys/fs/file-nr");
	hangs_once(NAMESPACES);
}

static void the_deadline_holds_when_everything_hangs(void)
{
	char *text;
	int elapsed_ms;

	sick_path = "/";
	sickness = hang;
	text = facts("series", &(pid_t){ getpid() }, 1, 1600, &elapsed_ms);
	CHECK_NUMBER(count(text, "\"error\":\"timeout\""), count(text, "\n"));
	CHECK(count(text, "\n") > 5);
	CHECK(elapsed_ms < 4000);
	free(text);
	sick_path = NULL;
}

static void a_folder_that_hangs_costs_one_silence_and_no_more(void)
{
	int elapsed_ms = 0;
	char *text;

	sick_path = "/proc/sys/";
	sickness = hang;
	nobody_ends = true;
	for (int i = 0; i < 4; i++) {
		text = facts("begin", NULL, 0, 3200, &elapsed_ms);
		CHECK(says(text, "/proc/stat", "\"text\":\""));
		CHECK(count(text, "\"error\":\"timeout\"") > 8);
		free(text);
	}
	CHECK(elapsed_ms < 2400); /* one more silence, and not one for every file */
	nobody_ends = false;
	sick_path = NULL;
	await_ends(); /* all is as before */
	text = own_facts("begin");
	CHECK_NUMBER(count(text, "\"error\":\"timeout\""), 0);
	free(text);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void a_busy_reader_is_not_given_up(void)
{
	char *text;

	sick_path = "/proc/loadavg";
	sickness = burn;
	text = own_facts("begin");
	CHECK(says(text, "/proc/loadavg", "\"text\":\""));
	free(text);
	sick_path = NULL;
}

static void burn_briefly(void)
{
	uint64_t end = now_ns() + 50 * 1000000ULL;

	while (now_ns() < end)
		;
}

/* All is read, in twice the time that would be waited for what hangs. */
static void a_busy_host_is_given_more_time(void)
{
	char *text = own_facts("series");
	int files = count(text, "\n"), elapsed_ms;

	free(text);
	sick_path = "/";
	sickness = burn_briefly;
	text = facts("series", &(pid_t){ getpid() }, 1, files * 25, &elapsed_ms);
	CHECK_NUMBER(count(text, "\"error\":\"timeout\""), 0);
	CHECK(elapsed_ms >= files * 50);
	free(text);
	sick_path = NULL;
}

static void a_reader_that_dies_is_replaced(void)
{
	char *text;

	sick_path = "/proc/loadavg";
	sickness = die;
	text = own_facts("begin");
	CHECK(says(text, "/proc/loadavg", "\"error\":\"its reader ended\""));
	CHECK_NUMBER(count(text, "\"error\":\"its reader ended\""), 1);
	CHECK(says(text, "/proc/swaps", "\"text\":\""));
	free(text);
	sick_path = NULL;
}

static void a_reader_holds_nothing_of_ours(void)
{
	int fd = open("/dev/null", O_RDONLY);
	char *text;

	sick_path = "/proc/loadavg";
	sickness = check_descriptors;
	text = own_facts("begin");
	CHECK(says(text, "/proc/loadavg", "\"text\":\""));
	free(text);
	close(fd);
	sick_path = NULL;
}

int main(void)
{
	RUN(a_file_that_hangs_costs_only_itself);
	RUN(what_hangs_is_not_tried_again_while_it_does);
	RUN(the_deadline_holds_when_everything_hangs);
	RUN(a_folder_that_hangs_costs_one_silence_and_no_more);
	RUN(a_busy_reader_is_not_given_up);
	RUN(a_busy_host_is_given_more_time);
	RUN(a_reader_that_dies_is_replaced);
	RUN(a_reader_holds_nothing_of_ours);
	return check_result();
}
