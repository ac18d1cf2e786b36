/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The launcher's part for hosts without memory, where perfdiag is what goes, never what it was asked to look at.
 * Python goes before the recorder: it takes more, and the recorder ends with it anyway.
 */
#pragma once
#include <stdbool.h>

#define RECORDER_OOM_SCORE "999"
#define NEEDED_MEBIBYTES 60 /* recorder, its programs (while they are checked) and Python together */

/* Whether perfdiag can have the memory that it needs. */
bool has_room(void);
/* Leaves a child behind that says why this process ended, if the OOM killer did it; see start_watcher(). */
int start_watcher(void);
/* Returns the score as it was, NULL where it could not be changed. */
const char *offer_to_oom_killer(const char *score);
/* The same for what is to be Python.  A command that is to be recorded gets its own score back (held_command.py). */
void go_first(void);
