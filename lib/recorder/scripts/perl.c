// SPDX-License-Identifier: GPL-2.0-only
/*
 * Perl that was built for threads, as distributions do: it knows which statement it executes.  Its own stack of
 * subroutines is not read: a statement has its line, and that is all there is to say.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "scripts/language.h"

#define LINE 36 /* of struct cop */
#define FILE_NAME 48
#define PATH_BYTES 200
#define PAGE_BYTES 4096

/* Where the statement stands in struct interpreter, by the minor version: of its own headers. */
static const struct {
	uint8_t minor;
	uint32_t statement;
} layouts[] = { { 32, 224 }, { 36, 208 }, { 38, 208 }, { 40, 208 }, { 42, 208 } };

/* "perl", "perl5.36", "libperl.so.5.36". */
static bool is_file(const char *name)
{
	return !strcmp(name, "perl") || !strncmp(name, "perl5.", 6) || !strncmp(name, "libperl.so", 10);
}

static int find(struct loaded_object *object, const char *name, struct script_program *program)
{
	uint64_t current = 0, version = 0;
	uint8_t minor = 0;

	(void)name;
	if (memory_symbol(object, "PL_version", &version))
		return -ENOENT;
	if (memory_symbol(object, "PL_curinterp", &current) ||
	    !memory_read(object->memory, version, &minor, sizeof(minor)))
		return -ENOEXEC;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == minor) {
			program->interpreter = (struct interpreter){
				.root = current,
				.first_thread = SCRIPT_NONE,
				.steps = { 0, SCRIPT_NONE },
				.code = layouts[i].statement,
				.previous = SCRIPT_NONE,
				.stamp = FILE_NAME,
			};
			return 0;
		}
	return -ENOEXEC;
}

/* No further than the page: what lies behind that need not be there. */
static bool read_path(int memory, uint64_t at, char path[PATH_BYTES + 1])
{
	size_t length = PAGE_BYTES - at % PAGE_BYTES, more;

	length = length < PATH_BYTES ? length : PATH_BYTES;
	if (!memory_read(memory, at, path, length))
		return false;
	more = PATH_BYTES - length;
	if (!memchr(path, '\0', length) && more && memory_read(memory, at + length, path + length, more))
		length = PATH_BYTES;
	path[length] = '\0';
	script_text_clean(path);
	return *path;
}

static size_t name_of(int memory, const struct script_program *program, uint64_t code, char *name)
{
	char path[PATH_BYTES + 1];
	uint64_t file = 0;
	uint32_t line = 0;

	(void)program;
	if (!memory_read(memory, code + LINE, &line, sizeof(line)) || !line || line > INT32_MAX ||
	    !memory_read(memory, code + FILE_NAME, &file, sizeof(file)) || !file || !read_path(memory, file, path))
		return 0;
	return script_name_write(name, "statement", path, line);
}

const struct script_language script_perl = { is_file, find, name_of };
