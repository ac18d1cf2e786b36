/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts the addresses in stacks that got no name, by file and reason. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "output/json.h"
#include "output/output.h"
#include "symbols/symbols.h"

#define UNNAMED_FILES 64
#define UNNAMED_FILE_BYTES 101

struct unnamed {
	struct unnamed_file {
		char file[UNNAMED_FILE_BYTES]; /* "": not known which, or one of those without room */
		enum symbol_lack lack;
		uint64_t addresses;
	} files[UNNAMED_FILES + LACKS]; /* and for each reason one of all files without room */
	size_t count;
};

/* An address with a lack, as user_symbols_resolve() left it the last time. */
void unnamed_add(struct unnamed *unnamed, const struct user_address *address);
void unnamed_write(const struct unnamed *unnamed, struct json *json, struct output *output);
