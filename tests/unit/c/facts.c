// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: facts/facts.c facts/child.c facts/list.c facts/host_files.c facts/list_answers.c facts/cgroups.c facts/competitors.c facts/affinity.c facts/kernel_threads.c facts/read.c facts/mount_sources.c facts/mount_options.c facts/cpuid.c facts/nfs_connections.c facts/listeners.c facts/traffic_control.c facts/link_settings.c facts/network_settings.c facts/boot_options.c facts/file_systems.c facts/user_tasks.c facts/hotspot.c base/hotspot_layout.c facts/hotspot_counters.c base/memory_symbols.c base/sock_diag.c base/netlink.c facts/oom_log.c facts/log_text.c base/process_files.c output/json.c output/output.c base/capabilities.c base/namespaces.c base/passed_descriptors.c base/receive.c */
/* Host facts as this host has them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "facts/internal.h"
#include "check.h"
#include "facts_text.h"

static void reads_what_is_there(void)
{
	char *text = own_facts("begin"), path[64];

	CHECK(says(text, "/proc/loadavg", "\"text\":\""));
	CHECK(says(text, "/proc/self/mountinfo", "\"text\":\""));
	CHECK(says(text, "/proc/cpuinfo", "\"text\":\"processor"));
	CHECK_NUMBER(count(line_of(text, "/proc/cpuinfo"), "processor\\u0009"), 1);
	snprintf(path, sizeof(path), "/proc/%d/limits", getpid());
	CHECK(says(text, path, "Max open files"));
	CHECK(!says(text, "/proc/stat", "intr"));
	CHECK_NUMBER(count(text, "/cmdline\""), count(text, "\"/proc/cmdline\"")); /* the kernel's alone */
	CHECK_NUMBER(count(text, "/maps\""), 0);
	CHECK_NUMBER(count(text, "\"error\":\"timeout\""), 0);
	CHECK_NUMBER(count(text, "\n"), count(text, "{\"type\":\"fact\",\"at_ns\":"));
	free(text);
}

static void the_series_is_short(void)
{
	char *begin = own_facts("begin"), *series = own_facts("series");

	CHECK(strlen(series) > 500);
	CHECK(strlen(series) < strlen(begin) / 4);
	CHECK(says(series, "/proc/sys/fs/file-nr", "\"text\":\""));
	free(begin);
	free(series);
}

/* As a fact tells them of a process. */
static long descriptors(pid_t pid)
{
	char *text = facts("series", &pid, 1, DEADLINE_MS, NULL), path[64];
	const char *line, *value;
	long number;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	line = line_of(text, path);
	value = strstr(line, "\"text\":\"");
	number = value ? strtol(value + strlen("\"text\":\""), NULL, 10) : -1;
	CHECK(value && strstr(value, " inode ") != NULL);
	free(text);
	return number;
}

/* Stopped once it has them open, so that nothing changes while it is counted. */
static pid_t child_with(int more)
{
	pid_t child = fork();

	if (child == 0) {
		for (int i = 0; i < more; i++)
			open("/dev/null", O_RDONLY);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(child, NULL, WUNTRACED);
	return child;
}

/* Not our own: the reader may count while we still hold the end of the pipe that we gave it. */
static void counts_descriptors(void)
{
	pid_t few = child_with(0), many = child_with(23);

	CHECK_NUMBER(descriptors(many) - descriptors(few), 23);
	kill(few, SIGKILL);
	kill(many, SIGKILL);
	waitpid(few, NULL, 0);
	waitpid(many, NULL, 0);
}

static void says_how_many_targets_were_left_out(void)
{
	pid_t pids[67];
	char *text;

	for (int i = 0; i < 67; i++)
		pids[i] = getpid();
	text = facts("series", pids, 67, DEADLINE_MS, NULL);
	CHECK(says(text, "/proc/[0-9]*", "only the first 64 of 67 processes are recorded"));
	free(text);
}

static void a_target_that_is_gone_is_an_error_of_its_files(void)
{
	pid_t child = fork();
	char *text, path[64];

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	text = facts("end", &child, 1, DEADLINE_MS, NULL);
	snprintf(path, sizeof(path), "/proc/%d/status", child);
	CHECK(says(text, path, "\"error\":\"No such file or directory\""));
	CHECK(says(text, "/proc/vmstat", "\"text\":\""));
	free(text);
}

static void the_end_looks_at_competitors(void)
{
	pid_t pids[] = { getppid(), 4194305 }; /* the second is more than Linux has */
	char *text, path[64];

	facts_look_at_competitors(pids, 2);
	text = own_facts("begin");
	CHECK_NUMBER(count(text, "\"/competitor/"), 0);
	free(text);
	text = own_facts("end");
	snprintf(path, sizeof(path), "/competitor/%d/stat", getppid());
	CHECK(says(text, path, "\"text\":\""));
	snprintf(path, sizeof(path), "/competitor/%d/cgroup", getppid());
	CHECK(says(text, path, "\"text\":\""));
	CHECK(says(text, "/competitor/4194305/stat", "\"error\":\"No such file or directory\""));
	CHECK_NUMBER(count(text, "\"/competitor/"), 8);
	free(text);
	facts_look_at_competitors(pids, 0);
}

static void reads_files_links_and_directories(void)
{
	char directory[] = "/tmp/perfdiag-facts-XXXXXX", file[64], link[64], inode[64];
	static struct fact_text fact;
	struct stat status;
	FILE *stream;

	CHECK(mkdtemp(directory) != NULL);
	snprintf(file, sizeof(file), "%s/file", directory);
	snprintf(link, sizeof(link), "%s/link", directory);
	stream = fopen(file, "w");
	fputs("first\nsecond\nthird\n", stream);
	fclose(stream);
	CHECK_NUMBER(symlink("no/where", link), 0);

	fact_read(&(struct wanted){ .path = file, .limit = 100 }, &fact);
	CHECK(fact.length == 19 && !fact.truncated && !fact.error);
	fact_read(&(struct wanted){ .path = file, .limit = 8 }, &fact);
	CHECK(fact.length == 8 && fact.truncated);
	fact_read(&(struct wanted){ .path = file, .limit = 19 }, &fact);
	CHECK(fact.length == 19 && !fact.truncated);
	fact_read(&(struct wanted){ .path = file, .limit = 100, .until = "\nthird" }, &fact);
	CHECK(fact.length == 13 && !fact.truncated);
	fact_read(&(struct wanted){ .path = link, .limit = 100 }, &fact);
	CHECK(fact.length == 8 && !memcmp(fact.text, "no/where", 8));
	fact_read(&(struct wanted){ .path = directory, .limit = 100 }, &fact);
	stat(directory, &status);
	snprintf(inode, sizeof(inode), "2 inode %lu", status.st_ino);
	fact.text[fact.length] = '\0';
	CHECK_TEXT(fact.text, inode);
	unlink(file);
	fact_read(&(struct wanted){ .path = file, .limit = 100 }, &fact);
	CHECK_NUMBER(fact.error, 2);
	unlink(link);
	rmdir(directory);
}

int main(void)
{
	RUN(reads_what_is_there);
	RUN(the_series_is_short);
	RUN(counts_descriptors);
	RUN(says_how_many_targets_were_left_out);
	RUN(a_target_that_is_gone_is_an_error_of_its_files);
	RUN(the_end_looks_at_competitors);
	RUN(reads_files_links_and_directories);
	return check_result();
}
