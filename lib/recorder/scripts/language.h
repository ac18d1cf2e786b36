/* SPDX-License-Identifier: GPL-2.0-only */
/* What is to be known of the interpreters of one language. */
#pragma once
#include "scripts/interpreters.h"

struct script_language {
	/* Whether a file of that name can be its interpreter. */
	bool (*is_file)(const char *name);
	/* Fills in layout, mark and interpreter; 0, -ENOEXEC of a version that is not known, -ENOENT: it is none. */
	int (*find)(struct loaded_object *object, const char *name, struct script_program *program);
	/* Writes at most SCRIPT_NAME_BYTES; 0: there is no function. */
	size_t (*name_of)(int memory, const struct script_program *program, uint64_t code, char *name);
};

extern const struct script_language script_perl, script_php, script_python, script_ruby, script_v8;

/* Control characters become "?". */
void script_text_clean(char *text);
/* "function (path:line)", of the path as much of its end as there is room for; line 0: not known. */
size_t script_name_write(char *name, const char *function, const char *path, uint32_t line);
