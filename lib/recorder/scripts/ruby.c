// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ruby's own virtual machine (CRuby) 3.1: 3.3 exports nothing any more that leads to its frames.  These are an array;
 * those of functions in C have no code.  The figures are offsetof() of its own headers, as configured for x86-64 with
 * glibc.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "scripts/language.h"

#define VERSION "3.1"
#define CODE_BODY 16 /* of rb_iseq_t */
#define BODY_PATH 64
#define BODY_LABEL 80
#define BODY_LINE 88

/* Of an object's flags. */
#define OBJECT_TYPE(flags) ((flags)&0x1f)
#define TYPE_STRING 5
#define TYPE_ARRAY 7
#define TYPE_INTERNAL 0x1a
#define INTERNAL_KIND(flags) ((flags) >> 12 & 0xf)
#define KIND_CODE 7
#define IN_HEAP(flags) ((flags)&0x2000) /* of a text; of a list: it is not */

#define TEXT_SHORT 16
#define TEXT_HEAP 24
#define TEXT_LENGTH 16
#define LIST_FIRST 16
#define LIST_HEAP 32
#define TEXT_BYTES 200

static const struct interpreter layout = {
	.first_thread = SCRIPT_NONE,
	.steps = { 0, 32, 520, 16 }, /* the main ractor, what it executes, and the frames of that */
	.code = 16,
	.previous = SCRIPT_NONE,
	.frame_bytes = 64,
	.array = 0,
	.array_words = 8,
	.stamp = CODE_BODY,
	.owner = { 48, 80, SCRIPT_NONE },
};

/* "ruby", "ruby3.1", "libruby-3.1.so.3.1". */
static bool is_file(const char *name)
{
	return !strcmp(name, "ruby") || !strncmp(name, "ruby3.", 6) || !strncmp(name, "libruby", 7);
}

static int find(struct loaded_object *object, const char *name, struct script_program *program)
{
	uint64_t version = 0, machine = 0;
	char text[sizeof(VERSION)] = "";

	(void)name;
	if (memory_symbol(object, "ruby_version", &version))
		return -ENOENT;
#if !defined(__x86_64__)
	return -ENOEXEC;
#endif
	if (!memory_read(object->memory, version, text, sizeof(text) - 1) || strcmp(text, VERSION) ||
	    memory_symbol(object, "ruby_current_vm_ptr", &machine))
		return -ENOEXEC;
	program->interpreter = layout;
	program->interpreter.root = machine;
	return 0;
}

static bool word_at(int memory, uint64_t address, uint64_t *word)
{
	return memory_read(memory, address, word, sizeof(*word));
}

/* The end of a text; false: there is none. */
static bool read_text(int memory, uint64_t object, char text[TEXT_BYTES + 1])
{
	uint64_t flags = 0, length = 0, from = object + TEXT_SHORT;

	if (!word_at(memory, object, &flags) || OBJECT_TYPE(flags) != TYPE_STRING)
		return false;
	if (IN_HEAP(flags)) {
		if (!word_at(memory, object + TEXT_LENGTH, &length) || !word_at(memory, object + TEXT_HEAP, &from))
			return false;
	} else {
		length = flags >> 14 & 0x1f;
	}
	if (!length || length > UINT16_MAX)
		return false;
	if (length > TEXT_BYTES) {
		from += length - TEXT_BYTES;
		length = TEXT_BYTES;
	}
	if (!memory_read(memory, from, text, length))
		return false;
	text[length] = '\0';
	script_text_clean(text);
	return *text;
}

/* The file as it was asked for; a list has that, and where it really is. */
static bool read_path(int memory, uint64_t object, char path[TEXT_BYTES + 1])
{
	uint64_t flags = 0, list = object + LIST_FIRST, first = 0;

	if (!word_at(memory, object, &flags))
		return false;
	if (OBJECT_TYPE(flags) != TYPE_ARRAY)
		return read_text(memory, object, path);
	if (!IN_HEAP(flags) && !word_at(memory, object + LIST_HEAP, &list))
		return false;
	return word_at(memory, list, &first) && read_text(memory, first, path);
}

static size_t name_of(int memory, const struct script_program *program, uint64_t code, char *name)
{
	char function[TEXT_BYTES + 1], path[TEXT_BYTES + 1];
	uint64_t flags = 0, body = 0, label = 0, file = 0, line = 0;

	if (!word_at(memory, code, &flags) || OBJECT_TYPE(flags) != TYPE_INTERNAL ||
	    INTERNAL_KIND(flags) != KIND_CODE || !word_at(memory, code + CODE_BODY, &body) ||
	    !word_at(memory, body + BODY_PATH, &file) || !word_at(memory, body + BODY_LABEL, &label) ||
	    !word_at(memory, body + BODY_LINE, &line) || !read_text(memory, label, function) ||
	    !read_path(memory, file, path))
		return 0;
	(void)program;
	line = line >> 1 ?: 1; /* a number of Ruby's; 0: of a whole file */
	return script_name_write(name, function, path, line > INT32_MAX ? 0 : (uint32_t)line);
}

const struct script_language script_ruby = { is_file, find, name_of };
