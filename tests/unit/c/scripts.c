// SPDX-License-Identifier: GPL-2.0-only
/* Interpreters that this program plays: the names of their functions, and any bytes instead of these. */
/* SOURCES: scripts/interpreters.c scripts/perl.c scripts/php.c scripts/python.c scripts/ruby.c scripts/v8.c base/memory_symbols.c base/process_files.c */
/* LIBS: -rdynamic -Wl,--hash-style=gnu */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "played_script.h"

#define MUTATIONS 20000

/* What all four export; the versions are chosen by the names of files and by these. */
uint64_t _PyRuntime[128], PyCode_Type[8], executor_globals[128], ruby_current_vm_ptr, PL_curinterp;
const char ruby_version[] = "3.1.2";
const uint8_t PL_version = 36;

static uint64_t text[3][64], body[32], path_list[8];

static void python_text(uint64_t *object, const char *letters)
{
	memset(object, 0, sizeof(text[0]));
	object[2] = strlen(letters);
	object[4] = 1 << 2 | 1 << 5 | 1 << 6; /* one byte each, behind the head, all ASCII */
	strcpy((char *)object + 48, letters);
}

static void python_function(void)
{
	python_text(text[0], "/srv/shop/cart.py");
	python_text(text[1], "Cart.total");
	function[1] = (uint64_t)PyCode_Type;
	function[112 / 8] = (uint64_t)text[0];
	function[128 / 8] = (uint64_t)text[1];
	function[72 / 8] = 17;
}

static void names_of_python(void)
{
	struct script_program program = found(&script_python, "libpython3.11.so.1.0");
	char name[SCRIPT_NAME_BYTES + 1];

	CHECK(program.interpreter.root == (uint64_t)_PyRuntime + 40);
	python_function();
	name_of(&program, name);
	CHECK_TEXT(name, "Cart.total (/srv/shop/cart.py:17)");
	text[1][4] = 2 << 2 | 1 << 5; /* two bytes each, not all ASCII */
	text[1][2] = 2;
	memcpy((char *)text[1] + 72, (uint16_t[]){ 0xe9, 0x4e2d }, 4);
	name_of(&program, name);
	CHECK_TEXT(name, "\xc3\xa9\xe4\xb8\xad (/srv/shop/cart.py:17)");
	function[1] = 0;
	CHECK_NUMBER(name_of(&program, name), 0);
}

static void versions_that_are_not_known(void)
{
	struct script_program program = {};
	struct loaded_object object = { .memory = open("/proc/self/mem", O_RDONLY),
					.start = (getauxval(AT_PHDR) | 0xfff) - 0xfff };

	object.end = object.start + (1 << 20);
	CHECK_NUMBER(script_python.find(&object, "python3.7", &program), -ENOEXEC);
	CHECK_NUMBER(script_python.find(&object, "python3.99", &program), -ENOEXEC);
	CHECK_NUMBER(script_python.find(&object, "libpython3.13t.so.1.0", &program), -ENOEXEC);
	CHECK(!script_php.is_file("php.ini") && !script_php.is_file("php.mo"));
	CHECK(!script_python.is_file("python2.7") && !script_python.is_file("pythonista"));
	CHECK(!script_php.is_file("phpstorm") && script_php.is_file("php-fpm8.2") && script_php.is_file("libphp.so"));
	CHECK(!script_perl.is_file("perldoc") && script_perl.is_file("libperl.so.5.36"));
	close(object.memory);
}

static void php_text(uint64_t *object, const char *letters)
{
	object[2] = strlen(letters);
	strcpy((char *)object + 24, letters);
}

static void php_function(void)
{
	memset(function, 0, sizeof(function));
	*(uint8_t *)function = 2;
	php_text(text[0], "/srv/shop/cart.php");
	php_text(text[1], "total");
	php_text(text[2], "Cart");
	body[1] = (uint64_t)text[2];
	function[1] = (uint64_t)text[1];
	function[2] = (uint64_t)body;
	function[168 / 8] = (uint64_t)text[0]; /* as in 8.4 */
	memcpy(&function[176 / 8], (uint32_t[]){ 17, 29 }, 8);
}

static void a_name_is_of_what_lay_there(void)
{
	struct script_program program = found(&script_python, "python3.11");
	_cleanup_close_ int process = open("/proc/self", O_PATH | O_DIRECTORY);
	char name[SCRIPT_NAME_BYTES];

	python_function();
	CHECK_NUMBER(script_function_name(process, &program, SCRIPT_CODE((uint64_t)function, 0x1230), name), -ESTALE);
	CHECK_NUMBER(script_function_name(process, &program, SCRIPT_CODE(0x10UL, 0), name), -EFAULT);
	CHECK(SCRIPT_ADDRESS(0x7f0000001001UL) == 0x7f0000001000UL);
}

