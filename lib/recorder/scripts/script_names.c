// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "scripts/script_names.h"
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "symbols/remembered_maps.h"

#define FUNCTIONS 8192 /* of at most 400 bytes each */

#define SCRIPT_FILES_MET 16 /* different ones */

struct function_key {
	uint64_t code;
	uint64_t pid;
};

struct function {
	UT_hash_handle hh;
	struct function_key key;
	bool answered;
	char name[]; /* room of `answered`; empty: it is none */
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

static struct function *add(pid_t pid, uint64_t code, size_t length)
{
	struct function *function = calloc(1, sizeof(*function) + length + 1);

	if (!function)
		return NULL;
	function->key = (struct function_key){ code, pid };
	HASH_ADD(hh, functions, key, sizeof(function->key), function);
	return function;
}

void script_names_meet(pid_t pid, const uint64_t *code, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!find(pid, code[i]) && HASH_COUNT(functions) < FUNCTIONS && add(pid, code[i], 0))
			remembered_maps_ask_name(pid, code[i]);
}

void script_names_take(pid_t pid, uint64_t code, const char *name, size_t length)
{
	struct function *function = find(pid, code);

	if (!function || function->answered)
		return;
	HASH_DEL(functions, function);
	free(function);
	function = add(pid, code, length);
	if (!function)
		return;
	memcpy(function->name, name, length);
	function->answered = true;
}

void script_names_write(struct json *json, const char *key, pid_t pid, const uint64_t *code, size_t count)
{
	json_array(json, key);
	for (size_t i = 0; i < count; i++) {
		const struct function *function = find(pid, code[i]);

		if (!function || !function->answered)
			json_format(json, NULL, "%#llx", (unsigned long long)SCRIPT_ADDRESS(code[i]));
		else if (*function->name)
			json_text(json, NULL, function->name);
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
	{
		HASH_DEL(functions, function);
		free(function);
	}
}
