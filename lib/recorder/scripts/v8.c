// SPDX-License-Identifier: GPL-2.0-only
/*
 * JavaScript in V8, as Node.js has it: it says for debuggers what its objects look like.  Its frames are those of the
 * machine's stack, interpreted and compiled ones alike; each has its function at the same place.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "scripts/language.h"

/* Which of script_program.places is what. */
enum place {
	MAP,	   /* of an object: its class */
	KIND,	   /* of that */
	NOT_TEXT,  /* bits of a kind: none is set of a text's */
	SHAPE,	   /* of these, how a text is kept */
	ONE_BYTE,  /* letters have one byte: a bit */
	LENGTH,	   /* of a text */
	FIRST,	   /* of the letters of one in one piece, of the parts of one in two, and of what one stands for */
	NAME,	   /* of what describes a function, or its scope */
	SCOPE,	   /* kind of that */
	SCRIPT,	   /* kind of what describes a file */
	FILE_NAME, /* of that */
	LOCALS,	   /* of a scope: in which word their number stands */
	VARIABLES, /* of a scope: the first of them */
	PLACES
};

#define SHAPE_WHOLE 0
#define SHAPE_TWO_PARTS 1
#define SHAPE_OTHER 5 /* it stands for another one */
#define PART_BYTES sizeof(uint64_t)

#define SOURCE sizeof(uint64_t) /* before FILE_NAME */
#define DESCRIBED_FILE 16	/* behind NAME, in all versions */
#define LENGTHS 24		/* behind NAME: number of parameters and such, which no collection of garbage changes */
#define FRAME_CALLER 0

#define LOCALS_INLINE 75 /* of more, there is one table */
#define SCOPE_WORDS 6	 /* behind the local variables */
#define SCOPE_TEXTS 4	 /* among these */
#define TEXT_BYTES 100
#define SOURCE_BYTES (256 * 1024) /* no lines are counted beyond */

/* "node", "nodejs", "libnode.so.108". */
static bool is_file(const char *name)
{
	return !strcmp(name, "node") || !strcmp(name, "nodejs") || !strncmp(name, "libnode.so", 10);
}

/* What a field is called ends with its type: up to Node.js 20 "Object", in 22 "Tagged_Object_", in 24 the last. */
static int read_constant(struct loaded_object *object, const char *name, int32_t *value)
{
	static const char *const types[] = { "", "Object", "Tagged_Object_", "Tagged_NameOrScopeInfoT_" };
	uint64_t address = 0;
	char whole[100];
	int err = -ENOENT;

	for (size_t i = 0; err == -ENOENT && i < sizeof(types) / sizeof(*types); i++) {
		snprintf(whole, sizeof(whole), "%s%s", name, types[i]);
		err = memory_symbol(object, whole, &address);
	}
	if (err)
		return err;
	return memory_read(object->memory, address, value, sizeof(*value)) ? 0 : -ENOEXEC;
}

_Static_assert(PLACES <= SCRIPT_PLACES, "there is room for what is known of the layout");

static int read_places(struct loaded_object *object, uint16_t places[SCRIPT_PLACES])
{
	static const char *const names[PLACES] = {
		[MAP] = "v8dbg_class_HeapObject__map__Map",
		[KIND] = "v8dbg_class_Map__instance_type__uint16_t",
		[NOT_TEXT] = "v8dbg_IsNotStringMask",
		[SHAPE] = "v8dbg_StringRepresentationMask",
		[ONE_BYTE] = "v8dbg_OneByteStringTag",
		[LENGTH] = "v8dbg_class_String__length__int32_t",
		[FIRST] = "v8dbg_class_SeqOneByteString__chars__char",
		[NAME] = "v8dbg_class_SharedFunctionInfo__name_or_scope_info__",
		[SCOPE] = "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE",
		[SCRIPT] = "v8dbg_type_Script__SCRIPT_TYPE",
		[FILE_NAME] = "v8dbg_class_Script__name__Object",
		[LOCALS] = "v8dbg_scopeinfo_idx_ncontextlocals",
		[VARIABLES] = "v8dbg_scopeinfo_idx_first_vars",
	};

	for (int i = 0; i < PLACES; i++) {
		int32_t value = 0;

		if (read_constant(object, names[i], &value))
			return -ENOEXEC;
		places[i] = value;
	}
	return 0;
}

