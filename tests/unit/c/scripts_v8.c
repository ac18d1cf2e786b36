// SPDX-License-Identifier: GPL-2.0-only
/* V8, which this program plays: the names of its functions, and any bytes instead of these. */
/* SOURCES: scripts/interpreters.c scripts/perl.c scripts/php.c scripts/python.c scripts/ruby.c scripts/v8.c base/memory_symbols.c base/process_files.c */
/* LIBS: -rdynamic -Wl,--hash-style=gnu */
#define _GNU_SOURCE
#include <stdlib.h>
#include "played_script.h"

#define MUTATIONS 40000
#define KIND_TEXT 8    /* in one piece, a byte a letter */
#define KIND_WIDE 0    /* two bytes */
#define KIND_PARTS 9   /* of two */
#define KIND_OTHER 0xd /* stands for another one */
#define KIND_SCOPE 261
#define KIND_FUNCTION 262
#define KIND_SCRIPT 167

/* As Node.js 20 has them. */
int v8dbg_off_fp_function = -16, v8dbg_TaggedSize = 8,
    v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE = KIND_FUNCTION;
int v8dbg_class_JSFunction__shared__SharedFunctionInfo = 24, v8dbg_class_HeapObject__map__Map = 0;
int v8dbg_class_Map__instance_type__uint16_t = 12, v8dbg_IsNotStringMask = -128, v8dbg_StringRepresentationMask = 7;
int v8dbg_OneByteStringTag = 8, v8dbg_class_String__length__int32_t = 12;
int v8dbg_class_SeqOneByteString__chars__char = 16;
int v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object = 16;
int v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE = KIND_SCOPE, v8dbg_type_Script__SCRIPT_TYPE = KIND_SCRIPT;
int v8dbg_class_Script__name__Object = 16, v8dbg_class_Script__source__Object = 8;
int v8dbg_scopeinfo_idx_ncontextlocals = 2, v8dbg_scopeinfo_idx_first_vars = 3;

static uint64_t classes[8][2], scope[16], file[4], text[5][32];

static uint64_t marked(const void *object)
{
	return (uint64_t)object | SCRIPT_OBJECT;
}

static uint64_t number(int32_t value)
{
	return (uint64_t)value << 32;
}

/* Each object gets a class of its own. */
static void set_kind(uint64_t *object, int class, uint16_t kind)
{
	classes[class][1] = (uint64_t)kind << 32;
	object[0] = marked(classes[class]);
}

static void set_text(int which, uint16_t kind, const char *letters)
{
	memset(text[which], 0, sizeof(text[which]));
	set_kind(text[which], which, kind);
	text[which][1] = number(strlen(letters));
	strcpy((char *)&text[which][2], letters);
}

static void fill(void)
{
	memset(scope, 0, sizeof(scope));
	set_text(0, KIND_TEXT, "total");
	set_text(1, KIND_TEXT, "/srv/shop/cart.js");
	set_text(2, KIND_TEXT, "first;\nsecond;\nfunction total() {}\n");
	set_kind(scope, 5, KIND_SCOPE);
	set_kind(file, 6, KIND_SCRIPT);
	set_kind(function, 7, KIND_FUNCTION);
	function[2] = marked(scope);
	function[4] = marked(file);
	file[1] = marked(text[2]);
	file[2] = marked(text[1]);
	scope[3] = number(1); /* a local variable: its name, and what it is */
	scope[4] = marked(text[1]);
	scope[6] = marked(text[0]);
	scope[7] = number(-1);
	scope[8] = marked(function); /* what it seems to be called: nothing */
	scope[9] = number(23);
	scope[10] = number(31);
}

static void check_name(const char *expected)
{
	struct script_program program = found(&script_v8, "node");
	char name[SCRIPT_NAME_BYTES + 1];

	name_of(&program, name);
	CHECK_TEXT(name, expected);
}

