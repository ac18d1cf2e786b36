/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h that goes through the ring; included there.  Every event begins with struct event. */
#pragma once

enum event_kind {
	EVENT_STACK,
	EVENT_EXIT,
	EVENT_EXEC,
	EVENT_REFUSED,
	EVENT_AWAKE,
	EVENT_JOIN,
	EVENT_KILL,
	EVENT_MEET,
	EVENT_PEER,
	EVENT_MANY_CALLS /* of the host: sys_exit costs too much */
};

struct event {
	__u32 kind;
	__u32 tgid, tid;
	__u32 padding;
	__u64 at;
};

struct stack_event {
	struct event event;
	__u64 object;
	__u64 weight_ns;
	__u8 on_cpu;	   /* 1: a CPU sample, 0: the beginning of a wait */
	__u8 in_call;	   /* of a CPU sample: inside a system call, so that what it interrupted is the kernel's code */
	__u8 in_long_turn; /* of a thread that serves requests: see is_in_long_turn() */
	__u8 of_peer;	   /* not of the target: wait/peer_record.bpf.h */
	__u32 account;
	__s32 kernel_bytes, user_bytes, scan_bytes; /* negative: -errno */
	__u32 stack_offset; /* where in its page the user stack ends: of one path as a rule the same */
	__u64 kernel[STACK_FRAMES];
	__u64 user[STACK_FRAMES];
	struct script_frames script;
	__u64 scan[SCAN_WORDS]; /* the top of the user stack, where frame pointers may be missing */
};

#define CORE_DUMPED 0x80
#define SIGNAL_OF(exit_code) ((exit_code)&0x7f) /* that ended it; 0: none did */

struct exit_event {
	struct event event;
	__u32 process_ended; /* no thread of its process lives on */
	__u32 exit_code;     /* as of wait(2): the signal that ended it, and CORE_DUMPED */
	struct record record;
};

struct exec_event {
	struct event event;
	__u32 old_tid;
	char comm[COMM_BYTES];
	__u32 padding;
};

/* A system call that failed for want of a descriptor; at most one a second and thread. */
struct refused_event {
	struct event event;
	__u64 error; /* EMFILE or ENFILE */
};

/* A process came into the control group that is followed. */
struct join_event {
	struct event event;
	char comm[COMM_BYTES];
};

/* The OOM killer has chosen a victim; an empty name is not known. */
struct kill_event {
	struct event event;
	__u32 asker; /* process that asked for the memory */
	__u32 padding;
	char comm[COMM_BYTES];
	char asker_comm[COMM_BYTES];
};
