// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "output/json.h"
#include "output/output.h"

#define FIRST_CAPACITY 1024
#define REPLACEMENT 0xfffd

/* Makes room for length more bytes; after a failure nothing is added any more. */
static bool reserve(struct json *j, size_t length)
{
	size_t capacity = j->capacity ?: FIRST_CAPACITY;
	char *data;

	if (j->failed)
		return false;
	if (length <= j->capacity - j->length)
		return true;
	while (capacity - j->length < length) {
		if (capacity > SIZE_MAX / 2)
			goto failed;
		capacity *= 2;
	}
	data = realloc(j->data, capacity);
	if (!data)
		goto failed;
	j->data = data;
	j->capacity = capacity;
	return true;
failed:
	j->failed = true;
	return false;
}

static void put(struct json *j, const char *data, size_t length)
{
	if (!reserve(j, length))
		return;
	memcpy(j->data + j->length, data, length);
	j->length += length;
}

static void put_char(struct json *j, char c)
{
	put(j, &c, 1);
}

/*
 * Takes one code point off [*bytes, end).  A sequence that is not UTF-8 (stray, cut short, overlong, a surrogate,
 * beyond U+10FFFF) gives U+FFFD once for the longest start that could have become valid, as the Unicode standard
 * recommends and as Python's decoder does.
 */
static uint32_t next_code_point(const uint8_t **bytes, const uint8_t *end)
{
	uint8_t first = *(*bytes)++, low = 0x80, high = 0xbf;
	unsigned int following;
	uint32_t code;

	if (first < 0x80)
		return first;
	if (first >= 0xc2 && first <= 0xdf) {
		following = 1;
		code = first & 0x1f;
	} else if (first >= 0xe0 && first <= 0xef) {
		following = 2;
		code = first & 0x0f;
		if (first == 0xe0)
			low = 0xa0; /* below: overlong */
		if (first == 0xed)
			high = 0x9f; /* above: surrogates */
	} else if (first >= 0xf0 && first <= 0xf4) {
		following = 3;
		code = first & 0x07;
		if (first == 0xf0)
			low = 0x90; /* below: overlong */
		if (first == 0xf4)
			high = 0x8f; /* above: beyond U+10FFFF */
	} else {
		return REPLACEMENT;
	}
	while (following--) {
		if (*bytes == end || **bytes < low || **bytes > high)
			return REPLACEMENT;
		code = code << 6 | (*(*bytes)++ & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	return code;
}

/*
 * Everything but printable ASCII is escaped, so that a recording is plain ASCII: no reader splits a line at U+2028,
 * and a terminal that shows the raw file obeys nothing in it.
 */
static void put_code_point(struct json *j, uint32_t code)
{
	char text[24];
	int length;

	if (code == '"' || code == '\\')
		length = sprintf(text, "\\%c", (char)code);
	else if (code >= 0x20 && code < 0x7f)
		length = sprintf(text, "%c", (char)code);
	else if (code < 0x10000)
		length = sprintf(text, "\\u%04x", code);
	else
		length = sprintf(text, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
				 0xdc00 + ((code - 0x10000) & 0x3ff));
	put(j, text, length);
}

static void put_string(struct json *j, const void *bytes, size_t length)
{
	const uint8_t *at = bytes, *end = at + length;

	put_char(j, '"');
	while (at < end) {
		const uint8_t *plain = at;

		while (at < end && *at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\')
			at++;
		put(j, (const char *)plain, at - plain);
		if (at < end)
			put_code_point(j, next_code_point(&at, end));
	}
	put_char(j, '"');
}

/* Separator and key: what stands before every value. */
static void begin_value(struct json *j, const char *key)
{
	if (j->comma)
		put_char(j, ',');
	j->comma = true;
	if (key) {
		put_string(j, key, strlen(key));
		put_char(j, ':');
	}
}

static void begin_nesting(struct json *j, char opener, char closer)
{
	if (j->depth == sizeof(j->closers)) {
		j->failed = true;
		return;
	}
	put_char(j, opener);
	j->closers[j->depth++] = closer;
	j->comma = false;
}

void json_open(struct json *j, const char *type)
{
	j->length = 0;
	j->depth = 0;
	j->comma = false;
	j->failed = false;
	begin_nesting(j, '{', '}');
	json_text(j, "type", type);
}

void json_bytes(struct json *j, const char *key, const void *bytes, size_t length)
{
	begin_value(j, key);
	put_string(j, bytes, length);
}

void json_text(struct json *j, const char *key, const char *text)
{
	begin_value(j, key);
	if (text)
		put_string(j, text, strlen(text));
	else
		put(j, "null", 4);
}

void json_format(struct json *j, const char *key, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0) {
		text = NULL; /* undefined after a failure */
		j->failed = true;
		return;
	}
	json_bytes(j, key, text, length);
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	char text[24];

	begin_value(j, key);
	put(j, text, sprintf(text, "%" PRIu64, value));
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin_value(j, key);
	put(j, value ? "true" : "false", value ? 4 : 5);
}

void json_object(struct json *j, const char *key)
{
	begin_value(j, key);
	begin_nesting(j, '{', '}');
}

void json_array(struct json *j, const char *key)
{
	begin_value(j, key);
	begin_nesting(j, '[', ']');
}

void json_end(struct json *j)
{
	if (!j->depth) {
		j->failed = true;
		return;
	}
	put_char(j, j->closers[--j->depth]);
	j->comma = true;
}

int json_write(struct json *j, struct output *output)
{
	while (j->depth)
		json_end(j);
	if (j->failed) {
		output->lines_lost++;
		return -ENOMEM;
	}
	return output_line(output, j->data, j->length);
}

void json_free(struct json *j)
{
	free(j->data);
	*j = (struct json){};
}
