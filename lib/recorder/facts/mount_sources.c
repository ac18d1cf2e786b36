// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sources of mounts, without what may be secret: davfs2, rclone and the like have a URL there, with a user, a
 * password and a token.  Of "https://bob:secret@host/share?token=1" is left "https://host/share".
 */
#define _GNU_SOURCE
#include <string.h>
#include "facts/internal.h"

static bool ends_with(const char *path, const char *end)
{
	size_t length = strlen(path), wanted = strlen(end);

	return length >= wanted && strcmp(path + length - wanted, end) == 0;
}

/* Where the source begins in a line of mountinfo, "36 35 98:0 / /mnt rw - TYPE SOURCE OPTIONS", or of mountstats. */
static char *source_of(char *line, char *end)
{
	char *at;

	if ((size_t)(end - line) > strlen("device ") && strncmp(line, "device ", strlen("device ")) == 0)
		return line + strlen("device ");
	at = memmem(line, end - line, " - ", 3);
	at = at ? memchr(at + 3, ' ', end - at - 3) : NULL;
	return at ? at + 1 : NULL;
}

/* The kernel writes '#' as \043. */
static char *query_of(char *source, char *end)
{
	for (char *at = source; at < end; at++)
		if (*at == '?' || *at == '#' || (end - at >= 4 && strncmp(at, "\\043", 4) == 0))
			return at;
	return end;
}

/* Cuts what may be secret out of [source, end); returns the new end. */
static char *cut_source(char *source, char *end)
{
	char *host = memmem(source, end - source, "://", 3), *slash, *at;

	if (host) {
		host += 3;
		end = query_of(host, end);
		slash = end; /* a password may have slashes */
	} else {
		host = source; /* "bob:secret@host:/share"; a snapshot has its '@' behind a slash */
		slash = memchr(host, '/', end - host);
		slash = slash ? slash : end;
	}
	at = memrchr(host, '@', slash - host);
	if (!at)
		return end;
	memmove(host, at + 1, end - at - 1);
	return end - (at + 1 - host);
}

void fact_cut_mount_sources(const char *path, struct fact_text *fact)
{
	char *end = fact->text + fact->length, *to = fact->text;

	if (!ends_with(path, "/mountinfo") && !ends_with(path, "/mountstats"))
		return;
	for (char *line = fact->text; line < end;) {
		char *newline = memchr(line, '\n', end - line);
		char *next = newline ? newline + 1 : end;
		char *source = source_of(line, next), *blank, *kept;

		if (!newline && fact->truncated)
			break; /* the '@' that tells a password may be behind what is kept */
		blank = source ? memchr(source, ' ', next - source) : NULL;
		if (blank) {
			kept = cut_source(source, blank);
			memmove(to, line, kept - line);
			to += kept - line;
			line = blank;
		}
		memmove(to, line, next - line);
		to += next - line;
		line = next;
	}
	fact->length = to - fact->text;
}