static int find(struct loaded_object *object, const char *name, struct script_program *program)
{
	uint64_t root = 0;
	int32_t word_bytes = 0, function = 0, kind = 0, description = 0;

	(void)name;
	if (memory_symbol(object, "v8dbg_off_fp_function", &root))
		return -ENOENT;
	if (read_places(object, program->places) || read_constant(object, "v8dbg_off_fp_function", &function) ||
	    read_constant(object, "v8dbg_TaggedSize", &word_bytes) || word_bytes != sizeof(uint64_t) ||
	    read_constant(object, "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", &kind) ||
	    read_constant(object, "v8dbg_class_JSFunction__shared__SharedFunctionInfo", &description))
		return -ENOEXEC;
	program->interpreter.root = root;
	program->interpreter.native = true;
	program->interpreter.code = function;
	program->interpreter.previous = FRAME_CALLER;
	program->interpreter.class = program->places[MAP];
	program->interpreter.kind = program->places[KIND];
	program->interpreter.description = description;
	program->interpreter.description_kind = kind;
	program->interpreter.stamp = program->places[NAME] + LENGTHS;
	return 0;
}

/* Objects are known by their addresses with a mark, numbers of 32 bits stand above zeros. */
static bool is_number(uint64_t word)
{
	return !(word & UINT32_MAX);
}

static int32_t number_of(uint64_t word)
{
	return word >> 32;
}

struct reader {
	int memory;
	const uint16_t *places;
};

static uint64_t word_at(const struct reader *reader, uint64_t object, uint64_t offset)
{
	uint64_t word = 0;

	memory_read(reader->memory, SCRIPT_ADDRESS(object) + offset, &word, sizeof(word));
	return word;
}

/* -1: it is none. */
static int kind_of(const struct reader *reader, uint64_t object)
{
	uint64_t class;

	if (SCRIPT_MARKS(object) != SCRIPT_OBJECT)
		return -1;
	class = word_at(reader, object, reader->places[MAP]);
	return SCRIPT_MARKS(class) == SCRIPT_OBJECT ? (uint16_t)word_at(reader, class, reader->places[KIND]) : -1;
}

/*
 * The first letters of a text, or its last ones; those beyond ASCII become "?".  Returns how many there are; none where it
 * is no text, or not in one piece.
 */
static size_t read_letters(const struct reader *reader, uint64_t object, bool last, size_t most, char *text)
{
	int kind = kind_of(reader, object);
	uint32_t length = word_at(reader, object, reader->places[LENGTH]), wide, skipped = 0;

	if (kind < 0 || kind & reader->places[NOT_TEXT] || (kind & reader->places[SHAPE]) != SHAPE_WHOLE)
		return 0;
	wide = kind & reader->places[ONE_BYTE] ? 1 : 2;
	if (length > most) {
		skipped = last ? length - most : 0;
		length = most;
	}
	if (!memory_read(reader->memory, SCRIPT_ADDRESS(object) + reader->places[FIRST] + (uint64_t)skipped * wide,
			 text, (size_t)length * wide))
		return 0;
	for (uint32_t i = 0; i < length; i++) {
		bool is_ascii = !(text[i * wide] & 0x80) && (wide == 1 || !text[i * wide + 1]);

		text[i] = is_ascii ? text[i * wide] : '?';
	}
	return length;
}

