// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sources of mounts, without what may be secret.  davfs2, rclone and the like have a URL there, with a user, a
 * password and a token, CIFS has "//server/share%password": of "https://bob:secret@host/share?token=1" is left
 * "https://host/share".  A source without a server may be any text that who mounted it chose.
 */
#define _GNU_SOURCE
#include <string.h>
#include "facts/internal.h"

#define HASH "\\043" /* as the kernel writes '#' */

static bool ends_with(const char *path, const char *end)
{
	size_t length = strlen(path), wanted = strlen(end);

	return length >= wanted && strcmp(path + length - wanted, end) == 0;
}

static bool begins_with(const char *text, const char *end, const char *begin)
{
	return (size_t)(end - text) >= strlen(begin) && strncmp(text, begin, strlen(begin)) == 0;
}

/* The first of some characters in [text, end), or end. */
static char *first_of(char *text, char *end, const char *characters)
{
	for (; text < end; text++)
		if (strchr(characters, *text) || (strchr(characters, '#') && begins_with(text, end, HASH)))
			return text;
	return end;
}

/*
 * Where a user and a password end at the latest: a password may have slashes, a path that follows no name of a server
 * may have an '@', as that of a snapshot has.
 */
static char *reach_of(char *host, char *end, bool url)
{
	char *slash = memchr(host, '/', end - host), *colon = memchr(host, ':', end - host);
	bool has_password = colon && slash && colon + 1 < slash;

	return url || has_password || !slash ? end : slash;
}

/* Cuts what may be secret out of [source, end); returns the new end. */
static char *cut_source(char *source, char *end, bool ceph)
{
	char *scheme = memmem(source, end - source, "://", 3), *host = source, *at, *cut;
	bool lacks_slash = begins_with(source, end, "http:/") || begins_with(source, end, "https:/");

	if (begins_with(source, end, "/dev/"))
		return end;
	if (scheme)
		host = scheme + 3;
	else if (lacks_slash)
		host = (char *)memchr(source, '/', end - source) + 1;
	else if (begins_with(source, end, "//"))
		host = source + 2;
	at = memrchr(host, '@', reach_of(host, end, scheme || lacks_slash) - host);
	if (at && first_of(host, at, "?#;=") < at) { /* of a password, or of a query: nobody can tell */
		*host = '#';
		return host + 1;
	}
	if (at) {
		memmove(host, at + 1, end - at - 1);
		end -= at + 1 - host;
	}
	cut = first_of(host, end, "?#;%=");
	if (ceph && begins_with(cut, end, "=/")) /* "fsid.name=/path" */
		cut = first_of(cut + 1, end, "?#;%=");
	return cut;
}

/* What stands where in a line. */
struct mount {
	const char *type;
	size_t type_length;
	char *source, *source_end;
	char *options, *options_end; /* of the file system; those of the mount are words without a value */
};

/* "36 35 98:0 / /mnt rw - TYPE SOURCE OPTIONS" of mountinfo. */
static bool parse_mountinfo(char *line, char *end, struct mount *mount)
{
	char *type = memmem(line, end - line, " - ", 3), *blank;

	if (!type)
		return false;
	type += 3;
	blank = memchr(type, ' ', end - type);
	if (!blank)
		return false;
	mount->type = type;
	mount->type_length = blank - type;
	mount->source = blank + 1;
	blank = memchr(blank + 1, ' ', end - blank - 1);
	mount->source_end = blank ? blank : end;
	mount->options = blank ? blank + 1 : end;
	mount->options_end = end;
	return true;
}

/* "device SOURCE mounted on /mnt with fstype TYPE" of mountstats, and "opts: OPTIONS" of one of NFS. */
static bool parse_mountstats(char *line, char *end, struct mount *mount)
{
	static const char device[] = "device ", options[] = "\topts:\t";

	*mount = (struct mount){ .type = "" };
	if (begins_with(line, end, device)) {
		mount->source = line + strlen(device);
		mount->source_end = memmem(mount->source, end - mount->source, " mounted on ", strlen(" mounted on "));
		mount->source_end = mount->source_end ? mount->source_end : end;
		mount->options = mount->options_end = end;
		mount->type_length = 0;
		return true;
	}
	if (!begins_with(line, end, options))
		return false;
	mount->source = mount->source_end = line;
	mount->options = line + strlen(options);
	mount->options_end = end;
	return true;
}

static char *moved(char *to, const char *from, const char *end)
{
	memmove(to, from, end - from);
	return to + (end - from);
}

/* Writes a line without its secrets at `to`, which is no later; returns the end of it. */
static char *write_line(char *to, char *line, char *end, const struct mount *mount)
{
	bool ceph = mount->type_length == strlen("ceph") && strncmp(mount->type, "ceph", strlen("ceph")) == 0;
	char *options_end = fact_cut_mount_options(mount->type, mount->type_length, mount->options, mount->options_end);
	char *source_end = cut_source(mount->source, mount->source_end, ceph);

	to = moved(to, line, source_end);
	to = moved(to, mount->source_end, options_end);
	return moved(to, mount->options_end, end);
}

void fact_cut_mounts(const char *path, struct fact_text *fact)
{
	bool (*parse)(char *, char *, struct mount *) = ends_with(path, "/mountinfo")	 ? parse_mountinfo
							: ends_with(path, "/mountstats") ? parse_mountstats
											 : NULL;
	char *end = fact->text + fact->length, *to = fact->text;

	for (char *line = fact->text; parse && line < end;) {
		char *newline = memchr(line, '\n', end - line), *line_end = newline ? newline : end;
		struct mount mount;

		if (!newline && fact->truncated)
			break; /* the '@' that tells a password may be behind what is kept */
		to = parse(line, line_end, &mount) ? write_line(to, line, line_end, &mount) : moved(to, line, line_end);
		if (newline)
			*to++ = '\n';
		line = line_end + (newline ? 1 : 0);
	}
	fact->length = parse ? (size_t)(to - fact->text) : fact->length;
}
