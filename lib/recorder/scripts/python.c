// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPython, from 3.8 on.  Each version lays out its structures anew, and keeps to that in its later releases.  The figures
 * are offsetof() of its own headers; tests/live/test_script_functions.py runs each version that is installed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "scripts/language.h"

#define TEXT_CHARACTERS 200 /* of a name, and of the end of a path */
#define OBJECT_TYPE 8	    /* of PyObject: ob_type */
#define TEXT_LENGTH 16	    /* of PyASCIIObject */
#define TEXT_STATE 32
#define STATE_KIND(state) ((state) >> 2 & 7) /* bytes of a character */
#define STATE_COMPACT(state) ((state) >> 5 & 1)
#define STATE_ASCII(state) ((state) >> 6 & 1)

struct layout {
	unsigned int minor; /* of 3.x */
	uint32_t interpreters, threads, thread_id, native_id;
	uint32_t steps[SCRIPT_STEPS];
	uint32_t code, previous;
	uint32_t file, name, line;
	uint32_t text, wide_text; /* where the letters of a text begin: all of them ASCII, or not */
};

/* clang-format off */
static const struct layout layouts[] = {
	{  8,  32,    8, 176, SCRIPT_NONE, { 24, SCRIPT_NONE }, 32, 24, 104, 112, 40, 48, 72 },
	{  9,  32,    8, 176, SCRIPT_NONE, { 24, SCRIPT_NONE }, 32, 24, 104, 112, 40, 48, 72 },
	{ 10,  32,    8, 176, SCRIPT_NONE, { 24, SCRIPT_NONE }, 32, 24, 104, 112, 40, 48, 72 },
	{ 11,  40,   16, 152, 160, { 56, 8, SCRIPT_NONE },      32, 48, 112, 128, 72, 48, 72 },
	{ 12,  40,   72, 136, 144, { 56, 0, SCRIPT_NONE },       0,  8, 112, 128, 68, 40, 56 },
	{ 13, 632, 7344, 152, 160, { 72, SCRIPT_NONE },          0,  8, 112, 128, 68, 40, 56 },
	{ 14, 808, 7344, 152, 160, { 72, SCRIPT_NONE },          0,  8, 112, 128, 68, 40, 56 },
};
/* clang-format on */

#define NEXT_THREAD 8 /* of PyThreadState, in all versions */

/* "python3.11", "libpython3.11.so.1.0"; 0: no such name. */
static unsigned int minor_of(const char *name)
{
	unsigned int minor = 0;

	if (sscanf(name, "python3.%u", &minor) == 1 || sscanf(name, "libpython3.%u", &minor) == 1)
		return minor;
	return 0;
}

static bool is_file(const char *name)
{
	return minor_of(name);
}

/* "python3.13t", "libpython3.13t.so.1.0": one without the GIL has a layout of its own. */
static bool is_free_threaded(const char *name)
{
	const char *version = strstr(name, "python3.");

	version += strlen("python3.");
	return version[strspn(version, "0123456789")] == 't';
}

static int find(struct loaded_object *object, const char *name, struct script_program *program)
{
	unsigned int minor = minor_of(name);
	uint64_t runtime = 0;
	int err = memory_symbol(object, "_PyRuntime", &runtime) ?: memory_symbol(object, "PyCode_Type", &program->mark);

	for (size_t i = 0; !err && i < sizeof(layouts) / sizeof(*layouts); i++) {
		const struct layout *layout = &layouts[i];

		if (layout->minor != minor || is_free_threaded(name))
			continue;
		program->layout = layout;
		program->interpreter = (struct interpreter)
		{
			.root = runtime + layout->interpreters, .first_thread = layout->threads,
			.next_thread = NEXT_THREAD,
#if defined(__x86_64__)
			.thread_id = layout->thread_id,
#else
			.thread_id = layout->native_id,
#endif
			.steps = { layout->steps[0], layout->steps[1], layout->steps[2] }, .code = layout->code,
			.previous = layout->previous, .stamp = layout->file,
		};
		return program->interpreter.thread_id == SCRIPT_NONE ? -ENOEXEC : 0;
	}
	return err ?: -ENOEXEC;
}

static size_t put_letter(uint32_t letter, char *to)
{
	if (letter < 0x80) {
		*to = letter >= 0x20 && letter != 0x7f ? (char)letter : '?';
		return 1;
	}
	if (letter < 0x800) {
		to[0] = (char)(0xc0 | letter >> 6);
		to[1] = (char)(0x80 | (letter & 0x3f));
		return 2;
	}
	if (letter >= 0x10000 || (letter >= 0xd800 && letter < 0xe000)) {
		*to = '?';
		return 1;
	}
	to[0] = (char)(0xe0 | letter >> 12);
	to[1] = (char)(0x80 | (letter >> 6 & 0x3f));
	to[2] = (char)(0x80 | (letter & 0x3f));
	return 3;
}

/* The end of a text, as UTF-8; false: there is none. */
static bool read_text(int memory, const struct layout *layout, uint64_t object, char text[3 * TEXT_CHARACTERS + 1])
{
	uint8_t letters[4 * TEXT_CHARACTERS];
	uint64_t length = 0, from = 0;
	uint32_t state = 0, bytes;

	if (!object || !memory_read(memory, object + TEXT_LENGTH, &length, sizeof(length)) ||
	    !memory_read(memory, object + TEXT_STATE, &state, sizeof(state)) || !STATE_COMPACT(state))
		return false;
	bytes = STATE_KIND(state);
	if (bytes != 1 && bytes != 2 && bytes != 4)
		return false;
	if (length > TEXT_CHARACTERS) {
		from = length - TEXT_CHARACTERS;
		length = TEXT_CHARACTERS;
	}
	object += (STATE_ASCII(state) ? layout->text : layout->wide_text) + from * bytes;
	if (!memory_read(memory, object, letters, length * bytes))
		return false;
	for (size_t i = 0; i < length; i++) {
		uint32_t letter = 0;

		memcpy(&letter, letters + i * bytes, bytes); /* both architectures are little-endian */
		text += put_letter(letter, text);
	}
	*text = '\0';
	return true;
}

static size_t name_of(int memory, const struct script_program *program, uint64_t code, char *name)
{
	const struct layout *layout = program->layout;
	char function[3 * TEXT_CHARACTERS + 1], path[3 * TEXT_CHARACTERS + 1];
	uint64_t type = 0, at[2] = {};
	uint32_t line = 0;

	if (!memory_read(memory, code + OBJECT_TYPE, &type, sizeof(type)) || type != program->mark ||
	    !memory_read(memory, code + layout->name, &at[0], sizeof(at[0])) ||
	    !memory_read(memory, code + layout->file, &at[1], sizeof(at[1])) ||
	    !memory_read(memory, code + layout->line, &line, sizeof(line)) ||
	    !read_text(memory, layout, at[0], function) || !read_text(memory, layout, at[1], path) ||
	    !strcmp(path, "<shim>")) /* stands for a call from C */
		return 0;
	return script_name_write(name, function, path, line > INT32_MAX ? 0 : line);
}

const struct script_language script_python = { is_file, find, name_of };
