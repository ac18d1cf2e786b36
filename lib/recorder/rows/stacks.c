// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks, folded by their addresses.  Kernel addresses are named at the end; user addresses while their process
 * lives: soon after the start, then rarely, and at the end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "base/cleanup.h"
#include "recorder.h"
#include "scripts/script_names.h"
#include "perfdiag.skel.h"

#define STACK_ENTRIES 4096	/* distinct stacks, 1.2 kB each at most */
#define PEER_STACK_ENTRIES 1024 /* that there may be when one of a peer comes: it takes no room from the target */

/* What makes two stacks the same; frames follow, the kernel's first, those of a script last. */
struct stack_key {
	uint64_t object;
	uint32_t tgid, account;
	uint32_t tid; /* of CPU samples and sleeps, while there is much room; 0: of any thread */
	uint16_t on_cpu, in_call, of_peer, padding;
	uint32_t kernel_frames, user_frames, script_frames;
	uint32_t stack_offset; /* of stacks that were scanned: their frames may be cut short and alike */
	uint64_t frames[2 * STACK_FRAMES + SCRIPT_FRAMES];
};

struct stack_entry {
	UT_hash_handle hh;
	uint64_t weight_ns, count, long_turn_count;
	uint32_t tid, scan_words;
	uint64_t *scan;	      /* until it is named */
	char **names;	      /* of the user frames, then of the scanned words; NULL: not asked yet */
	struct stack_key key; /* cut off after its frames */
};

static uint32_t frame_count(__s32 bytes)
{
	return bytes > 0 ? bytes / sizeof(uint64_t) : 0;
}

/* Where frame pointers are missing, the walk goes through whatever lies there; at address 0 it is over. */
static uint32_t user_frame_count(const struct stack_event *event)
{
	uint32_t count = frame_count(event->user_bytes);

	for (uint32_t i = 0; i < count; i++)
		if (!event->user[i])
			return i;
	return count;
}

static uint32_t copy_script_frames(const struct stack_event *event, uint64_t *frames)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < SCRIPT_FRAMES; i++)
		if (event->script.code[i])
			frames[count++] = event->script.code[i];
	return count;
}

/* A process that was found to be an interpreter shows the functions of its scripts from now on. */
static void follow_scripts(struct recorder *recorder, pid_t pid)
{
	struct bpf_map *map = recorder->skeleton->maps.interpreters;
	struct interpreter interpreter;

	if (!user_symbols_interpreter(pid, &interpreter))
		return;
	if (!interpreter.root)
		bpf_map__delete_elem(map, &pid, sizeof(pid), 0); /* it was another program's */
	else if (!bpf_map__update_elem(map, &pid, sizeof(pid), &interpreter, sizeof(interpreter), BPF_ANY))
		recorder->skeleton->bss->knobs.interpreters = 1;
}

/*
 * What a thread computes is told of it, and where it sleeps by its own choice; a crowd of threads must not take the room
 * of other stacks.
 */
static bool is_told_by_thread(const struct recorder *recorder, const struct stack_event *event)
{
	return (event->on_cpu || event->account == ACCOUNT_WAIT_TIMER) &&
	       HASH_COUNT(recorder->stacks) < STACK_ENTRIES / 2;
}

