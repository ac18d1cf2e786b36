// SPDX-License-Identifier: GPL-2.0-only
/* How long requests, system calls or SQL statements of one name may take (--slo NAME=TIME). */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "recorder.h"
#include "request/command_name.h"
#include "program/statement_limits.h"
#include "perfdiag.skel.h"
#include "program/syscall_table.h"

#define CALL "syscall:"

/* As a request with this path looks.  A report shows "#" for a part that is not kept: typed, it is such a part. */
static void copy_typed(struct naming *naming, const char *typed)
{
	static const char version[] = " HTTP/1.1";
	__u32 bytes = strnlen(typed, REQUEST_BYTES), more = strnlen(version, REQUEST_BYTES - bytes);
	char *text = naming->text;

	memcpy(text, typed, bytes);
	memcpy(text + bytes, version, more);
	naming->bytes = bytes + more;
	for (__u32 i = 1; i < bytes; i++)
		if (typed[i] == '#' && strchr("/ ", typed[i - 1]) && (!typed[i + 1] || typed[i + 1] == '/'))
			text[i] = '0';
}

/* A word alone is a command of Redis or memcached. */
static bool name_typed_command(struct naming *naming, const char *typed, uint64_t seed)
{
	snprintf(naming->text, sizeof(naming->text), "*1\r\n$%zu\r\n%s", strlen(typed), typed);
	return find_command(naming, REQUEST_BYTES) && name_command(naming, seed);
}

/* Method and path of HTTP. */
static bool name_typed_path(struct naming *naming, const char *typed, uint64_t seed)
{
	copy_typed(naming, typed);
	if (!begin_name(naming, seed))
		return false;
	for (__u32 i = 0; i < REQUEST_BYTES && !name_letter(i, naming); i++)
		;
	return end_whole_name(naming, seed);
}

/* As a request with this text is called, and the hash of that in a recording with this seed; 0: no request is. */
static __u32 make_name(const char *text, uint64_t seed, char name[REQUEST_NAME_BYTES + 1])
{
	struct naming naming = {};

	*name = 0;
	if (!name_typed_command(&naming, text, seed)) {
		naming = (struct naming){};
		if (!name_typed_path(&naming, text, seed))
			return 0;
	}
	memcpy(name, naming.name.request.text, naming.length);
	name[naming.length] = 0;
	return name_of(&naming);
}

static bool is_call(const char *name)
{
	return !strncmp(name, CALL, strlen(CALL));
}

static bool call_exists(const char *name)
{
	return syscall_number(name + strlen(CALL), false) < SYSCALL_TABLE_SIZE ||
	       syscall_number(name + strlen(CALL), true) < SYSCALL_TABLE_SIZE;
}

/* "GET #" is what is no path: who types something else did not mean that. */
static bool can_match(const char *text, const char *name)
{
	const char *target = strchr(name, ' ');

	if (!*name) {
		fprintf(stderr,
			"error: --slo: no request is called '%s'\n"
			"HINT: a name is a method of HTTP/1 and a path, such as 'GET /upload', a command of Redis or memcached, or an SQL"
			" statement such as COMMIT\n",
			text);
		return false;
	}
	if (is_call(name) || !target || strcmp(target, " #") || !strcmp(text, name))
		return true;
	fprintf(stderr,
		"error: --slo: no request is called '%s': it becomes '%s', for it has no path\n"
		"HINT: such as 'GET /upload'; '%s' itself is for requests that show none\n",
		text, name, name);
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
	if (!ns) {
		fprintf(stderr, "error: --slo needs a time that is not 0\n");
		return -EDOM;
	}
	if (is_call(text))
		snprintf(limit->name, sizeof(limit->name), "%s", text);
	else if (!statement_limit_name(text, limit))
		make_name(text, 0, limit->name);
	if (!*limit->statement && !can_match(text, limit->name))
		return -EDOM;
	for (size_t i = 0; i < options->limit_count; i++) {
		if (strcmp(options->limits[i].name, limit->name))
			continue;
		fprintf(stderr,
			"error: --slo names '%s' twice\nHINT: a name has neither queries nor what looks like a number or a key\n",
			limit->name);
		return -EDOM;
	}
	limit->ns = ns;
	options->limit_count++;
	return 0;
}

static bool limits_of_requests(const struct options *options)
{
	for (size_t i = 0; i < options->limit_count; i++)
		if (!is_call(options->limits[i].name) && !*options->limits[i].statement)
			return true;
	return false;
}

bool limits_of_statements(const struct options *options)
{
	for (size_t i = 0; i < options->limit_count; i++)
		if (*options->limits[i].statement)
			return true;
	return false;
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

/* The calls that objects.c writes by this name. */
static int set_calls(struct recorder *recorder, const struct limit *limit)
{
	unsigned int native = syscall_number(limit->name + strlen(CALL), false);
	unsigned int i386 = syscall_number(limit->name + strlen(CALL), true);
	int err = 0;

	if (native < SYSCALL_TABLE_SIZE)
		err = set_limit(recorder, OBJECT(OBJECT_SYSCALL, native), limit->ns);
	if (!err && i386 < SYSCALL_TABLE_SIZE)
		err = set_limit(recorder, OBJECT(OBJECT_SYSCALL, i386 | OBJECT_SYSCALL_I386), limit->ns);
	return err;
}

int limits_fill(struct recorder *recorder)
{
	const struct options *options = &recorder->options;
	uint64_t seed = recorder->skeleton->bss->knobs.seed;
	char name[REQUEST_NAME_BYTES + 1];
	int err = 0;

	if (options->no_request_names && limits_of_requests(options)) {
		fprintf(stderr, "error: --slo names requests, of which --no-request-names keeps no name\n"
				"HINT: a time without a name is for all\n");
		return -EDOM;
	}
	for (size_t i = 0; !err && i < options->limit_count; i++) {
		const struct limit *limit = &options->limits[i];

		err = is_call(limit->name) ? set_calls(recorder, limit)
		      : *limit->statement
			      ? statement_limit_set(recorder, limit)
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
		if (*options->limits[i].statement)
			json_bool(json, "statement", true);
		json_end(json);
	}
	json_end(json);
}
