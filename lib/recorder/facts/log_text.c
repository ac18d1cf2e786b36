// SPDX-License-Identifier: GPL-2.0-only
/*
 * The text of a record of the kernel log without what users named.  The kernel quotes names of files, options and
 * processes, as a rule, and anybody who may mount in a namespace of his own has it quote anything.  What stands between
 * quotes becomes '#', and so does a path with all behind it: where a path ends, nothing tells.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <string.h>
#include "facts/internal.h"

#define CUT_FROM 900 /* letters; of a text with about a thousand the kernel has cut the end, and with it a quote */

/* What these begin is of the kernel, or needed as it is: the OOM killer's is read by its form. */
static const char *const WHOLE[] = {
	"clocksource: ", "oom-kill:", "Out of memory", "Memory cgroup out of memory",
	"oom_reaper: ",	 "Tasks in ", "Kill process ", "Killed process ",
};

/* A name stands behind these that is neither quoted nor a whole path. */
static const char *const BEFORE_NAMES[] = { "path: ", "file: ", "NFS: directory " };

static bool is_quote(char letter)
{
	return letter == '\'' || letter == '"' || letter == '`';
}

/* "can't" holds none. */
static char *find_opening(char *text)
{
	for (char *at = text; *at; at++)
		if (is_quote(*at) && (at == text || !isalnum((unsigned char)at[-1])))
			return at;
	return NULL;
}

/* A name may hold quotes: the last one ends it. */
static void hide_quoted(char *text)
{
	size_t length = strlen(text);
	char *opening = find_opening(text), *end = text + length;

	if (!opening || !opening[1])
		return;
	if (length < CUT_FROM)
		while (end > opening + 1 && !is_quote(end[-1]))
			end--;
	if (length >= CUT_FROM || end == opening + 1)
		end = text + length + 1; /* there is none */
	if (end - 1 == opening + 1)
		return; /* nothing is quoted */
	opening[1] = '#';
	memmove(opening + 2, end - 1, text + length + 1 - (end - 1));
}

/* "/dev/sda1" or "/dev/mapper/data": names of devices. */
static size_t device_length(const char *path)
{
	static const char *const beginnings[] = { "/dev/mapper/", "/dev/" };

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
		size_t length = strlen(beginnings[i]);

		if (strncmp(path, beginnings[i], length))
			continue;
		length += strcspn(path + length, "/ ,;:()'\"");
		return path[length] == '/' ? 0 : length;
	}
	return 0;
}

/* "I/O" and "read/64" are none. */
static char *find_path(char *text)
{
	for (char *at = text; (at = strchr(at, '/')); at++) {
		size_t length = device_length(at);

		if (at > text && (isalnum((unsigned char)at[-1]) || strchr(".-_%)]", at[-1])))
			continue;
		if (!at[1] || at[1] == ' ')
			continue;
		if (!length)
			return at;
		at += length - 1;
	}
	return NULL;
}

static void hide_from(char *name)
{
	if (name && *name)
		strcpy(name, "#");
}

void fact_hide_names(char *text)
{
	for (size_t i = 0; i < sizeof(WHOLE) / sizeof(*WHOLE); i++)
		if (!strncmp(text, WHOLE[i], strlen(WHOLE[i])))
			return;
	hide_quoted(text);
	for (size_t i = 0; i < sizeof(BEFORE_NAMES) / sizeof(*BEFORE_NAMES); i++) {
		char *found = strstr(text, BEFORE_NAMES[i]);

		hide_from(found ? found + strlen(BEFORE_NAMES[i]) : NULL);
	}
	hide_from(find_path(text));
}
