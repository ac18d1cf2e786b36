// SPDX-License-Identifier: GPL-2.0-only
/*
 * PHP without threads (NTS), 7.4 to 8.4 at least: what is wanted of its frames and of its functions' heads has stood at
 * the same places since.  Where a function keeps the name of its file has moved, so that is looked for.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "scripts/language.h"

#define FRAME 488 /* of executor_globals: current_execute_data */
#define FRAME_FUNCTION 24
#define FRAME_CALLER 48

#define FUNCTION_TYPE 0
#define TYPE_INTERNAL 1
#define TYPE_USER 2
#define FUNCTION_NAME 8
#define FUNCTION_CLASS 16
#define CLASS_NAME 8
#define FILE_FIRST 128 /* between these a function keeps its file's name, and behind that its first line */
#define FILE_LAST 192

#define TEXT_LENGTH 16
#define TEXT_LETTERS 24
#define TEXT_BYTES 200

/* "php8.2", "php-fpm8.2", "libphp.so", "php". */
static bool is_file(const char *name)
{
	static const char *const names[] = { "libphp", "php-fpm", "php-cgi", "php" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t length = strlen(names[i]);

		if (!strncmp(name, names[i], length) &&
		    (!name[length] || isdigit((unsigned char)name[length]) || !strcmp(name + length, ".so")))
			return true;
	}
	return false;
}

static int find(struct loaded_object *object, const char *name, struct script_program *program)
{
	uint64_t globals = 0;

	(void)name;
	if (!memory_symbol(object, "executor_globals_offset", &globals))
		return -ENOEXEC; /* with threads: each has its own */
	if (memory_symbol(object, "executor_globals", &globals))
		return -ENOENT;
	program->interpreter = (struct interpreter){
		.root = globals,
		.first_thread = SCRIPT_NONE,
		.steps = { FRAME, SCRIPT_NONE },
		.code = FRAME_FUNCTION,
		.previous = FRAME_CALLER,
		.stamp = FUNCTION_NAME,
	};
	return 0;
}

/* The end of a text; false: there is none, or one that is no name. */
static bool read_text(int memory, uint64_t at, char text[TEXT_BYTES + 1])
{
	uint64_t length = 0, from = 0;

	if (!at || !memory_read(memory, at + TEXT_LENGTH, &length, sizeof(length)) || !length || length > UINT16_MAX)
		return false;
	if (length > TEXT_BYTES) {
		from = length - TEXT_BYTES;
		length = TEXT_BYTES;
	}
	if (!memory_read(memory, at + TEXT_LETTERS + from, text, length + 1) || text[length])
		return false;
	script_text_clean(text);
	return *text;
}

static bool text_at(int memory, uint64_t place, char text[TEXT_BYTES + 1])
{
	uint64_t at = 0;

	return memory_read(memory, place, &at, sizeof(at)) && read_text(memory, at, text);
}

static bool read_place(int memory, uint64_t function, char path[TEXT_BYTES + 1], uint32_t *line)
{
	for (uint64_t place = FILE_FIRST; place < FILE_LAST; place += sizeof(uint64_t)) {
		uint32_t lines[2]; /* the first and the last */

		if (text_at(memory, function + place, path) &&
		    memory_read(memory, function + place + sizeof(uint64_t), lines, sizeof(lines)) && lines[0] &&
		    lines[0] <= lines[1] && lines[1] <= INT32_MAX) {
			*line = lines[0];
			return true;
		}
	}
	return false;
}

static size_t name_of(int memory, const struct script_program *program, uint64_t code, char *name)
{
	char own[TEXT_BYTES + 1] = "main", class_name[TEXT_BYTES + 1] = "", path[TEXT_BYTES + 1] = "internal";
	char function[2 * TEXT_BYTES + 4];
	uint64_t class = 0;
	uint32_t line = 0;
	uint8_t type = 0;

	(void)program;
	if (!memory_read(memory, code + FUNCTION_TYPE, &type, sizeof(type)) ||
	    (type != TYPE_INTERNAL && type != TYPE_USER))
		return 0;
	if (!text_at(memory, code + FUNCTION_NAME, own))
		strcpy(own, "main"); /* code outside of functions has none */
	if (type == TYPE_USER && !read_place(memory, code, path, &line))
		return 0;
	/* What stands behind a zero in the name of a class without one says where it was made. */
	if (memory_read(memory, code + FUNCTION_CLASS, &class, sizeof(class)) && class &&
	    !text_at(memory, class + CLASS_NAME, class_name))
		*class_name = '\0';
	snprintf(function, sizeof(function), "%s%s%s", class_name, *class_name ? "::" : "", own);
	return script_name_write(name, function, path, line);
}

const struct script_language script_php = { is_file, find, name_of };