static void long_paths_keep_their_end(void)
{
	char path[200], expected[200];

	memset(path, 'p', 150);
	strcpy(path + 150, "/cart.js");
	fill();
	set_text(1, KIND_TEXT, path);
	snprintf(expected, sizeof(expected), "total (%s:3)", path + strlen(path) - 100);
	check_name(expected);
}

static void names(void)
{
	fill();
	check_name("total (/srv/shop/cart.js:3)");
	scope[6] = number(0);
	check_name("(anonymous) (/srv/shop/cart.js:3)");
	fill();
	set_kind(text[2], 2, KIND_PARTS); /* the source is not in one piece: its lines are not counted */
	check_name("total (/srv/shop/cart.js)");
	file[2] = 0;
	check_name("total (eval)");
	set_kind(file, 6, KIND_TEXT);
	check_name("");
}

/* In Node.js 24, what says where the function begins stands before the variables. */
static void newer_scopes(void)
{
	fill();
	v8dbg_scopeinfo_idx_first_vars = 5;
	memmove(&scope[6], &scope[4], 5 * sizeof(*scope));
	scope[4] = number(7);
	scope[5] = number(31);
	check_name("total (/srv/shop/cart.js:2)");
	v8dbg_scopeinfo_idx_first_vars = 3;
}

static void texts(void)
{
	fill();
	set_kind(text[3], 3, KIND_OTHER);
	text[3][2] = marked(text[0]);
	scope[6] = marked(text[3]);
	check_name("total (/srv/shop/cart.js:3)");
	set_text(4, KIND_TEXT, "get ");
	set_kind(text[3], 3, KIND_PARTS);
	text[3][2] = marked(text[4]);
	text[3][3] = marked(text[0]);
	check_name("get total (/srv/shop/cart.js:3)");
	set_text(4, KIND_WIDE, "");
	text[4][1] = number(4);
	memcpy(&text[4][2], (uint16_t[]){ 'a', 0xe9, 0x4e2d, '\n' }, 8);
	scope[6] = marked(text[4]);
	check_name("a??? (/srv/shop/cart.js:3)");
	function[2] = marked(text[1]); /* a name and no scope */
	check_name("/srv/shop/cart.js (/srv/shop/cart.js)");
}

static void spoil(uint64_t *memory, size_t bytes)
{
	((uint8_t *)memory)[(size_t)rand() % bytes] = rand() % 3 ? rand() : 0xff;
}

static void any_bytes_instead_of_functions(void)
{
	struct script_program program = found(&script_v8, "node");
	char name[SCRIPT_NAME_BYTES + 1];

	srand(11);
	for (int n = 0; n < MUTATIONS; n++) {
		fill();
		for (int k = rand() % 4; k >= 0; k--) {
			spoil(scope, sizeof(scope));
			spoil((uint64_t *)text, sizeof(text));
			spoil((uint64_t *)classes, sizeof(classes));
			spoil(file, sizeof(file));
			spoil(function, 64);
		}
		name_of(&program, name);
	}
}

static void layouts_that_are_not_known(void)
{
	struct script_program program = {};
	struct loaded_object object = { .memory = open("/proc/self/mem", O_RDONLY),
					.start = (getauxval(AT_PHDR) | 0xfff) - 0xfff };

	object.end = object.start + (1 << 20);
	v8dbg_TaggedSize = 4; /* pointers of 32 bits */
	CHECK_NUMBER(script_v8.find(&object, "node", &program), -ENOEXEC);
	v8dbg_TaggedSize = 8;
	CHECK_NUMBER(script_v8.find(&object, "node", &program), 0);
	CHECK(script_v8.is_file("node") && script_v8.is_file("libnode.so.108") && !script_v8.is_file("nodemon"));
	close(object.memory);
}

int main(void)
{
	RUN(names);
	RUN(long_paths_keep_their_end);
	RUN(newer_scopes);
	RUN(texts);
	RUN(any_bytes_instead_of_functions);
	RUN(layouts_that_are_not_known);
	return check_result();
}
