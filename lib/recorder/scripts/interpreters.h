/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interpreters in a process, and the functions of scripts they run, read out of its memory by the helper of
 * symbols/maps_child.c: no agent, no restart, no debugger.  Everything read there is what the target says and may be a
 * lie: texts are cut, and an address is no more than a place to read from, where a wrong one is an error.
 */
#pragma once
#include "base/memory_symbols.h"
#include "base/process_files.h"
#include <linux/types.h>
#include <sys/types.h>
#include "core/records.h"

#define SCRIPT_NAME_BYTES 256
#define SCRIPT_FILE_BYTES 32
#define SCRIPT_PLACES 16
#define SCRIPT_FILES 4 /* of a process, that may be interpreters: a program, and the library that does its work */

/* An interpreter that was found, or that is none which is known here: then its root is 0. */
struct script_program {
	const struct script_language *language; /* NULL: there is none */
	const void *layout;			/* of its version, as the language has it */
	uint64_t mark;				/* what the language tells a function by */
	uint16_t places[SCRIPT_PLACES]; /* what the interpreter itself says of its layout, as the language has it */
	struct interpreter interpreter;
	char file[SCRIPT_FILE_BYTES];
};

/* A file that a process has mapped, which may be an interpreter by its name. */
struct script_file {
	const struct script_language *language;
	uint64_t inode, start, end;
	char name[SCRIPT_FILE_BYTES];
};

struct script_files {
	struct script_file files[SCRIPT_FILES];
	size_t count;
};

/* To be called with each of the mappings of a process, in their order. */
void script_files_add(struct script_files *files, const struct mapping *mapping);
/*
 * The interpreter of which a file is.  -ENOENT if none is; -ENOEXEC if none is one that is known here, with language and
 * file of that; or -errno.
 */
int script_program_find(int process, const struct script_files *files, struct script_program *ret);
/* Length of "function (path:line)", not ended by a zero; 0: there is no function; -errno: it is gone, or another one. */
ssize_t script_function_name(int process, const struct script_program *program, uint64_t code,
			     char name[SCRIPT_NAME_BYTES]);