/* A text that stands for another one, or has been put together of two, as far as that is in one piece each. */
static size_t read_text(const struct reader *reader, uint64_t object, bool last, char text[TEXT_BYTES + 1])
{
	char letters[2 * TEXT_BYTES];
	int kind = kind_of(reader, object);
	size_t length = 0;

	if (kind < 0 || kind & reader->places[NOT_TEXT])
		return 0;
	if ((kind & reader->places[SHAPE]) == SHAPE_OTHER)
		object = word_at(reader, object, reader->places[FIRST]);
	for (int part = 0; part < 2; part++) {
		bool in_parts = (kind & reader->places[SHAPE]) == SHAPE_TWO_PARTS;
		uint64_t of_part = in_parts ? word_at(reader, object, reader->places[FIRST] + part * PART_BYTES)
					    : object;
		size_t more = part && !in_parts ? 0 : read_letters(reader, of_part, last, TEXT_BYTES - length, letters);

		memcpy(text + length, letters, more);
		length += more;
	}
	text[length] = '\0';
	script_text_clean(text);
	return strlen(text);
}

/* Among these words are two numbers, where the function begins and ends; returns the first.  -1: there are none. */
static int32_t start_in(const uint64_t *words, int count)
{
	for (int i = 0; i + 1 < count; i++)
		if (is_number(words[i]) && is_number(words[i + 1]) && number_of(words[i]) >= 0 &&
		    number_of(words[i]) < number_of(words[i + 1]))
			return number_of(words[i]);
	return -1;
}

/*
 * The name of a function, and where in the source it begins: there or, in Node.js 24, before the variables.  -1: unknown.
 */
static int32_t read_scope(const struct reader *reader, uint64_t scope, char text[TEXT_BYTES + 1])
{
	uint64_t first = reader->places[MAP] + sizeof(uint64_t), words[2 + SCOPE_WORDS] = {}, at;
	uint64_t locals = number_of(word_at(reader, scope, first + reader->places[LOCALS] * sizeof(uint64_t)));
	bool begins_before = reader->places[VARIABLES] > reader->places[LOCALS] + 2;

	at = SCRIPT_ADDRESS(scope) + first + reader->places[VARIABLES] * sizeof(uint64_t);
	if (locals > UINT16_MAX ||
	    (begins_before && !memory_read(reader->memory, at - sizeof(uint64_t[2]), words, sizeof(uint64_t[2]))))
		return -1;
	at += (locals < LOCALS_INLINE ? 2 * locals : 1 + locals) * sizeof(uint64_t);
	if (!memory_read(reader->memory, at, words + 2, sizeof(uint64_t[SCOPE_WORDS])))
		return -1;
	for (int i = 2; i < 2 + SCOPE_TEXTS && !*text; i++)
		read_text(reader, words[i], false, text);
	return begins_before ? start_in(words, 2) : start_in(words + 2, SCOPE_WORDS);
}

/* By its number; 0: the source is not kept in one piece, or too long. */
static uint32_t line_at(const struct reader *reader, uint64_t source, int32_t position)
{
	_cleanup_free_ char *text = NULL;
	uint32_t line = 1;
	size_t length;

	if (position < 0 || position > SOURCE_BYTES)
		return 0;
	text = malloc(2 * (size_t)position + 1);
	length = text ? read_letters(reader, source, false, position, text) : 0;
	if (length < (size_t)position)
		return 0;
	for (size_t i = 0; i < length; i++)
		line += text[i] == '\n';
	return line;
}

static size_t name_of(int memory, const struct script_program *program, uint64_t code, char *name)
{
	const struct reader reader = { memory, program->places };
	const uint16_t *places = program->places;
	uint64_t function = code | SCRIPT_OBJECT, named = word_at(&reader, function, places[NAME]);
	uint64_t script = word_at(&reader, function, places[NAME] + DESCRIBED_FILE);
	char own[TEXT_BYTES + 1] = "", path[TEXT_BYTES + 1] = "";
	int32_t position = -1;

	if (kind_of(&reader, script) != places[SCRIPT])
		return 0; /* V8's own */
	if (kind_of(&reader, named) == places[SCOPE])
		position = read_scope(&reader, named, own);
	else
		read_text(&reader, named, false, own);
	if (!read_text(&reader, word_at(&reader, script, places[FILE_NAME]), true, path))
		strcpy(path, "eval");
	return script_name_write(name, *own ? own : "(anonymous)", path,
				 line_at(&reader, word_at(&reader, script, places[FILE_NAME] - SOURCE), position));
}

const struct script_language script_v8 = { is_file, find, name_of };
