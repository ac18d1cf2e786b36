// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: base/process_files.c */
/* LIBS: -pthread */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/process_files.h"
#include "check.h"

#define EVIL_NAME "a) Z 1 (" /* what a comm may look like */

/* Forks a child that runs body() and waits to be killed; returns when it has its name and has called tell(ready). */
static pid_t started(void (*body)(int ready))
{
	int ready[2];
	pid_t child;

	if (pipe(ready))
		abort();
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, EVIL_NAME);
		body(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	(void)!read(ready[0], &(char){ 0 }, 1);
	close(ready[0]);
	return child;
}

static void tell(int ready)
{
	(void)!write(ready, "", 1);
}

static void wait_zombie(pid_t child)
{
	siginfo_t info;

	waitid(P_PID, child, &info, WEXITED | WNOWAIT);
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void test_who_runs_is_alive(void)
{
	pid_t child = started(tell);

	CHECK(process_alive(child));
	CHECK(process_alive(getpid()));
	end(child);
	CHECK(!process_alive(child));
}

static void test_a_zombie_is_not(void)
{
	pid_t child = started(tell);

	kill(child, SIGKILL);
	wait_zombie(child);
	CHECK(!kill(child, 0)); /* it still has its number */
	CHECK(!process_alive(child));
	end(child);
}

/* Waits until the leader is a zombie: then the process is as it will stay. */
static void *outlive(void *argument)
{
	char path[64], text[256] = "";

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
	while (!strstr(text, EVIL_NAME ") Z")) {
		FILE *stat = fopen(path, "re");

		text[stat ? fread(text, 1, sizeof(text) - 1, stat) : 0] = '\0';
		if (stat)
			fclose(stat);
	}
	tell(*(int *)argument);
	pause();
	return NULL;
}

static void leave_a_thread(int ready)
{
	static int kept; /* the leader's stack is no place for it */
	pthread_t thread;

	kept = ready;
	pthread_create(&thread, NULL, outlive, &kept);
	pthread_exit(NULL);
}

static bool has_maps(pid_t pid)
{
	int process = process_open(pid);
	FILE *maps = process_file(process, "maps");
	bool any = maps && fgetc(maps) != EOF;

	if (maps)
		fclose(maps);
	close(process);
	return any;
}

static void test_threads_outlive_their_leader(void)
{
	pid_t child = started(leave_a_thread);

	CHECK(process_alive(child));
	CHECK(!has_maps(child));
	CHECK(process_speaker(child) != child);
	CHECK(has_maps(process_speaker(child)));
	end(child);
}

static void test_who_lives_or_has_ended_speaks_for_itself(void)
{
	pid_t child = started(tell);

	CHECK_NUMBER(process_speaker(child), child);
	kill(child, SIGKILL);
	wait_zombie(child);
	CHECK_NUMBER(process_speaker(child), child);
	end(child);
	CHECK_NUMBER(process_speaker(child), child);
}

static void test_its_start_is_found_behind_any_name(void)
{
	pid_t child = started(tell);
	int process = process_open(child), own = process_open(getpid());
	uint64_t later = 0, earlier = 0;

	CHECK_NUMBER(process_start_ticks(process, &later), 0);
	CHECK_NUMBER(process_start_ticks(own, &earlier), 0);
	CHECK(earlier && later >= earlier);
	close(process);
	close(own);
	end(child);
}

int main(void)
{
	RUN(test_who_runs_is_alive);
	RUN(test_a_zombie_is_not);
	RUN(test_threads_outlive_their_leader);
	RUN(test_who_lives_or_has_ended_speaks_for_itself);
	RUN(test_its_start_is_found_behind_any_name);
	return check_result();
}
