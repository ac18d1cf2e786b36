/* SPDX-License-Identifier: GPL-2.0-only */
/* The recorder's side of interpreters.h: the functions of scripts that samples were in, and their names. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/types.h>
#include "core/records.h"
#include "output/json.h"
#include "output/output.h"
#include "scripts/interpreters.h"

/* Asks for the names of functions that are met for the first time: they may be gone when the window ends. */
void script_names_meet(pid_t pid, const uint64_t *code, size_t count);
/* An interpreter of that name was met, whose functions can be read, or not. */
void script_files_met(const char file[SCRIPT_FILE_BYTES], bool known);
void script_files_write(struct json *json, struct output *output);
/* An answer; length 0: there is no function (no_function), or it could not be read. */
void script_names_take(pid_t pid, uint64_t code, const char *text, size_t length, bool no_function);
/* Nobody answers any more what was asked so far: it is asked for again when it is met again. */
void script_names_forget_unanswered(void);
/* Writes an array of names, innermost first, without what is no function; "0x1234" where the name is not known. */
void script_names_write(struct json *json, const char *key, pid_t pid, const uint64_t *code, size_t count);
void script_names_free(void);
