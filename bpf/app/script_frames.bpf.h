/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which function of a script the current thread is in: the interpreter keeps its frames in memory of its own, where no
 * walk of the stack finds them.  It is the target's memory: whatever stands in it is an address to read at, which fails
 * where there is nothing, and never how often.
 */
#pragma once
#include "core/maps.bpf.h"

#define SCRIPT_THREADS 256 /* of an interpreter, the newest first */

/* By tgid. */
LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct interpreter);
} interpreters SEC(".maps");

static __always_inline __u64 word_of_user(__u64 address)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

/* As what interpreters know the current thread: pthread_self(), or where libraries disagree on that, gettid(). */
static __always_inline __u64 thread_identity(const struct record *record)
{
#if defined(__TARGET_ARCH_x86)
	return LOAD(task_struct, bpf_get_current_task_btf(), thread.fsbase);
#else
	return record->namespace_tid;
#endif
}

struct script_search {
	__u64 thread, wanted;
	__u32 next, id;
	__u64 found;
};

static long look_at_thread(__u64 number, void *context)
{
	struct script_search *search = context;

	if (!search->thread)
		return 1;
	search->found = word_of_user(search->thread + search->id) == search->wanted;
	if (search->found)
		return 1;
	search->thread = word_of_user(search->thread + search->next);
	return 0;
}

/* Where an interpreter keeps what it knows of the current thread; 0: it knows no such thread. */
static __always_inline __u64 thread_of_script(const struct record *record, const struct interpreter *interpreter)
{
	struct script_search search = { .next = interpreter->next_thread,
					.id = interpreter->thread_id,
					.wanted = thread_identity(record),
					.thread = word_of_user(interpreter->root) };

	if (search.thread)
		search.thread = word_of_user(search.thread + interpreter->first_thread);
	bpf_loop(SCRIPT_THREADS, look_at_thread, &search, 0);
	return search.found ? search.thread : 0;
}

struct script_place {
	__u64 frame, end; /* end 0: frames are linked */
};

/* Whether what leads to the frames is of the current thread: where they are another's, this one is in no script. */
static __always_inline bool owns_frames(const struct record *record, const struct interpreter *interpreter, __u64 at)
{
	for (int i = 0; i < SCRIPT_OWNER_STEPS && at && interpreter->owner[i] != SCRIPT_NONE; i++)
		at = word_of_user(at + interpreter->owner[i]);
	return at == thread_identity(record);
}

static __always_inline struct script_place find_frames(const struct record *record,
						       const struct interpreter *interpreter)
{
	struct script_place place = { .frame = interpreter->root };
	__u64 before = 0;

	/* Where nothing tells whose frames these are, they are the first thread's. */
	if (interpreter->first_thread == SCRIPT_NONE && !interpreter->frame_bytes && record->tid != record->tgid)
		return (struct script_place){};
	if (interpreter->first_thread != SCRIPT_NONE)
		place.frame = thread_of_script(record, interpreter);
	for (int i = 0; i < SCRIPT_STEPS && place.frame && interpreter->steps[i] != SCRIPT_NONE; i++) {
		before = place.frame;
		place.frame = word_of_user(before + interpreter->steps[i]);
	}
	if (!place.frame || !interpreter->frame_bytes)
		return place;
	if (!owns_frames(record, interpreter, before))
		return (struct script_place){};
	place.end = word_of_user(before + interpreter->array) +
		    word_of_user(before + interpreter->array_words) * sizeof(__u64);
	return place;
}

/* The frame that called another one; 0: none did. */
static __always_inline __u64 caller_of(const struct interpreter *interpreter, struct script_place place)
{
	if (interpreter->frame_bytes)
		return place.frame + interpreter->frame_bytes < place.end ? place.frame + interpreter->frame_bytes : 0;
	return interpreter->previous == SCRIPT_NONE ? 0 : word_of_user(place.frame + interpreter->previous);
}

static __always_inline __u64 code_of(const struct interpreter *interpreter, __u64 frame)
{
	__u64 address = SCRIPT_ADDRESS(word_of_user(frame + interpreter->code));

	return address ? SCRIPT_CODE(address, word_of_user(address + interpreter->stamp)) : 0;
}

/* Of the current thread. */
__weak __noinline int read_script_frames(struct record *record, struct script_frames *frames)
{
	struct interpreter *interpreter;
	struct script_place place;
	__u32 tgid;

	if (!record || !frames)
		return 0;
	__builtin_memset(frames, 0, sizeof(*frames));
	tgid = record->tgid;
	interpreter = knobs.interpreters ? bpf_map_lookup_elem(&interpreters, &tgid) : NULL;
	if (!interpreter)
		return 0;
	place = find_frames(record, interpreter);
	for (int i = 0; i < SCRIPT_FRAMES && place.frame; i++) {
		frames->code[i] = code_of(interpreter, place.frame);
		place.frame = caller_of(interpreter, place);
	}
	return 0;
}

/* A new process has its maker's memory. */
static __always_inline void inherit_interpreter(__u32 maker, __u32 child)
{
	struct interpreter *interpreter = bpf_map_lookup_elem(&interpreters, &maker);

	if (interpreter)
		bpf_map_update_elem(&interpreters, &child, interpreter, BPF_ANY); /* full: it is looked at by itself */
	else
		bpf_map_delete_elem(&interpreters, &child); /* of an earlier process of this number */
}

/* It becomes another program. */
static __always_inline void forget_interpreter(__u32 tgid)
{
	if (knobs.interpreters)
		bpf_map_delete_elem(&interpreters, &tgid);
}
