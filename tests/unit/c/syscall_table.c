// SPDX-License-Identifier: GPL-2.0-only
/* Includes the source itself, because the lists of names are its own. */
#include "../../../lib/recorder/program/syscall_table.c"
#include <stdlib.h>
#include <sys/syscall.h>
#include "check.h"

static const char *const generic_names[SYSCALL_TABLE_SIZE] = {
#include "syscall_names_generic.inc" /* what arm64 and riscv have */
};

static bool is_name(const char *name)
{
	for (unsigned int nr = 0; nr < SYSCALL_TABLE_SIZE; nr++) {
		const char *names[] = { syscall_name(nr, false), syscall_name(nr, true), generic_names[nr] };

		for (size_t i = 0; i < LENGTH(names); i++)
			if (names[i] && !strcmp(names[i], name))
				return true;
	}
	return false;
}

/* A misspelt name would be classified as SYSCALL_OTHER without anybody noticing. */
static void lists_only_names_that_exist(void)
{
	for (size_t class = 0; class < LENGTH(names_of_class); class ++) {
		char *words = strdup(names_of_class[class] ? names_of_class[class] : ""), *rest = words, *word;

		while ((word = strsep(&rest, " "))) {
			if (!*word)
				continue;
			if (!is_name(word))
				printf("no system call: %s\n", word);
			CHECK(is_name(word));
			CHECK_NUMBER(class_of_name(word), class); /* not in two lists */
		}
		free(words);
	}
}

static void knows_native_calls(void)
{
	static const struct {
		unsigned int nr;
		const char *name;
		enum syscall_class class;
	} calls[] = {
		{ SYS_read, "read", SYSCALL_FD_READ },
		{ SYS_pwritev2, "pwritev2", SYSCALL_FD_WRITE },
		{ SYS_fdatasync, "fdatasync", SYSCALL_FSYNC },
		{ SYS_sync, "sync", SYSCALL_SYNC },
		{ SYS_msync, "msync", SYSCALL_MSYNC },
		{ SYS_epoll_pwait, "epoll_pwait", SYSCALL_EVENTS },
		{ SYS_futex, "futex", SYSCALL_FUTEX },
		{ SYS_clock_nanosleep, "clock_nanosleep", SYSCALL_SLEEP },
		{ SYS_clone, "clone", SYSCALL_CHILD },
		{ SYS_clone3, "clone3", SYSCALL_CHILD },
		{ SYS_accept, "accept", SYSCALL_ACCEPT },
		{ SYS_accept4, "accept4", SYSCALL_ACCEPT },
		{ SYS_connect, "connect", SYSCALL_CONNECT },
		{ SYS_recvfrom, "recvfrom", SYSCALL_RECEIVE },
		{ SYS_sendmsg, "sendmsg", SYSCALL_SEND },
		{ SYS_splice, "splice", SYSCALL_SPLICE },
		{ SYS_tee, "tee", SYSCALL_TEE },
		{ SYS_vmsplice, "vmsplice", SYSCALL_FD_WRITE },
		{ SYS_flock, "flock", SYSCALL_LOCK },
		{ SYS_io_uring_enter, "io_uring_enter", SYSCALL_URING },
		{ SYS_io_getevents, "io_getevents", SYSCALL_AIO },
		{ SYS_getdents64, "getdents64", SYSCALL_DIRECTORY },
		{ SYS_openat, "openat", SYSCALL_PATH },
		{ SYS_ftruncate, "ftruncate", SYSCALL_FD_FILE },
		{ SYS_madvise, "madvise", SYSCALL_MEMORY },
		{ SYS_execve, "execve", SYSCALL_EXEC },
		{ SYS_exit_group, "exit_group", SYSCALL_EXIT },
		{ SYS_restart_syscall, "restart_syscall", SYSCALL_RESTART },
		{ SYS_getpid, "getpid", SYSCALL_OTHER },
		{ SYS_futex_waitv, "futex_waitv", SYSCALL_FUTEX },
		{ 455, "futex_wait", SYSCALL_FUTEX },
		{ 469, "file_setattr", SYSCALL_OTHER },
	};

	for (size_t i = 0; i < LENGTH(calls); i++) {
		CHECK_TEXT(syscall_name(calls[i].nr, false), calls[i].name);
		CHECK_NUMBER(syscall_class_native(calls[i].nr), calls[i].class);
	}
}

static void knows_32_bit_calls(void)
{
#ifdef __x86_64__
	CHECK_TEXT(syscall_name(3, true), "read");
	CHECK_NUMBER(syscall_class_i386(3), SYSCALL_FD_READ);
	CHECK_NUMBER(syscall_class_i386(7), SYSCALL_CHILD);    /* waitpid */
	CHECK_NUMBER(syscall_class_i386(142), SYSCALL_SELECT); /* _newselect */
	CHECK_NUMBER(syscall_class_i386(240), SYSCALL_FUTEX);
	CHECK_NUMBER(syscall_class_i386(422), SYSCALL_FUTEX); /* futex_time64 */
	CHECK_NUMBER(syscall_class_i386(407), SYSCALL_SLEEP); /* clock_nanosleep_time64 */
	CHECK_NUMBER(syscall_class_i386(102), SYSCALL_OTHER); /* socketcall: the number does not tell which */
#else
	CHECK_TEXT(syscall_name(3, true), NULL);
	CHECK_NUMBER(syscall_class_i386(3), SYSCALL_NONE);
#endif
}

static void admits_ignorance(void)
{
	static const unsigned int unknown[] = { 511, 512, 1U << 30, -1U };

	for (size_t i = 0; i < LENGTH(unknown); i++) {
		CHECK_TEXT(syscall_name(unknown[i], false), NULL);
		CHECK_TEXT(syscall_name(unknown[i], true), NULL);
		CHECK_NUMBER(syscall_class_native(unknown[i]), SYSCALL_NONE);
		CHECK_NUMBER(syscall_class_i386(unknown[i]), SYSCALL_NONE);
	}
}

static void fits_the_generic_table(void)
{
	CHECK_TEXT(generic_names[63], "read");
	CHECK_TEXT(generic_names[64], "write");
	CHECK_TEXT(generic_names[98], "futex");
	CHECK_TEXT(generic_names[25], "fcntl");
	CHECK_TEXT(generic_names[79], "newfstatat");
	CHECK_TEXT(generic_names[435], "clone3");
}

int main(void)
{
	RUN(lists_only_names_that_exist);
	RUN(knows_native_calls);
	RUN(knows_32_bit_calls);
	RUN(admits_ignorance);
	RUN(fits_the_generic_table);
	return check_result();
}
