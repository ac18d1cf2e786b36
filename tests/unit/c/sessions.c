// SPDX-License-Identifier: GPL-2.0-only
/* This program exports what PostgreSQL exports, and asks about itself and about damaged copies of itself. */
/* SOURCES: apps/exports.c apps/sessions.c symbols/user_symbols.c base/helper.c symbols/remembered_maps.c symbols/maps_child.c scripts/interpreters.c scripts/script_names.c scripts/perl.c scripts/php.c scripts/python.c scripts/ruby.c scripts/v8.c base/memory_symbols.c output/json.c output/output.c base/process_files.c symbols/symbols_child.c symbols/symbols_filter.c symbols/process_maps.c symbols/elf_symbols.c symbols/go_symbols.c symbols/perf_map.c symbols/hotspot_code.c base/hotspot_layout.c base/capabilities.c base/receive.c base/passed_descriptors.c */
/* LIBS: -lelf -llzma -lseccomp -rdynamic */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "apps/exports.h"
#include "apps/sessions.h"
#include "check.h"

#define DEADLINE_MS PATIENCE_MS
#define CLIENT_READ 0x06000000U
#define TUPLE 0x03000004U

struct entry {
	uint32_t changes, pid;
	uint64_t kind, started, transaction;
};

uint32_t word;
struct entry entry;
uint32_t *my_wait_event_info = &word;
struct entry *MyBEEntry = &entry;
const char version_text[] = "decoy (PostgreSQL) x; postgres (PostgreSQL) 15.18\n";

const char other_version_text[] = "such as 1.2.3-Suffix";
const char suffixed_version_text[] = "16.2.1-Suffix-0+deb1";

static const struct exports_wanted wanted = { .names = { "my_wait_event_info", "MyBEEntry", "no_such_name" },
					      .version_prefix = "postgres (PostgreSQL) " };

static const struct exports_wanted suffixed = { .version_suffix = "-Suffix" };

/* With the descriptor of the file that was read. */
static int find(pid_t pid, struct exports *exports)
{
	struct stat was_read, runs;
	char path[32];
	int fd, err = exports_find(pid, &wanted, exports, &fd, DEADLINE_MS);

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (!err)
		CHECK(!fstat(fd, &was_read) && !stat(path, &runs) && was_read.st_ino == runs.st_ino);
	if (fd >= 0)
		close(fd);
	return err;
}

static void finds_what_it_exports(void)
{
	struct exports exports = {};

	CHECK_NUMBER(find(getpid(), &exports), 0);
	CHECK(exports.addresses[0] && exports.addresses[1]);
	CHECK_NUMBER(exports.addresses[1] - exports.addresses[0], (char *)&MyBEEntry - (char *)&my_wait_event_info);
	CHECK_NUMBER(exports.addresses[2], 0);
	CHECK_TEXT(exports.version, version_text[0] ? "15.18" : "");
}

static void finds_a_version_that_a_text_begins_with(void)
{
	struct exports exports = {};
	int fd;

	CHECK_NUMBER(exports_find(getpid(), &suffixed, &exports, &fd, DEADLINE_MS), 0);
	CHECK_TEXT(exports.version, other_version_text[0] && suffixed_version_text[0] ? "16.2.1" : "");
	close(fd);
}

static struct session ask(uint32_t says, uint32_t pid, uint64_t transaction)
{
	struct exports exports = {};
	struct program program = {};
	struct session session = {};
	struct stat status;
	pid_t self = getpid();

	find(self, &exports);
	CHECK_NUMBER(sessions_read(&self, 1, NULL, 0, &session, DEADLINE_MS), 1);
	CHECK(session.program == -1 && !session.database.waits_for);
	CHECK(!stat("/proc/self/exe", &status) && session.inode == status.st_ino);
	program.device = session.device;
	program.inode = session.inode;
	program.first_code = exports.first_code;
	program.wait_pointer = exports.addresses[0];
	program.entry_pointer = exports.addresses[1];
	word = says;
	entry.pid = pid;
	entry.transaction = transaction;
	CHECK_NUMBER(sessions_read(&self, 1, &program, 1, &session, DEADLINE_MS), 1);
	return session;
}

static void finds_where_that_lies_in_memory(void)
{
	struct session session = ask(0, 0, 0);

	CHECK_NUMBER(session.program, 0);
	CHECK(session.database.wait_pointer == (uintptr_t)&my_wait_event_info);
	CHECK(session.database.entry_pointer == (uintptr_t)&MyBEEntry);
	CHECK_NUMBER(session.database.waits_for, 0);
}

