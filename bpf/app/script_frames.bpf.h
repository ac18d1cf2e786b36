/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which function of a script the current thread is in: the interpreter keeps its frames in memory of its own, where no
 * walk of the stack finds them.  It is the target's memory: whatever stands in it is an address to read at, which fails
 * where there is nothing, and never how often.
 */
#pragma once
#include "core/maps.bpf.h"

#define SCRIPT_THREADS 1024 /* of an interpreter, the newest first */
#define SCRIPT_AGAIN 16	    /* of so many times a thread that was not found is looked for once */

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
static __always_inline __u64 thread_of_script(struct record *record, const struct interpreter *interpreter)
{
	struct script_search search = { .next = interpreter->next_thread,
					.id = interpreter->thread_id,
					.wanted = thread_identity(record),
					.thread = word_of_user(interpreter->root) };

	if (record->script_thread && word_of_user(record->script_thread + search.id) == search.wanted)
		return record->script_thread;
	if (record->script_misses++ % SCRIPT_AGAIN)
		return 0;
	if (search.thread)
		search.thread = word_of_user(search.thread + interpreter->first_thread);
	bpf_loop(SCRIPT_THREADS, look_at_thread, &search, 0);
	record->script_thread = search.found ? search.thread : 0;
	if (search.found)
		record->script_misses = 0;
	return record->script_thread;
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

/* Global, as what follows is, so that the verifier walks it once. */
__weak __noinline int find_frames(struct record *record, struct interpreter *interpreter, struct script_place *place)
{
	__u64 before = 0;

	if (!record || !interpreter || !place)
		return 0;
	place->frame = interpreter->root;
	if (interpreter->native) {
		place->frame = user_frame_pointer(bpf_get_current_task_btf());
		return 0;
	}
	/* Where nothing tells whose frames these are, they are the first thread's. */
	if (interpreter->first_thread == SCRIPT_NONE && !interpreter->frame_bytes && record->tid != record->tgid)
		place->frame = 0;
	if (interpreter->first_thread != SCRIPT_NONE)
		place->frame = thread_of_script(record, interpreter);
	for (int i = 0; i < SCRIPT_STEPS && place->frame && interpreter->steps[i] != SCRIPT_NONE; i++) {
		before = place->frame;
		place->frame = word_of_user(before + interpreter->steps[i]);
	}
	if (!place->frame || !interpreter->frame_bytes)
		return 0;
	if (!owns_frames(record, interpreter, before)) {
		place->frame = 0;
		return 0;
	}
	place->end = word_of_user(before + interpreter->array) +
		     word_of_user(before + interpreter->array_words) * sizeof(__u64);
	return 0;
}

/* The frame that called another one; 0: none did. */
__weak __noinline __u64 caller_of(struct interpreter *interpreter, struct script_place *place)
{
	__u64 caller;

	if (!interpreter || !place)
		return 0;
	if (interpreter->frame_bytes)
		return place->frame + interpreter->frame_bytes < place->end ? place->frame + interpreter->frame_bytes
									    : 0;
	if (interpreter->previous == SCRIPT_NONE)
		return 0;
	caller = word_of_user(place->frame + interpreter->previous);
	return interpreter->native && caller <= place->frame ? 0 : caller; /* the machine's stack grows downwards */
}

/* What describes the function of a frame of the machine's stack, by the object that lies there; 0: it is none. */
static __always_inline __u64 description_of(const struct interpreter *interpreter, __u64 object)
{
	__u64 description, class;

	if (SCRIPT_MARKS(object) != SCRIPT_OBJECT)
		return 0;
	description = word_of_user(SCRIPT_ADDRESS(object) + interpreter->description);
	if (SCRIPT_MARKS(description) != SCRIPT_OBJECT)
		return 0;
	class = SCRIPT_ADDRESS(word_of_user(SCRIPT_ADDRESS(description) + interpreter->class));
	if (!class || (__u16)word_of_user(class + interpreter->kind) != interpreter->description_kind)
		return 0;
	return description;
}

__weak __noinline __u64 code_of(struct interpreter *interpreter, __u64 frame)
{
	__u64 found, address;

	if (!interpreter)
		return 0;
	found = word_of_user(frame + interpreter->code);
	address = SCRIPT_ADDRESS(interpreter->native ? description_of(interpreter, found) : found);
	return address ? SCRIPT_CODE(address, word_of_user(address + interpreter->stamp)) : 0;
}

struct script_walk {
	struct interpreter *interpreter;
	struct script_frames *frames;
	struct script_place place;
	__u64 last;
	__u32 count;
};

/* A function that calls itself is told once. */
static long look_at_script_frame(__u64 number, void *context)
{
	struct script_walk *walk = context;
	__u32 count = walk->count;
	__u64 code;

	if (!walk->place.frame || count >= SCRIPT_FRAMES)
		return 1;
	code = code_of(walk->interpreter, walk->place.frame);
	if (code && code != walk->last) {
		walk->frames->code[count] = walk->last = code;
		walk->count++;
	}
	walk->place.frame = caller_of(walk->interpreter, &walk->place);
	return 0;
}

/* Of the current thread. */
__weak __noinline int read_script_frames(struct record *record, struct script_frames *frames)
{
	struct script_walk walk = { .frames = frames };
	struct interpreter *interpreter;
	__u32 tgid;

	if (!record || !frames)
		return 0;
	__builtin_memset(frames, 0, sizeof(*frames));
	tgid = record->tgid;
	interpreter = knobs.interpreters ? bpf_map_lookup_elem(&interpreters, &tgid) : NULL;
	if (!interpreter)
		return 0;
	walk.interpreter = interpreter;
	find_frames(record, interpreter, &walk.place);
	bpf_loop(SCRIPT_WALK, look_at_script_frame, &walk, 0);
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