void stacks_add(struct recorder *recorder, const struct stack_event *event)
{
	struct stack_key key = { .object = event->object,
				 .tgid = event->event.tgid,
				 .tid = is_told_by_thread(recorder, event) ? event->event.tid : 0,
				 .on_cpu = event->on_cpu,
				 .in_call = event->in_call,
				 .of_peer = event->of_peer,
				 .account = event->account,
				 .kernel_frames = frame_count(event->kernel_bytes),
				 .user_frames = user_frame_count(event),
				 .stack_offset = event->scan_bytes <= 0 ? 0 : event->stack_offset };
	uint64_t *script = key.frames + key.kernel_frames + key.user_frames;
	struct stack_entry *entry;
	size_t size;

	user_symbols_meet(key.tgid, false);
	follow_scripts(recorder, key.tgid);
	memcpy(key.frames, event->kernel, key.kernel_frames * sizeof(uint64_t));
	memcpy(key.frames + key.kernel_frames, event->user, key.user_frames * sizeof(uint64_t));
	key.script_frames = copy_script_frames(event, script);
	script_names_meet(key.tgid, script, key.script_frames);
	size = (char *)(script + key.script_frames) - (char *)&key;
	HASH_FIND(hh, recorder->stacks, &key, size, entry);
	if (!entry) {
		if (event->of_peer && HASH_COUNT(recorder->stacks) >= PEER_STACK_ENTRIES)
			return;
		if (HASH_COUNT(recorder->stacks) >= STACK_ENTRIES ||
		    !(entry = calloc(1, offsetof(struct stack_entry, key) + size))) {
			recorder->stacks_lost++;
			return;
		}
		memcpy(&entry->key, &key, size);
		entry->tid = event->event.tid;
		entry->scan_words = frame_count(event->scan_bytes);
		entry->scan = malloc(entry->scan_words * sizeof(uint64_t));
		if (!entry->scan)
			entry->scan_words = 0;
		else
			memcpy(entry->scan, event->scan, entry->scan_words * sizeof(uint64_t));
		HASH_ADD(hh, recorder->stacks, key, size, entry);
	}
	entry->count++;
	entry->long_turn_count += event->in_long_turn;
	entry->weight_ns += event->weight_ns;
}

static bool starts_with(const char *text, const char *prefix)
{
	return text && !strncmp(text, prefix, strlen(prefix));
}

/* Where the interesting part of a kernel stack begins: after the tick's own frames, or after the switch's. */
static uint32_t first_kernel_frame(const struct recorder *recorder, const struct stack_entry *entry)
{
	static const char *const interrupts[] = { "asm_sysvec_",  "asm_common_interrupt", "el1_interrupt",
						  "el1h_64_irq",  "el0_interrupt",	  "el0t_64_irq",
						  "ret_from_intr" };
	uint32_t first = 0;

	for (uint32_t i = 0; i < entry->key.kernel_frames; i++) {
		const char *name = kernel_symbols_name(recorder->symbols, entry->key.frames[i]);

		if (!entry->key.on_cpu && name && (!strcmp(name, "__schedule") || !strcmp(name, "schedule")))
			return i + 1;
		for (size_t k = 0; entry->key.on_cpu && k < sizeof(interrupts) / sizeof(*interrupts); k++)
			if (starts_with(name, interrupts[k]))
				first = i + 1;
	}
	return first;
}

static void write_kernel_frames(struct recorder *recorder, const struct stack_entry *entry)
{
	uint32_t first = recorder->symbols ? first_kernel_frame(recorder, entry) : 0;

	json_array(&recorder->json, "kernel");
	/* The kernel walks no stack from what has no symbol: compiled classic filters alone, as seccomp has them. */
	if (entry->key.on_cpu && entry->key.in_call && first && first == entry->key.kernel_frames)
		json_text(&recorder->json, NULL, "code without a symbol");
	for (uint32_t i = first; i < entry->key.kernel_frames; i++) {
		const char *name = recorder->symbols ? kernel_symbols_name(recorder->symbols, entry->key.frames[i])
						     : NULL;

		if (name)
			json_text(&recorder->json, NULL, name);
		else
			json_format(&recorder->json, NULL, "%#llx", (unsigned long long)entry->key.frames[i]);
	}
	json_end(&recorder->json);
}

/* Addresses of all stacks that have no names yet; with `addresses` NULL only their number. */
static size_t collect(struct recorder *recorder, struct user_address *addresses)
{
	struct stack_entry *entry, *next;
	size_t count = 0;

	HASH_ITER(hh, recorder->stacks, entry, next)
	{
		const uint64_t *user = entry->key.frames + entry->key.kernel_frames;
		uint32_t frames = entry->key.user_frames, all = frames + entry->scan_words;

		for (uint32_t i = 0; !entry->names && i < all; i++, count++)
			if (addresses)
				addresses[count] = (struct user_address){
					.pid = entry->key.tgid,
					.address = i < frames ? user[i] : entry->scan[i - frames],
					.return_address = i > 0 && i < frames,
					.only_code = i >= frames,
				};
	}
	return count;
}

