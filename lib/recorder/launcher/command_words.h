/* SPDX-License-Identifier: GPL-2.0-only */
/* What the words of a command ask for. */
#pragma once
#include <stdbool.h>

/*
 * As the words behind a command are understood by Python; after "--" they are another command's.  Returns the value of
 * the last option of that name, "" where it has none, NULL where it is not given.
 */
const char *option_value(char **argv, const char *option);
bool has_option(char **argv, const char *option);
/* Does this command record? */
bool needs_recorder(int argc, char **argv);
