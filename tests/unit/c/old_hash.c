// SPDX-License-Identifier: GPL-2.0-only
/* Variables that this program exports, found through the hash table that older linkers make, and lies of that. */
/* SOURCES: base/memory_symbols.c */
/* LIBS: -rdynamic -Wl,--hash-style=sysv */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "base/memory_symbols.h"
#include "check.h"

int exported_variable = 23;

static struct loaded_object this_program(void)
{
	uint64_t start = getauxval(AT_PHDR) - sizeof(Elf64_Ehdr);

	return (struct loaded_object){ .memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC),
				       .start = start,
				       .end = start + (1 << 20) };
}

static void exported_variables(void)
{
	struct loaded_object program = this_program();
	uint64_t address = 0;

	CHECK_NUMBER(memory_symbol(&program, "exported_variable", &address), 0);
	CHECK(address == (uint64_t)&exported_variable);
	CHECK(program.old_hash);
	CHECK_NUMBER(memory_symbol(&program, "exported_variables", &address), -ENOENT);
	close(program.memory);
}

static void tables_that_lie(void)
{
	/* numbers of buckets and chains, a bucket, chains */
	static uint32_t table[] = { 1, 2, 1, 0, 1 };
	struct loaded_object program = this_program();
	uint64_t address;

	CHECK_NUMBER(memory_symbol(&program, "nobody", &address), -ENOENT);
	program.hash = (uint64_t)table;
	CHECK_NUMBER(memory_symbol(&program, "nobody", &address), -ENOENT); /* a chain that leads to itself */
	table[2] = UINT32_MAX;
	CHECK_NUMBER(memory_symbol(&program, "nobody", &address), -ENOEXEC);
	table[0] = 0;
	CHECK_NUMBER(memory_symbol(&program, "nobody", &address), -ENOEXEC);
	program.hash = 8;
	CHECK_NUMBER(memory_symbol(&program, "nobody", &address), -ENOEXEC);
	close(program.memory);
}

int main(void)
{
	RUN(exported_variables);
	RUN(tables_that_lie);
	return check_result();
}
