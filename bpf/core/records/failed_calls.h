/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h about what fails, and the sleep that follows; included there. */
#pragma once

#define ARGUMENT_BYTES 112 /* of a path, or a socket's address */

/* What failed: a call, or an answer; of a child, that ended so: why is known where it failed in one last. */
struct failure {
	__u64 call;  /* as an object of kind OBJECT_SYSCALL; or what was asked, of kind OBJECT_REQUEST; 0: not known */
	__u32 error; /* or the status of the answer */
	__u32 ended; /* as of wait(2): a child ended so; 0: it was the thread itself that failed */
	char command[COMM_BYTES]; /* of the child */
};

/* What a thread has done since something failed, the last of these. */
enum after_failure {
	AFTER_NOTHING,
	AFTER_MESSAGE, /* it has written to standard error */
	AFTER_MORE,    /* something else that it has called by name has succeeded, or it has started a process */
};

/* What a thread tried last in vain since it slept: a later failure does not count if it matters less. */
struct failed_call {
	__u64 at; /* 0: none */
	struct failure what;
	__u64 object; /* the file of its descriptor, or the peer; 0: none */
	__u8 kind;    /* enum argument_kind */
	__u8 minor;
	__u8 ended_by;	  /* the last signal that another process of the target has sent to end this one; 0: none */
	__u8 after;	  /* enum after_failure */
	__u32 slept_read; /* how many requests the thread had read before its last sleep */
	char argument[ARGUMENT_BYTES]; /* a path that fills it may have been cut: its NUL is the last byte then */
	struct failure slept_for;      /* what failed before its last sleep */
	__u64 slept_ns;		       /* that sleep, if it is not booked: only who fails again tries again */
	__u64 answered;		       /* the peer that has answered since, without an error; SEVERAL_PEERS, 0: none */
};

#define SEVERAL_PEERS (~0ULL)

/* Sleeps that followed: by the name of who sleeps, as a pool whose threads all fail is told in one line. */
struct failed_call_key {
	char comm[COMM_BYTES];
	struct failure what;
};

struct failed_call_sum {
	__u64 sleeps, ns, max_ns;
	__u64 tgid;		    /* who tried */
	struct failed_call longest; /* the one before the longest of these sleeps */
};
