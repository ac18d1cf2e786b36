/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A streaming writer of JSON Lines.  Every string is treated as hostile bytes: all but printable ASCII is escaped,
 * and what is not valid UTF-8 becomes U+FFFD, so a line is always valid JSON and nothing but ASCII.
 *
 * A failed allocation (or nesting deeper than closers) is remembered and reported once, by json_write(), as -ENOMEM.
 * A struct json is all zeroes at first and can be used for many lines.  Usage:
 *
 *	json_open(&j, "event");
 *	json_u64(&j, "at_ns", now);
 *	json_text(&j, "name", "exec");
 *	json_array(&j, "values"); json_u64(&j, NULL, 1); json_end(&j);
 *	err = json_write(&j, output);
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output; /* output.h */

struct json {
	char *data;
	size_t length, capacity;
	char closers[16]; /* the brackets still open, innermost last */
	unsigned int depth;
	bool comma, failed;
};

void json_open(struct json *j, const char *type); /* begins a line: {"type":"TYPE" */
void json_bytes(struct json *j, const char *key, const void *bytes, size_t length);
void json_text(struct json *j, const char *key, const char *text); /* NULL is written as null */
void json_format(struct json *j, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
void json_u64(struct json *j, const char *key, uint64_t value);
void json_bool(struct json *j, const char *key, bool value);
void json_object(struct json *j, const char *key); /* key NULL inside arrays, here and above */
void json_array(struct json *j, const char *key);
void json_end(struct json *j);			       /* closes the innermost object or array */
int json_write(struct json *j, struct output *output); /* closes the line and writes it: 0 or -errno */
void json_free(struct json *j);
