/* SPDX-License-Identifier: GPL-2.0-only */
/* What kind of wait a system call can be, and what it is for; the tables are in lib/recorder/program/syscall_table.c. */
#pragma once

enum syscall_class {
	SYSCALL_NONE,	  /* no such call */
	SYSCALL_FD_READ,  /* read and friends: fd first */
	SYSCALL_FD_WRITE, /* write and friends: fd first */
	SYSCALL_FSYNC,	  /* fsync, fdatasync, sync_file_range, syncfs: fd first */
	SYSCALL_SYNC,	  /* no fd */
	SYSCALL_MSYNC,	  /* address first */
	SYSCALL_EVENTS,	  /* epoll_wait */
	SYSCALL_SELECT,	  /* select: number of descriptors first */
	SYSCALL_POLL,	  /* poll, ppoll: array of descriptors first, its length second */
	SYSCALL_FUTEX,	  /* address first */
	SYSCALL_QUEUE,	  /* semaphores of System V, message queues */
	SYSCALL_SLEEP,
	SYSCALL_CHILD,
	SYSCALL_SIGNAL,
	SYSCALL_CONNECT, /* fd first, here and to SYSCALL_SEND */
	SYSCALL_ACCEPT,
	SYSCALL_RECEIVE,
	SYSCALL_SEND,
	SYSCALL_SENDFILE, /* to the first fd, from the second */
	SYSCALL_SPLICE,	  /* splice, copy_file_range: from the first fd, to the third argument */
	SYSCALL_TEE,	  /* from the first fd, to the second */
	SYSCALL_LOCK,	  /* flock, fcntl: fd first */
	SYSCALL_URING,	  /* io_uring_enter: fd first */
	SYSCALL_AIO,
	SYSCALL_DIRECTORY, /* getdents: fd first */
	SYSCALL_PATH,	   /* open, stat, rename, unlink: by name */
	SYSCALL_FD_FILE,   /* fallocate, ftruncate, fstat, close: fd first */
	SYSCALL_MEMORY,	   /* mmap, munmap, madvise, brk */
	SYSCALL_EXEC,
	SYSCALL_EXIT,
	SYSCALL_OTHER,	 /* exists, and is told by its name */
	SYSCALL_RESTART, /* restart_syscall: the call before goes on */
};

/* What of a call says what it was for: the kind, and which argument. */
enum argument_kind { ARGUMENT_NONE, ARGUMENT_PATH = 0x10, ARGUMENT_ADDRESS = 0x20, ARGUMENT_DESCRIPTOR = 0x30 };
#define ARGUMENT_KIND(argument) ((argument)&0xf0)
#define ARGUMENT_PLACE(argument) ((argument)&0x0f)
