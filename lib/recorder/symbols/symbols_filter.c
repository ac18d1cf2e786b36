// SPDX-License-Identifier: GPL-2.0-only
/*
 * The system calls left to the child that names addresses while it reads untrusted files: it may get memory, read what
 * is open, write its results and end.  Any other call kills it; the recording then counts the names that are missing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
#include "symbols/symbol_lookup.h"
#include "symbols/symbols_child.h"

static const int
	harmless[] = {
		SCMP_SYS(brk),	 SCMP_SYS(munmap),     SCMP_SYS(mremap),  SCMP_SYS(madvise),
		SCMP_SYS(read),	 SCMP_SYS(lseek),      SCMP_SYS(pread64), SCMP_SYS(fstat),
		SCMP_SYS(close), SCMP_SYS(exit_group), SCMP_SYS(sysinfo), /* qsort() asks how much memory there is */
	};

static int allow_all(scmp_filter_ctx filter, int results_fd)
{
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(harmless) / sizeof(*harmless); i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, harmless[i], 0);
	/* libelf asks whether a descriptor is open, stdio what for. */
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_A1(SCMP_CMP_EQ, F_GETFD));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_A1(SCMP_CMP_EQ, F_GETFL));
	if (!err) /* as fstat() is called nowadays */
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
				       SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1, SCMP_A0(SCMP_CMP_EQ, results_fd));
	/* Which separate file a program has, only the program tells; a host without any is asked for none. */
	if (!err)
		err = seccomp_rule_add(filter,
				       access(BUILD_ID_DIRECTORY, F_OK) ? SCMP_ACT_ERRNO(ENOENT) : SCMP_ACT_ALLOW,
				       SCMP_SYS(openat), 1, SCMP_A2(SCMP_CMP_EQ, SEPARATE_FILE_FLAGS));
	return err;
}

int symbols_filter(int results_fd)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int err;

	if (!filter)
		return -ENOMEM;
	err = allow_all(filter, results_fd);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}
