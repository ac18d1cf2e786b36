/* SPDX-License-Identifier: GPL-2.0-only */
/* SQL statements, measured in the servers that were recognised (bpf/sql). */
#pragma once
#include <stdint.h>
#include <sys/types.h>
#include "apps/exports.h"
#include "recorder.h"

/*
 * Attaches to the program that a process runs, at these offsets of its file.  NULL, or why its statements are not measured.
 */
const char *statements_attach(struct recorder *recorder, enum sql_server server, pid_t pid,
			      const uint64_t offsets[FUNCTIONS_MAX]);
void statements_detach(void);
void statements_write(struct recorder *recorder);
