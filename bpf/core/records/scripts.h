/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h about interpreters: which function of a script a thread is in; included there. */
#pragma once

#define SCRIPT_FRAMES 16
#define SCRIPT_WALK 64 /* frames that are looked at for them */
#define SCRIPT_STEPS 4
#define SCRIPT_OWNER_STEPS 3
#define SCRIPT_NONE 0xffffffff /* no such offset */

/*
 * How the innermost function of a script is found in the memory of an interpreter, and who called that.  `root` leads to
 * the list of the interpreter's threads, which know a thread by its `thread_id`; without a list, straight to the frame,
 * by the steps.  All but `root` are offsets in bytes.
 */
struct interpreter {
	__u64 root;				    /* address of a variable that the interpreter exports */
	__u32 first_thread, next_thread, thread_id; /* first_thread SCRIPT_NONE: no list */
	__u32 steps[SCRIPT_STEPS]; /* from the thread, or from root, to the frame; SCRIPT_NONE: no more */
	__s32 code;		   /* in a frame: what describes the function, or points to that */
	__u32 previous;		   /* likewise: who called it; SCRIPT_NONE: callers are not linked so */
	/* Where the frames are an array, callers behind: what the last step starts from tells its end, and whose it is. */
	__u32 frame_bytes; /* 0: they are none */
	__u32 array, array_words;
	__u32 owner[SCRIPT_OWNER_STEPS]; /* to what a thread is known by */
	/* Where the frames are those of the machine's stack, from its frame pointer on: in most of them is no function. */
	__u32 native;
	__u32 description; /* in a function: what describes it */
	__u32 class, kind,
		description_kind; /* in an object, its class; in that its kind, and which kind describes functions */
	__u32 stamp; /* in what describes a function: a word that differs where another one takes its place */
};

/*
 * What describes a function is freed with it, and another one's can lie there next: 16 bits of its stamp stand above the
 * 48 of its address.  An interpreter may keep marks in the lowest bits of a pointer (CPython 3.14).
 */
#define SCRIPT_ADDRESS(code) ((code)&0xfffffffffff8)
#define SCRIPT_MARKS(word) ((word)&7)
#define SCRIPT_OBJECT 1 /* of V8: a pointer, and to one that can be changed */
#define SCRIPT_CODE(address, stamp) (SCRIPT_ADDRESS(address) | ((__u64)(stamp) >> 4 ^ (__u64)(stamp) >> 20) << 48)

/* Codes of the functions, innermost first; 0: no more. */
struct script_frames {
	__u64 code[SCRIPT_FRAMES];
};
