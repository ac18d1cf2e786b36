/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h about system calls that fail, and what follows; included there. */
#pragma once

#define ARGUMENT_BYTES 112 /* of a path, or a socket's address */

/* The call of a thread that failed last since it slept: a later one does not count if it matters less. */
struct failed_call {
	__u64 at;     /* 0: none */
	__u64 call;   /* as an object of kind OBJECT_SYSCALL */
	__u64 object; /* the file of its descriptor, 0: none */
	__u32 error;
	__u8 kind; /* enum argument_kind */
	__u8 minor;
	__u8 padding[2];
	char argument[ARGUMENT_BYTES]; /* a path that fills it may have been cut: its NUL is the last byte then */
	__u64 slept_for;	       /* the call before its last sleep, as an object; 0: none */
	__u64 slept_ns;		       /* that sleep, if it is not booked: only who fails again tries again */
	__u32 slept_error;
	__u32 padding_behind;
};

/* Sleeps that followed such a call: by thread name, as a pool whose threads all fail is told in one line. */
struct failed_call_key {
	char comm[COMM_BYTES];
	__u64 call;
	__u64 error;
};

struct failed_call_sum {
	__u64 sleeps, ns, max_ns;
	__u64 tgid;
	struct failed_call longest; /* the one before the longest of these sleeps */
};
