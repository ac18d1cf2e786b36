// SPDX-License-Identifier: GPL-2.0-only
/* The filter for who reads hostile files: what it lets through, and that anything else is the end of the process. */
/* SOURCES: symbols/symbols_filter.c */
/* LIBS: -lseccomp */
/* WRAPS: access */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "symbols/symbol_lookup.h"
#include "symbols/symbols_child.h"
#include "check.h"

#define FILTER_FAILED 3

static int pipe_ends[2], file;
static bool has_separate_files;

int __wrap_access(const char *path, int mode);

int __wrap_access(const char *path, int mode)
{
	(void)path, (void)mode;
	return has_separate_files ? 0 : -1;
}

/* How a filtered child ends that does this: 0, its exit status, or minus the signal. */
static int end_of(void (*act)(void))
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (symbols_filter(pipe_ends[1]))
			_exit(FILTER_FAILED);
		act();
		syscall(SYS_exit_group, 0); /* the sanitizers would ask for more */
	}
	if (waitpid(child, &status, 0) != child)
		return -1000;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* By number: the C library may ask for another call, or for none at all. */
static void makes_a_socket(void)
{
	syscall(SYS_socket, 1, 1, 0);
}

static void runs_a_program(void)
{
	execl("/bin/true", "true", NULL);
}

static void becomes_two(void)
{
	syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void opens_to_write(void)
{
	syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC);
}

static void opens_otherwise(void)
{
	syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
}

static void writes_elsewhere(void)
{
	syscall(SYS_write, file, "x", 1);
}

static void makes_code(void)
{
	syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void turns_data_into_code(void)
{
	static char page[8192];

	syscall(SYS_mprotect, (uintptr_t)page & ~4095UL, 4096, PROT_READ | PROT_EXEC);
}

static void sends_a_signal(void)
{
	syscall(SYS_kill, getppid(), 0);
}

static void looks_at_others(void)
{
	syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
}

/* Who else has a descriptor's file open would notice, or get a signal. */
static void changes_a_descriptor(void)
{
	syscall(SYS_fcntl, pipe_ends[1], F_SETFL, O_ASYNC);
}

static void directs_a_signal(void)
{
	syscall(SYS_fcntl, pipe_ends[1], F_SETOWN, getppid());
}

static void anything_else_is_the_end(void)
{
	CHECK_NUMBER(end_of(makes_a_socket), -SIGSYS);
	CHECK_NUMBER(end_of(runs_a_program), -SIGSYS);
	CHECK_NUMBER(end_of(becomes_two), -SIGSYS);
	CHECK_NUMBER(end_of(opens_to_write), -SIGSYS);
	CHECK_NUMBER(end_of(opens_otherwise), -SIGSYS);
	CHECK_NUMBER(end_of(writes_elsewhere), -SIGSYS);
	CHECK_NUMBER(end_of(changes_a_descriptor), -SIGSYS);
	CHECK_NUMBER(end_of(directs_a_signal), -SIGSYS);
	CHECK_NUMBER(end_of(makes_code), -SIGSYS);
	CHECK_NUMBER(end_of(turns_data_into_code), -SIGSYS);
	CHECK_NUMBER(end_of(sends_a_signal), -SIGSYS);
	CHECK_NUMBER(end_of(looks_at_others), -SIGSYS);
}

static void reads_and_reports(void)
{
	char *large = malloc(1 << 24), byte;

	if (!large || fcntl(file, F_GETFD) < 0 || fcntl(file, F_GETFL) < 0 || read(file, &byte, 1) != 1 ||
	    write(pipe_ends[1], &byte, 1) != 1)
		_exit(1);
	free(large);
}

static void what_it_needs_is_left(void)
{
#ifdef __SANITIZE_ADDRESS__ /* whose allocator needs calls of its own */
	return;
#endif
	CHECK_NUMBER(end_of(reads_and_reports), 0);
}

static void opens_a_separate_file(void)
{
	long fd = syscall(SYS_openat, AT_FDCWD, "/etc/passwd", SEPARATE_FILE_FLAGS);

	syscall(SYS_exit_group, fd >= 0 ? 0 : errno);
}

static void opens_files_only_where_there_may_be_any(void)
{
	CHECK_NUMBER(end_of(opens_a_separate_file), ENOENT);
	has_separate_files = true;
	CHECK_NUMBER(end_of(opens_a_separate_file), 0);
	CHECK_NUMBER(end_of(opens_to_write), -SIGSYS);
	CHECK_NUMBER(end_of(opens_otherwise), -SIGSYS);
	has_separate_files = false;
}

int main(void)
{
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (pipe(pipe_ends) || file < 0)
		return 1;
	RUN(anything_else_is_the_end);
	RUN(what_it_needs_is_left);
	RUN(opens_files_only_where_there_may_be_any);
	return check_result();
}
