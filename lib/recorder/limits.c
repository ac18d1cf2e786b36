// SPDX-License-Identifier: GPL-2.0-only
/* How long requests, or system calls, of one name may take (--slo NAME=TIME). */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "recorder.h"
#include "naming.h"
#include "perfdiag.skel.h"
#include "syscall_table.h"

#define CALL "syscall:"
#define TABLES 2 /* native calls, and those of i386 */

/* As a request with this text is called, and the hash of that in a recording with this seed. */
static __u32 make_name(const char *text, uint64_t seed, char name[REQUEST_NAME_BYTES + 1])
{
	struct naming naming = { .hash = seed, .bytes = strlen(text) };

	memcpy(naming.text, text, naming.bytes < REQUEST_BYTES ? naming.bytes : REQUEST_BYTES);
	for (__u32 i = 0; i < REQUEST_BYTES && !name_letter(i, &naming); i++)
		;
	memcpy(name, naming.name.request.text, naming.length);
	name[naming.length] = 0;
	return name_of(&naming);
}

static bool is_call(const char *name)
{
	return !strncmp(name, CALL, strlen(CALL));
}

/* One that objects.c writes by this name. */
static bool has_name(unsigned int number, bool i386, const char *name)
{
	const char *known = syscall_name(number, i386);

	return known && !strcmp(known, name + strlen(CALL));
}

static bool call_exists(const char *name)
{
	for (unsigned int number = 0; number < TABLES * SYSCALL_TABLE_SIZE; number++)
		if (has_name(number / TABLES, number % TABLES, name))
			return true;
	return false;
}

int limits_add(struct options *options, const char *text, uint64_t ns)
{
	struct limit *limit = &options->limits[options->limit_count];

	if (options->limit_count == LIMITS) {
		fprintf(stderr, "error: --slo names more than %d\nHINT: one without a name is for all others\n",
			LIMITS);
		return -EDOM;
	}
	if (is_call(text) && !call_exists(text)) {
		fprintf(stderr, "error: --slo: there is no system call '%s'\nHINT: such as syscall:fdatasync\n",
			text + strlen(CALL));
		return -EDOM;
	}
	if (is_call(text))
		snprintf(limit->name, sizeof(limit->name), "%s", text);
	else
		make_name(text, 0, limit->name);
	if (!strcmp(limit->name, OTHER_NAMES)) {
		fprintf(stderr, "error: --slo: no request is called '" OTHER_NAMES "': so are those without room told\n"
				"HINT: a time without a name is for all others\n");
		return -EDOM;
	}
	if (!*limit->name || !ns) {
		fprintf(stderr, "error: --slo needs a name before the = and a time that is not 0 behind it\n");
		return -EDOM;
	}
	for (size_t i = 0; i < options->limit_count; i++) {
		if (strcmp(options->limits[i].name, limit->name))
			continue;
		fprintf(stderr,
			"error: --slo names '%s' twice\nHINT: numbers and queries are no part of a request's name\n",
			limit->name);
		return -EDOM;
	}
	limit->ns = ns;
	options->limit_count++;
	return 0;
}

bool limits_of_calls(const struct options *options)
{
	for (size_t i = 0; i < options->limit_count; i++)
		if (is_call(options->limits[i].name))
			return true;
	return false;
}

static int set_limit(struct recorder *recorder, __u64 object, uint64_t ns)
{
	return bpf_map__update_elem(recorder->skeleton->maps.limits, &object, sizeof(object), &ns, sizeof(ns), BPF_ANY);
}

static int set_calls(struct recorder *recorder, const struct limit *limit)
{
	int err = 0;

	for (unsigned int number = 0; !err && number < SYSCALL_TABLE_SIZE; number++) {
		if (has_name(number, false, limit->name))
			err = set_limit(recorder, OBJECT(OBJECT_SYSCALL, number), limit->ns);
		if (!err && has_name(number, true, limit->name))
			err = set_limit(recorder, OBJECT(OBJECT_SYSCALL, number | OBJECT_SYSCALL_I386), limit->ns);
	}
	return err;
}

int limits_fill(struct recorder *recorder)
{
	const struct options *options = &recorder->options;
	uint64_t seed = recorder->skeleton->bss->knobs.seed;
	char name[REQUEST_NAME_BYTES + 1];
	int err = 0;

	for (size_t i = 0; !err && i < options->limit_count; i++) {
		const struct limit *limit = &options->limits[i];

		err = is_call(limit->name)
			      ? set_calls(recorder, limit)
			      : set_limit(recorder, OBJECT(OBJECT_REQUEST, make_name(limit->name, seed, name)),
					  limit->ns);
	}
	if (err)
		fprintf(stderr, "error: limits of --slo cannot be set: %s\n", strerror(-err));
	return err;
}

void limits_write(struct json *json, const struct options *options)
{
	if (!options->limit_count)
		return;
	json_array(json, "slo_names");
	for (size_t i = 0; i < options->limit_count; i++) {
		json_object(json, NULL);
		json_bytes(json, "name", options->limits[i].name, strlen(options->limits[i].name));
		json_u64(json, "limit_ns", options->limits[i].ns);
		json_end(json);
	}
	json_end(json);
}
