/* SPDX-License-Identifier: GPL-2.0-only */
/* A script that records, as script.c and script_output.c share it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "script/engine.h"
#include "recorder.h"

#define LINE_BYTES (1 << 20) /* of one thread it is hardly more than 1,000 */

struct script {
	const struct engine *engine;
	pid_t pid;
	int output;	       /* what it prints */
	FILE *messages;	       /* what it says to people */
	int target;	       /* the pidfd of what it traces */
	int timer;	       /* of the duration */
	bool begun;	       /* its header has come */
	bool facts_ended;      /* those of the end are written */
	uint64_t started_ns;   /* itself */
	uint64_t start_ns;     /* of its window */
	uint64_t told_ns;      /* when it was told to end; 0: not yet */
	uint64_t told_last_ns; /* when it was told again */
	size_t files;	       /* that it had open when it was told */
	unsigned long kills;   /* of the OOM killer until it was started */
	const char *because;   /* it was chosen for this; NULL: by who asked */
	char line[LINE_BYTES];
	size_t length;
};

/* Passes on what came, by whole lines; 1: there is more to come, 0: that was all, -errno. */
int script_pass_on(struct script *script, struct recorder *recorder);
/* The host's facts at the end, once; before the footer. */
void script_end_facts(struct script *script, struct recorder *recorder);
/* Waits for it; who has closed its output has ended, or is about to.  `err`: it is given up already.  0 or -errno. */
int script_reap(const struct script *script, struct lack *lack, int err, int *status);
/* Whether it ended as it should: when it was told, or by itself because its target had gone.  0 or -errno, in `lack`. */
int script_check_end(const struct script *script, struct recorder *recorder, int status);
