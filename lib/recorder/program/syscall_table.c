// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <string.h>
#include "program/syscall_table.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const char *const native_names[SYSCALL_TABLE_SIZE] = {
#include "syscall_names.inc" /* made by syscall_names.sh asm/unistd.h */
};

static const char *const i386_names[SYSCALL_TABLE_SIZE] = {
#ifdef __x86_64__
#include "syscall_names_i386.inc" /* made by syscall_names.sh asm/unistd_32.h */
#endif
};

/* Calls newer than the oldest headers this is built with; since 403 all architectures number alike. */
#define FIRST_NEW 451
static const char *const new_names[] = {
	"cachestat",	    "fchmodat2",      "map_shadow_stack", "futex_wake",	       "futex_wait",
	"futex_requeue",    "statmount",      "listmount",	  "lsm_get_self_attr", "lsm_set_self_attr",
	"lsm_list_modules", "mseal",	      "setxattrat",	  "getxattrat",	       "listxattrat",
	"removexattrat",    "open_tree_attr", "file_getattr",	  "file_setattr",
};

/* Names of all architectures together: one that does not exist here costs nothing. */
static const char *const names_of_class[] = {
	[SYSCALL_FD_READ] = "read pread64 readv preadv preadv2 readahead lseek _llseek "
			    "fstatfs fstatfs64 fchdir fgetxattr flistxattr cachestat",
	[SYSCALL_FD_WRITE] = "write pwrite64 writev pwritev pwritev2 vmsplice",
	[SYSCALL_FSYNC] = "fsync fdatasync sync_file_range syncfs",
	[SYSCALL_SYNC] = "sync",
	[SYSCALL_MSYNC] = "msync",
	[SYSCALL_POLL] = "poll ppoll ppoll_time64",
	[SYSCALL_SELECT] = "select _newselect pselect6 pselect6_time64",
	[SYSCALL_EVENTS] = "epoll_wait epoll_pwait epoll_pwait2",
	[SYSCALL_FUTEX] = "futex futex_time64 futex_wait futex_waitv",
	[SYSCALL_QUEUE] = "semop semtimedop semtimedop_time64 msgrcv mq_timedreceive mq_timedreceive_time64",
	[SYSCALL_SLEEP] = "nanosleep clock_nanosleep clock_nanosleep_time64",
	[SYSCALL_CHILD] = "wait4 waitid waitpid fork vfork clone clone3",
	[SYSCALL_SIGNAL] = "pause sigsuspend rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64",
	[SYSCALL_CONNECT] = "connect",
	[SYSCALL_ACCEPT] = "accept accept4",
	[SYSCALL_RECEIVE] = "recvfrom recvmsg recvmmsg recvmmsg_time64",
	[SYSCALL_SEND] = "sendto sendmsg sendmmsg",
	[SYSCALL_SENDFILE] = "sendfile sendfile64",
	[SYSCALL_SPLICE] = "splice copy_file_range",
	[SYSCALL_TEE] = "tee",
	[SYSCALL_LOCK] = "flock fcntl fcntl64",
	[SYSCALL_URING] = "io_uring_enter",
	[SYSCALL_AIO] = "io_getevents io_pgetevents io_pgetevents_time64 io_submit",
	[SYSCALL_DIRECTORY] = "getdents getdents64 readdir",
	[SYSCALL_PATH] = "open openat openat2 creat open_by_handle_at name_to_handle_at "
			 "stat stat64 oldstat lstat lstat64 oldlstat statx fstatat64 newfstatat statfs statfs64 "
			 "access faccessat faccessat2 readlink readlinkat chdir chroot "
			 "rename renameat renameat2 unlink unlinkat link linkat symlink symlinkat "
			 "mkdir mkdirat rmdir mknod mknodat truncate truncate64 "
			 "chmod fchmodat fchmodat2 chown chown32 lchown lchown32 fchownat "
			 "utime utimes futimesat utimensat utimensat_time64 "
			 "getxattr lgetxattr setxattr lsetxattr listxattr llistxattr removexattr lremovexattr "
			 "getxattrat setxattrat listxattrat removexattrat",
	[SYSCALL_FD_FILE] = "close ftruncate ftruncate64 fallocate fadvise64 fadvise64_64 "
			    "fstat fstat64 oldfstat fchmod fchown fchown32 fsetxattr fremovexattr",
	[SYSCALL_MEMORY] = "mmap mmap2 munmap mprotect pkey_mprotect mremap madvise process_madvise "
			   "brk mlock mlock2 mlockall munlock munlockall mbind move_pages migrate_pages "
			   "remap_file_pages mseal",
	[SYSCALL_EXEC] = "execve execveat",
	[SYSCALL_EXIT] = "exit exit_group",
	[SYSCALL_RESTART] = "restart_syscall",
};

/* Which argument says what a call was for, of those that may fail for another reason than a mistake. */
static const struct {
	uint8_t argument;
	const char *names;
} names_of_argument[] = {
	{ ARGUMENT_PATH, "open creat stat lstat access readlink unlink mkdir rmdir mknod truncate chmod chown lchown "
			 "rename execve statfs chdir chroot utime utimes swapon" },
	{ ARGUMENT_PATH | 1, "openat openat2 newfstatat statx faccessat faccessat2 readlinkat unlinkat mkdirat mknodat "
			     "fchmodat fchownat renameat renameat2 execveat utimensat link symlink mount "
			     "inotify_add_watch" },
	{ ARGUMENT_PATH | 2, "symlinkat" },
	{ ARGUMENT_PATH | 3, "linkat" },
	{ ARGUMENT_ADDRESS | 1, "bind connect" },
	{ ARGUMENT_ADDRESS | 4, "sendto" },
	{ ARGUMENT_DESCRIPTOR, "flock fcntl fsync fdatasync write pwrite64 writev pwritev ftruncate fallocate" },
};

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += length)
		if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	return false;
}

static enum syscall_class class_of_name(const char *name)
{
	for (size_t class = 0; class < LENGTH(names_of_class); class ++)
		if (names_of_class[class] && has_word(names_of_class[class], name))
			return class;
	return SYSCALL_OTHER;
}

static bool has_i386(void)
{
#ifdef __x86_64__
	return true;
#else
	return false;
#endif
}

const char *syscall_name(unsigned int nr, bool i386)
{
	const char *name = NULL;

	if (nr >= SYSCALL_TABLE_SIZE || (i386 && !has_i386()))
		return NULL;
	name = i386 ? i386_names[nr] : native_names[nr];
	if (!name && nr >= FIRST_NEW && nr < FIRST_NEW + LENGTH(new_names))
		name = new_names[nr - FIRST_NEW];
	return name;
}

unsigned int syscall_number(const char *name, bool i386)
{
	unsigned int number = 0;
	const char *known;

	while (number < SYSCALL_TABLE_SIZE && !((known = syscall_name(number, i386)) && !strcmp(known, name)))
		number++;
	return number;
}

static uint8_t class_of(const char *name)
{
	return name ? class_of_name(name) : SYSCALL_NONE;
}

uint8_t syscall_argument(unsigned int nr)
{
	const char *name = syscall_name(nr, false);

	for (size_t i = 0; name && i < LENGTH(names_of_argument); i++)
		if (has_word(names_of_argument[i].names, name))
			return names_of_argument[i].argument;
	return ARGUMENT_NONE;
}

uint8_t syscall_class_native(unsigned int nr)
{
	return class_of(syscall_name(nr, false));
}

uint8_t syscall_class_i386(unsigned int nr)
{
	return class_of(syscall_name(nr, true));
}