/* Whoever asks sleeps until the answer comes, and may have been woken in between: then there is none. */
static void reads_what_a_sleeping_session_says(void)
{
	pid_t self = getpid(), child = fork();
	struct exports exports = {};
	struct session session = {};
	struct program program;

	if (!child) {
		word = CLIENT_READ;
		entry.pid = getpid();
		entry.transaction = 1;
		for (;;)
			pause();
	}
	find(self, &exports);
	sessions_read(&child, 1, NULL, 0, &session, DEADLINE_MS);
	program = (struct program){ .device = session.device,
				    .inode = session.inode,
				    .first_code = exports.first_code,
				    .wait_pointer = exports.addresses[0],
				    .entry_pointer = exports.addresses[1] };
	for (int i = 0; i < 100 && !session.database.waits_for; i++) {
		usleep(10000);
		CHECK_NUMBER(sessions_read(&child, 1, &program, 1, &session, DEADLINE_MS), 1);
	}
	CHECK(session.database.waits_for == OBJECT(OBJECT_POSTGRES, CLIENT_READ | POSTGRES_IN_TRANSACTION));
	CHECK(session.database.switches && session.database.switches != UINT64_MAX);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void believes_no_pointer(void)
{
	struct entry *before = MyBEEntry;
	uint32_t *had = my_wait_event_info;

	MyBEEntry = (void *)-16;
	my_wait_event_info = (void *)-1;
	CHECK_NUMBER(ask(TUPLE, 0, 0).database.waits_for, 0);
	my_wait_event_info = had;
	MyBEEntry = before;
}

static void is_told_of_processes_that_are_gone(void)
{
	struct session sessions[2] = {};
	pid_t pids[2] = { fork(), getpid() };
	struct exports exports = {};

	if (!pids[0])
		_exit(0);
	waitpid(pids[0], NULL, 0);
	CHECK_NUMBER(sessions_read(pids, 2, NULL, 0, sessions, DEADLINE_MS), 2);
	CHECK(!sessions[0].inode && sessions[1].inode);
	CHECK_NUMBER(find(pids[0], &exports), -ENODATA);
}

/* Runs a copy of this program after `damage` has been done to its headers of sections, and asks what that exports. */
static int exports_of_damaged(void (*damage)(Elf64_Ehdr *header, Elf64_Shdr *sections))
{
	char path[] = "/tmp/perfdiag-sessions-XXXXXX";
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = mkostemp(path, O_CLOEXEC), err;
	struct exports exports = {};
	struct stat status;
	char *bytes;
	pid_t child;

	fstat(from, &status);
	bytes = malloc(status.st_size);
	CHECK(read(from, bytes, status.st_size) == status.st_size);
	damage((Elf64_Ehdr *)bytes, (Elf64_Shdr *)(bytes + ((Elf64_Ehdr *)bytes)->e_shoff));
	CHECK(write(to, bytes, status.st_size) == status.st_size && !fchmod(to, 0755));
	close(to);
	child = fork();
	if (!child) {
		execl(path, path, "sleep", NULL);
		_exit(1);
	}
	for (int i = 0; i < 200; i++) {
		char now[4096], name[64];
		ssize_t length;

		snprintf(name, sizeof(name), "/proc/%d/exe", child);
		length = readlink(name, now, sizeof(now) - 1);
		now[length < 0 ? 0 : length] = '\0';
		if (!strcmp(now, path))
			break;
		usleep(10000);
	}
	err = find(child, &exports);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	unlink(path);
	close(from);
	free(bytes);
	return err ?: exports.addresses[0] ? 1 : 0;
}

static void no_damage(Elf64_Ehdr *header, Elf64_Shdr *sections)
{
	(void)header, (void)sections;
}

static void sections_beyond_the_end(Elf64_Ehdr *header, Elf64_Shdr *sections)
{
	(void)sections;
	header->e_shoff = UINT64_MAX - 64;
}

static void sizes_without_end(Elf64_Ehdr *header, Elf64_Shdr *sections)
{
	for (int i = 1; i < header->e_shnum; i++)
		sections[i].sh_size = INT64_MAX;
}

static void names_elsewhere(Elf64_Ehdr *header, Elf64_Shdr *sections)
{
	for (int i = 1; i < header->e_shnum; i++)
		if (sections[i].sh_type == SHT_DYNSYM)
			sections[i].sh_link = 0xffff;
}

static void no_size_of_an_entry(Elf64_Ehdr *header, Elf64_Shdr *sections)
{
	for (int i = 1; i < header->e_shnum; i++)
		sections[i].sh_entsize = 0;
}

static void damaged_programs_cost_the_names_alone(void)
{
	CHECK_NUMBER(exports_of_damaged(no_damage), 1);
	CHECK(exports_of_damaged(sections_beyond_the_end) <= 0);
	CHECK(exports_of_damaged(sizes_without_end) <= 0);
	CHECK(exports_of_damaged(names_elsewhere) <= 0);
	exports_of_damaged(no_size_of_an_entry);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "sleep")) {
		pause();
		return 0;
	}
	RUN(finds_what_it_exports);
	RUN(finds_a_version_that_a_text_begins_with);
	RUN(finds_where_that_lies_in_memory);
	RUN(reads_what_a_sleeping_session_says);
	RUN(believes_no_pointer);
	RUN(is_told_of_processes_that_are_gone);
	RUN(damaged_programs_cost_the_names_alone);
	return check_result();
}