static void names_of_php(void)
{
	struct script_program program = found(&script_php, "php8.4");
	char name[SCRIPT_NAME_BYTES + 1];

	php_function();
	name_of(&program, name);
	CHECK_TEXT(name, "Cart::total (/srv/shop/cart.php:17)");
	memcpy((char *)text[2] + 24, "class@anonymous\0/srv", 20);
	text[2][2] = 20;
	name_of(&program, name);
	CHECK_TEXT(name, "class@anonymous::total (/srv/shop/cart.php:17)");
	text[2][2] = 1 << 20;
	name_of(&program, name);
	CHECK_TEXT(name, "total (/srv/shop/cart.php:17)");
	function[2] = 0;
	*(uint8_t *)function = 1;
	name_of(&program, name);
	CHECK_TEXT(name, "total (internal)");
	*(uint8_t *)function = 7;
	CHECK_NUMBER(name_of(&program, name), 0);
}

static void ruby_text(uint64_t *object, const char *letters, bool in_heap)
{
	object[0] = 5 | (in_heap ? 0x2000 : strlen(letters) << 14);
	if (in_heap) {
		object[2] = strlen(letters);
		object[3] = (uint64_t)letters;
	} else {
		strcpy((char *)object + 16, letters);
	}
}

static void ruby_function(void)
{
	ruby_text(text[0], "/srv/shop/lib/models/cart.rb", true);
	ruby_text(text[1], "total", false);
	path_list[0] = 7 | 0x2000; /* in its object */
	path_list[2] = (uint64_t)text[0];
	function[0] = 0x1a | 7 << 12;
	function[2] = (uint64_t)body;
	body[64 / 8] = (uint64_t)path_list;
	body[80 / 8] = (uint64_t)text[1];
	body[88 / 8] = 17 << 1 | 1;
}

static void names_of_ruby(void)
{
	struct script_program program;
	char name[SCRIPT_NAME_BYTES + 1];

#if !defined(__x86_64__)
	printf("skipped: names of Ruby's functions, which are known of x86-64 only\n");
	return;
#endif
	program = found(&script_ruby, "libruby-3.1.so.3.1.2");
	ruby_function();
	name_of(&program, name);
	CHECK_TEXT(name, "total (/srv/shop/lib/models/cart.rb:17)");
	function[0] = 0x1a | 6 << 12;
	CHECK_NUMBER(name_of(&program, name), 0);
}

static void perl_statement(void)
{
	strcpy((char *)text[0], "/srv/shop/cart.pl");
	((uint32_t *)function)[36 / 4] = 17;
	function[48 / 8] = (uint64_t)text[0];
}

static void statements_of_perl(void)
{
	struct script_program program = found(&script_perl, "perl");
	char name[SCRIPT_NAME_BYTES + 1];

	perl_statement();
	name_of(&program, name);
	CHECK_TEXT(name, "statement (/srv/shop/cart.pl:17)");
	function[48 / 8] = 1;
	CHECK_NUMBER(name_of(&program, name), 0);
}

static void spoil(uint64_t *memory)
{
	size_t bytes = memory == body ? sizeof(body) : memory == path_list ? sizeof(path_list) : sizeof(function);

	((uint8_t *)memory)[(size_t)rand() % bytes] = rand() % 3 ? rand() : 0xff;
}

/* Whatever stands there: no read or write outside, as the sanitizers see, and an end. */
static void any_bytes_instead_of_functions(void)
{
	const struct {
		const struct script_language *language;
		const char *file;
		void (*fill)(void);
	} played[] = {
		{ &script_python, "python3.11", python_function },
		{ &script_php, "php", php_function },
		{ &script_perl, "perl", perl_statement },
#if defined(__x86_64__)
		{ &script_ruby, "ruby", ruby_function },
#endif
	};
	uint64_t *const memory[] = { function, text[0], text[1], text[2], body, path_list };
	char name[SCRIPT_NAME_BYTES + 1];

	srand(11);
	for (size_t i = 0; i < sizeof(played) / sizeof(*played); i++) {
		struct script_program program = found(played[i].language, played[i].file);

		for (int n = 0; n < MUTATIONS; n++) {
			played[i].fill();
			for (int k = rand() % 4; k >= 0; k--)
				spoil(memory[rand() % 6]);
			name_of(&program, name);
		}
	}
}

static void a_long_name_is_cut(void)
{
	char name[SCRIPT_NAME_BYTES], function_name[400], path[400];

	memset(function_name, 'f', sizeof(function_name));
	memset(path, 'p', sizeof(path));
	function_name[399] = path[399] = '\0';
	strcpy(path + 390, "/cart.py");
	CHECK(script_name_write(name, function_name, path, 4294967295U) < SCRIPT_NAME_BYTES);
	CHECK(strstr(name, "ff (pp") && strstr(name, "pp/cart.py:4294967295)"));
}

int main(void)
{
	RUN(names_of_python);
	RUN(versions_that_are_not_known);
	RUN(a_name_is_of_what_lay_there);
	RUN(names_of_php);
	RUN(names_of_ruby);
	RUN(statements_of_perl);
	RUN(any_bytes_instead_of_functions);
	RUN(a_long_name_is_cut);
	return check_result();
}
