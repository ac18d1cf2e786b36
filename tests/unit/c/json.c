// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: output/json.c output/output.c */
/* WRAPS: realloc */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "output/json.h"
#include "output/output.h"
#include "check.h"

static int allocations_left = -1; /* -1: as many as you like */

void *__real_realloc(void *pointer, size_t size);
void *__wrap_realloc(void *pointer, size_t size);

void *__wrap_realloc(void *pointer, size_t size)
{
	if (allocations_left == 0)
		return NULL;
	if (allocations_left > 0)
		allocations_left--;
	return __real_realloc(pointer, size);
}

/* The line that json_write() writes, without its newline. */
static int written(struct json *j, char *line, size_t size)
{
	struct output output = {};
	int fd = memfd_create("recording", 0), copy = dup(fd);
	ssize_t length;
	int err;

	output_add(&output, fd, "recording");
	err = json_write(j, &output);
	output_close(&output);
	length = pread(copy, line, size - 1, 0);
	close(copy);
	line[length > 0 ? length : 0] = '\0';
	if (length > 0 && line[length - 1] == '\n')
		line[length - 1] = '\0';
	return err;
}

static void check_bytes(const char *bytes, size_t length, const char *should)
{
	char line[4096], whole[4096];
	struct json j = {};

	json_open(&j, "t");
	json_bytes(&j, "b", bytes, length);
	CHECK_NUMBER(written(&j, line, sizeof(line)), 0);
	snprintf(whole, sizeof(whole), "{\"type\":\"t\",\"b\":\"%s\"}", should);
	CHECK_TEXT(line, whole);
	json_free(&j);
}
#define CHECK_BYTES(bytes, should) check_bytes(bytes, sizeof(bytes) - 1, should)

static void escapes_strings(void)
{
	CHECK_BYTES("", "");
	CHECK_BYTES("plain ~", "plain ~");
	CHECK_BYTES("\"\\/", "\\\"\\\\/");
	CHECK_BYTES("\0\n\t\x1b[31m\x7f", "\\u0000\\u000a\\u0009\\u001b[31m\\u007f");
	CHECK_BYTES("\xc2\x9b", "\\u009b"); /* the one-character form of ESC [ */
	CHECK_BYTES("\xe2\x80\xa8", "\\u2028");
	CHECK_BYTES("\xf0\x9f\x98\x80", "\\ud83d\\ude00");
	CHECK_BYTES("\xf4\x8f\xbf\xbf", "\\udbff\\udfff");
}

static void replaces_what_is_not_utf8(void)
{
	CHECK_BYTES("a\x80z", "a\\ufffdz");
	CHECK_BYTES("\xff\xfe", "\\ufffd\\ufffd");
	CHECK_BYTES("\xc0\xaf", "\\ufffd\\ufffd");			 /* overlong / */
	CHECK_BYTES("\xe0\x80\xaf", "\\ufffd\\ufffd\\ufffd");		 /* overlong / */
	CHECK_BYTES("\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd");		 /* surrogate */
	CHECK_BYTES("\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"); /* beyond U+10FFFF */
	CHECK_BYTES("\xe2\x82", "\\ufffd");				 /* cut short at the end */
	CHECK_BYTES("\xe2\x82\"", "\\ufffd\\\"");			 /* and before a character of its own */
}

static void writes_every_kind(void)
{
	char line[4096];
	struct json j = {};

	json_open(&j, "kinds");
	json_u64(&j, "u", UINT64_MAX);
	json_bool(&j, "yes", true);
	json_bool(&j, "no", false);
	json_text(&j, "none", NULL);
	json_text(&j, "k\"\n", "v");
	json_format(&j, "f", "%d:%s", 7, "\x01");
	json_array(&j, "a");
	json_u64(&j, NULL, 1);
	json_array(&j, NULL);
	json_end(&j);
	json_object(&j, NULL);
	json_u64(&j, "x", 2);
	json_end(&j);
	json_end(&j);
	json_bool(&j, "last", true);
	CHECK_NUMBER(written(&j, line, sizeof(line)), 0);
	CHECK_TEXT(line, "{\"type\":\"kinds\",\"u\":18446744073709551615,\"yes\":true,"
			 "\"no\":false,\"none\":null,\"k\\\"\\u000a\":\"v\",\"f\":\"7:\\u0001\","
			 "\"a\":[1,[],{\"x\":2}],\"last\":true}");
	json_free(&j);
}

static void closes_what_is_open(void)
{
	char line[4096];
	struct json j = {};

	json_open(&j, "t");
	json_array(&j, "a");
	json_object(&j, NULL);
	CHECK_NUMBER(written(&j, line, sizeof(line)), 0);
	CHECK_TEXT(line, "{\"type\":\"t\",\"a\":[{}]}");
	json_free(&j);
}

static void nests_as_deep_as_it_can_remember(void)
{
	char line[4096];
	struct json j = {};

	json_open(&j, "t");
	json_array(&j, "a");
	for (size_t depth = 2; depth < sizeof(j.closers); depth++)
		json_array(&j, NULL);
	CHECK_NUMBER(written(&j, line, sizeof(line)), 0);
	CHECK_TEXT(line, "{\"type\":\"t\",\"a\":[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]}");

	json_open(&j, "t");
	json_array(&j, "a");
	for (size_t depth = 2; depth < sizeof(j.closers) + 1; depth++)
		json_array(&j, NULL);
	CHECK_NUMBER(written(&j, line, sizeof(line)), -ENOMEM);
	CHECK_TEXT(line, "");

	json_open(&j, "t");
	json_end(&j);
	json_end(&j);
	CHECK_NUMBER(written(&j, line, sizeof(line)), -ENOMEM);
	CHECK_TEXT(line, "");
	json_free(&j);
}

static void survives_failed_allocations(void)
{
	static char large[100000], line[200000];
	struct json j = {};
	int failures = 0;

	memset(large, 'x', sizeof(large) - 1);
	for (int allowed = 0; allowed < 10; allowed++) {
		allocations_left = allowed;
		json_open(&j, "t");
		json_text(&j, "large", large);
		json_u64(&j, "n", 1);
		allocations_left = -1;
		if (written(&j, line, sizeof(line)) == 0)
			break;
		failures++;
		CHECK_TEXT(line, "");
	}
	CHECK(failures >= 1 && failures < 10);
	CHECK_NUMBER(strlen(line), strlen(large) + strlen("{'type':'t','large':'','n':1}"));
	json_free(&j);
	CHECK(!j.data);
}

static void counts_a_lost_line(void)
{
	struct output output = {};
	struct json j = {};

	output_add(&output, memfd_create("recording", 0), "recording");
	allocations_left = 0;
	json_open(&j, "t");
	allocations_left = -1;
	CHECK_NUMBER(json_write(&j, &output), -ENOMEM);
	CHECK_NUMBER(output.lines_lost, 1);
	output_close(&output);
	json_free(&j);
}

int main(void)
{
	RUN(escapes_strings);
	RUN(replaces_what_is_not_utf8);
	RUN(writes_every_kind);
	RUN(closes_what_is_open);
	RUN(nests_as_deep_as_it_can_remember);
	RUN(survives_failed_allocations);
	RUN(counts_a_lost_line);
	return check_result();
}
