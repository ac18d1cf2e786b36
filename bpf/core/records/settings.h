/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h that user space tells the programs; included there. */
#pragma once

#define LIMITS 32  /* names with a limit of their own; each can be a call of two tables */
#define ASKED 1024 /* threads that user space is asked to meet, by the last bits of their tid */

/* A kernel function that, found innermost on a blocked thread's stack, says what it waits for. */
struct marker {
	__u64 start, end;
	__u32 account;
	__u32 limit; /* of ACCOUNT_MEMORY_CGROUP: enum memory_limit */
};

/* Which threads of a process that was asked for are followed. */
enum target_mode {
	TARGET_ALL = 1,	    /* all that it has, and makes */
	TARGET_ON_EXEC = 2, /* from its exec on */
};

#define GROUP_NAME_BYTES 128

/* A control group whose processes are followed, and those of all below it.  Ids are unique in a hierarchy only. */
struct group {
	__u64 id;	 /* 0: none */
	__u64 parent_id; /* a group that is made anew there under the same name (a unit's restart) is it, too */
	__u32 hierarchy; /* as /proc/PID/cgroup numbers them */
	__u32 padding;
	char name[GROUP_NAME_BYTES]; /* filled up with zeroes */
};

#define RESTARTED_CALLS 3

/* A call that a signal has interrupted goes on in restart_syscall: the function it goes on with, and the call's number. */
struct restarted_call {
	__u64 function; /* address, 0: unknown */
	__u32 number, i386_number;
};

/*
 * What user space tells the programs.  Not read-only data: the recorder loads them on standby, before it knows what
 * is asked for, and looks up addresses meanwhile.  It is written before the first program is attached, but for what is
 * marked "later", which changes after that, and "out", which the programs write.
 */
struct knobs {
	__u64 slo_ns;	       /* limit of what has none of its own (limits); 0: none */
	__u64 stack_period_ns; /* later: a wait's stack is kept once per this much time in its detail */
	__u64 tick_ns;	       /* what a sample of a running thread stands for */
	__u64 seed;	       /* of hashes of what clients send */
	__u64 tick_function;   /* address of the scheduler tick's hrtimer function, 0: no CPU samples */
	struct restarted_call restarted[RESTARTED_CALLS];
	__u32 has_steal_clock, has_throttled_clock; /* out, after the sweep: what this kernel keeps */
	__u32 descendants;
	__u32 all_stacks;
	__u32 swept;		/* later: the pids of the targets may be others' by now */
	__u32 host;		/* all tasks are followed (target/host_mode.bpf.h) */
	__u32 left_out[2];	/* processes that are perfdiag itself, and their children; 0: none */
	__u32 tick_stride;	/* later: of so many ticks of a CPU one takes a stack */
	__u32 meeting;		/* later: one that has woken up is asked for, whatever it does by now */
	__u32 meets_later;	/* out: this kernel cannot give a record to a task that wakes */
	__u32 sees_guests;	/* later: vm/vm_exit.bpf.c is attached, a virtual CPU's time in its guest is exact */
	__u32 sees_requests;	/* later: connection.bpf.c is attached, both ways of a connection are seen */
	__u32 closing;		/* later: the window is over, what threads have is read for the last time */
	__u32 window_open;	/* later: requests are followed from the begin of the window to its end, no longer */
	__u32 own_limits;	/* some names have one */
	__u32 statement_limits; /* so have some SQL statements */
	__u32 databases;	/* later: servers of databases were recognised in the target */
	__u32 interpreters;	/* later: some were found in the target */
	__u32 operations;	/* calls that block are followed as operations */
	__u32 no_names;		/* of requests are kept */
	__u32 sees_sql;		/* what the target asks SQL servers for is told */
	__u32 sees_failures;	/* later: wait/failed_call.bpf.c is attached, sleeps behind what fails are told */
	__u32 connection_mask;	/* later: see request/connection_sample.bpf.h; 0: all are followed */
	__u32 follows_peers;	/* later: who ends waits of the target from outside is looked at, too */
	struct group group;	/* its id also out: that of a group made anew */
	__u64 marker_count;
	struct marker markers[MARKERS]; /* sorted by address */
};
