/* SPDX-License-Identifier: GPL-2.0-only */
/* SQL statements, measured in the servers that were recognised (bpf/sql). */
#pragma once
#include <stdint.h>
#include <sys/types.h>
#include "apps/exports.h"
#include "recorder.h"

/*
 * Attaches to the program file `fd` at these offsets, which were read through the same descriptor: a path may name another
 * file by now.  NULL, or why its statements are not measured.
 */
const char *statements_attach(struct recorder *recorder, enum sql_server server, int fd,
			      const uint64_t offsets[FUNCTIONS_MAX]);
void statements_detach(void);
void statements_write(struct recorder *recorder);

/* Of statements that the target runs, and of those that it asks for, alike. */
const char *sql_server_name(unsigned int server);
const char *statement_kind_name(unsigned int kind);
void digest_write(struct json *json, const struct kept_digest *digest); /* "name", "cut" */