/* Hands the names over to their stack; false if its process gave none, so that it is asked again. */
static bool take_names(struct recorder *recorder, struct stack_entry *entry, struct user_address *addresses, bool last)
{
	uint32_t all = entry->key.user_frames + entry->scan_words;
	bool any = !all;

	for (uint32_t i = 0; i < all; i++)
		any = any || addresses[i].name;
	if (!any && !last)
		return false;
	entry->names = calloc(all ? all : 1, sizeof(*entry->names));
	for (uint32_t i = 0; entry->names && i < all; i++) {
		if (addresses[i].lack)
			unnamed_add(&recorder->unnamed, &addresses[i]);
		entry->names[i] = take_pointer(addresses[i].name);
	}
	return entry->names;
}

void stacks_name(struct recorder *recorder, unsigned int deadline_ms, bool last)
{
	size_t count = collect(recorder, NULL), at = 0;
	_cleanup_free_ struct user_address *addresses = calloc(count ? count : 1, sizeof(*addresses));
	struct stack_entry *entry, *next;

	if (!addresses || (!count && !last))
		return;
	collect(recorder, addresses);
	user_symbols_resolve(addresses, count, deadline_ms);
	HASH_ITER(hh, recorder->stacks, entry, next)
	{
		if (entry->names)
			continue;
		take_names(recorder, entry, addresses + at, last);
		at += entry->key.user_frames + entry->scan_words;
	}
	for (size_t i = 0; i < count; i++)
		free(addresses[i].name);
}

static void write_user_frames(struct json *json, const struct stack_entry *entry)
{
	const uint64_t *addresses = entry->key.frames + entry->key.kernel_frames;
	uint32_t frames = entry->key.user_frames;

	json_array(json, "user");
	for (uint32_t i = 0; i < frames; i++) {
		if (entry->names && entry->names[i])
			json_text(json, NULL, entry->names[i]);
		else
			json_format(json, NULL, "%#llx", (unsigned long long)addresses[i]);
	}
	json_end(json);
	json_array(json, "scan");
	for (uint32_t i = frames, names = 0; entry->names && i < frames + entry->scan_words; i++)
		if (entry->names[i] && names++ < SCAN_NAMES)
			json_text(json, NULL, entry->names[i]);
	json_end(json);
}

static void write_stack(struct recorder *recorder, const struct stack_entry *entry)
{
	struct json *json = &recorder->json;

	json_open(json, entry->key.of_peer ? "peer_stack" : "stack");
	json_text(json, "kind", entry->key.on_cpu ? "cpu" : "wait");
	json_u64(json, "pid", entry->key.tgid);
	json_u64(json, "tid", entry->key.on_cpu ? entry->key.tid : entry->tid);
	json_text(json, "account", account_names[entry->key.account]);
	object_write(recorder, "object", entry->key.object);
	json_u64(json, "count", entry->count);
	if (entry->long_turn_count)
		json_u64(json, "long_turn_count", entry->long_turn_count);
	json_u64(json, "weight_ns", entry->weight_ns);
	write_kernel_frames(recorder, entry);
	write_user_frames(json, entry);
	if (entry->key.script_frames)
		script_names_write(json, "script", entry->key.tgid,
				   entry->key.frames + entry->key.kernel_frames + entry->key.user_frames,
				   entry->key.script_frames);
	json_write(json, &recorder->output);
}

void stacks_write(struct recorder *recorder)
{
	struct stack_entry *entry, *next;

	HASH_ITER(hh, recorder->stacks, entry, next)
	write_stack(recorder, entry);
	script_files_write(&recorder->json, &recorder->output);
	unnamed_write(&recorder->unnamed, &recorder->json, &recorder->output);
}

void stacks_free(struct recorder *recorder)
{
	struct stack_entry *entry, *next;

	HASH_ITER(hh, recorder->stacks, entry, next)
	{
		HASH_DEL(recorder->stacks, entry);
		for (uint32_t i = 0; entry->names && i < entry->key.user_frames + entry->scan_words; i++)
			free(entry->names[i]);
		free(entry->names);
		free(entry->scan);
		free(entry);
	}
	user_symbols_end();
	script_names_free();
}
