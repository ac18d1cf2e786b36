// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "scripts/script_names.h"
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "base/monotonic.h"
#include "symbols/remembered_maps.h"

#define FUNCTIONS 8192	    /* of at most 400 bytes each */
#define SCRIPT_FILES_MET 16 /* different ones */
#define AGAIN_MS 50	    /* a name is asked for again after that, then whenever that time has doubled */

struct function_key {
	uint64_t code;
	uint64_t pid;
};

struct function {
	UT_hash_handle hh;
	struct function_key key;
	int64_t first_ms, next_ms;
	enum {
		UNANSWERED,
		NAMED,
		NO_FUNCTION,
		SEVERAL, /* one after the other lay there: which one a sample was in is not known */
	} state;
	char *name; /* of NAMED and SEVERAL */
};

static struct function *functions;

static struct {
	char name[SCRIPT_FILE_BYTES + 1];
	bool known;
} files[SCRIPT_FILES_MET];
static size_t file_count;

static struct function *find(pid_t pid, uint64_t code)
{
	struct function_key key = { code, pid };
	struct function *function;

	HASH_FIND(hh, functions, &key, sizeof(key), function);
	return function;
}

static void forget(struct function *function)
{
	HASH_DEL(functions, function);
	free(function->name);
	free(function);
}

static struct function *add(pid_t pid, uint64_t code)
{
	struct function *function = calloc(1, sizeof(*function));

	if (!function)
		return NULL;
	function->key = (struct function_key){ code, pid };
	HASH_ADD(hh, functions, key, sizeof(function->key), function);
	return function;
}

static void meet(pid_t pid, uint64_t code, int64_t now)
{
	struct function *function = find(pid, code);

	if (function ? now < function->next_ms || function->state == SEVERAL : HASH_COUNT(functions) >= FUNCTIONS)
		return;
	if (!remembered_maps_ask_name(pid, code))
		return; /* it is met again */
	if (!function)
		function = add(pid, code);
	if (!function)
		return;
	if (!function->first_ms)
		function->first_ms = now;
	function->next_ms = now + (now - function->first_ms > AGAIN_MS ? now - function->first_ms : AGAIN_MS);
}

void script_names_meet(pid_t pid, const uint64_t *code, size_t count)
{
	int64_t now = count ? monotonic_ms() : 0;

	for (size_t i = 0; i < count; i++)
		meet(pid, code[i], now);
}

void script_names_take(pid_t pid, uint64_t code, const char *text, size_t length, bool no_function)
{
	struct function *function = find(pid, code);

	if (!function)
		return;
	if (function->state == UNANSWERED && no_function) {
		function->state = NO_FUNCTION;
	} else if (function->state == UNANSWERED && length) {
		function->name = strndup(text, length);
		function->state = function->name ? NAMED : UNANSWERED;
	} else if (function->state == NAMED && length &&
		   (strlen(function->name) != length || memcmp(function->name, text, length))) {
		function->state = SEVERAL;
	}
}

void script_names_forget_unanswered(void)
{
	struct function *function, *next;

	HASH_ITER(hh, functions, function, next)
	if (function->state == UNANSWERED)
		forget(function);
}

void script_names_write(struct json *json, const char *key, pid_t pid, const uint64_t *code, size_t count)
{
	json_array(json, key);
	for (size_t i = 0; i < count; i++) {
		const struct function *function = find(pid, code[i]);

		if (function && function->state == NAMED)
			json_text(json, NULL, function->name);
		else if (!function || function->state != NO_FUNCTION)
			json_format(json, NULL, "%#llx", (unsigned long long)SCRIPT_ADDRESS(code[i]));
	}
	json_end(json);
}

void script_files_met(const char file[SCRIPT_FILE_BYTES], bool known)
{
	size_t i = 0;

	while (i < file_count && strncmp(files[i].name, file, SCRIPT_FILE_BYTES))
		i++;
	if (i == SCRIPT_FILES_MET)
		return;
	if (i == file_count)
		memcpy(files[file_count++].name, file, SCRIPT_FILE_BYTES);
	files[i].known = files[i].known || known;
}

void script_files_write(struct json *json, struct output *output)
{
	for (size_t i = 0; i < file_count; i++) {
		json_open(json, "interpreter");
		json_text(json, "file", files[i].name);
		json_bool(json, "known", files[i].known);
		json_write(json, output);
	}
}

void script_names_free(void)
{
	struct function *function, *next;

	HASH_ITER(hh, functions, function, next)
	forget(function);
}
