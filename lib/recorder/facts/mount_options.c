// SPDX-License-Identifier: GPL-2.0-only
/*
 * The options of mounts, without what may be secret: of "key=value" the value is kept where it is a number, an address
 * or one of the words below, and the key does not say that it is a secret.  What is cut becomes '#'.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <string.h>
#include "facts/internal.h"

#define MOST_DIGITS 20
#define MOST_ADDRESS 45 /* of IPv6 */
#define MOST_FLAG 24

/* A key that has one of these in its name. */
static const char *const SECRETIVE[] = {
	"auth", "cookie", "cred", "key", "pass", "pwd", "secret", "session", "token", NULL,
};

static const char *const ADDRESSES[] = { "addr", "clientaddr", "mountaddr", "srcaddr", NULL };

static const char *const WORDS[] = {
	/* of NFS and CIFS */
	"sys", "krb5", "krb5i", "krb5p", "none", "tcp", "tcp6", "udp", "udp6", "rdma", "rdma6", "all", "pos",
	"positive", "posix", "flock", "mtls", "tls", "eager", "wait", "write", "strict", "loose", "ntlmv2", "ntlmssp",
	"native", "default",
	/* of 9p and FUSE */
	"any", "client", "fd", "user", "virtio", "xen", "unix", "fscache", "mmap", "readahead",
	/* of disks */
	"ordered", "journal", "writeback", "writethrough", "continue", "panic", "remount-ro", "recover", "shutdown",
	"lazy", "reset", "lzo", "lz4", "zlib", "zstd", "sync", "async", "xattr", "noxattr", "posixacl", "noacl",
	"adaptive", "lfs", "unfair", "off", "on", "auto", "no", "yes", "metadata", "redirect", "redirect_dir",
	"nofollow",
	/* of memory and of others of the kernel */
	"always", "never", "within_size", "advise", "deny", "force", "interleave", "local", "prefer", "bind",
	"invisible", "noaccess", "ptraceable", "strong", "relaxed", NULL
};

struct span {
	const char *text;
	size_t length;
};

static bool is(struct span of, const char *word)
{
	return strlen(word) == of.length && strncmp(word, of.text, of.length) == 0;
}

static bool is_one_of(struct span of, const char *const *words)
{
	for (; *words; words++)
		if (is(of, *words))
			return true;
	return false;
}

static bool is_secretive(struct span key)
{
	for (size_t i = 0; i < key.length; i++)
		for (const char *const *word = SECRETIVE; *word; word++)
			if (strlen(*word) <= key.length - i && strncmp(key.text + i, *word, strlen(*word)) == 0)
				return true;
	return false;
}

/* "4.2", "1002048k", "50%": digits, and a unit. */
static bool is_number(struct span value)
{
	size_t i = 0;

	while (i < value.length && (isdigit((unsigned char)value.text[i]) || (i && value.text[i] == '.')))
		i++;
	if (!i || value.length > MOST_DIGITS)
		return false;
	return i == value.length || (i + 1 == value.length && strchr("kKmMgGtT%", value.text[i]));
}

static bool is_address(struct span value)
{
	for (size_t i = 0; i < value.length; i++)
		if (!isxdigit((unsigned char)value.text[i]) && !strchr(".:", value.text[i]))
			return false;
	return value.length <= MOST_ADDRESS;
}

/* The name of a hierarchy stands in /proc/PID/cgroup, too, and its value must be found again there. */
static bool is_hierarchy(struct span type, struct span key)
{
	return is(type, "cgroup") && is(key, "name");
}

/* "zstd:15": one of the words, and a level of it. */
static bool has_level(struct span value)
{
	const char *colon = memchr(value.text, ':', value.length);
	size_t word = colon ? colon - value.text : 0;

	return colon && is_one_of((struct span){ value.text, word }, WORDS) &&
	       is_number((struct span){ colon + 1, value.length - word - 1 });
}

static bool is_kept(struct span type, struct span key, struct span value)
{
	if (!value.length || is_hierarchy(type, key))
		return true;
	if (is_secretive(key))
		return false;
	return is_number(value) || is_one_of(value, WORDS) || has_level(value) ||
	       (is_one_of(key, ADDRESSES) && is_address(value));
}

/* A word that may be the rest of a value with a comma in it is none. */
static bool is_flag(struct span option)
{
	for (size_t i = 0; i < option.length; i++)
		if (!islower((unsigned char)option.text[i]) && !isdigit((unsigned char)option.text[i]) &&
		    !strchr("_-.", option.text[i]))
			return false;
	return option.length <= MOST_FLAG;
}

static size_t kept_of(struct span type, struct span option)
{
	const char *equals = memchr(option.text, '=', option.length);
	struct span key = { option.text, equals ? (size_t)(equals - option.text) : option.length }, value;

	if (!is_flag(key))
		return 0;
	if (!equals)
		return option.length;
	value = (struct span){ equals + 1, option.length - key.length - 1 };
	return is_kept(type, key, value) ? option.length : key.length + 1;
}

char *fact_cut_mount_options(const char *type, size_t type_length, char *options, char *end)
{
	const struct span of = { type, type_length };
	char *to = options;

	for (char *at = options; at < end;) {
		char *comma = memchr(at, ',', end - at);
		struct span option = { at, (comma ? comma : end) - at };
		size_t kept = kept_of(of, option);

		memmove(to, at, kept);
		to += kept;
		if (kept < option.length)
			*to++ = '#';
		at += option.length;
		if (comma) {
			*to++ = ',';
			at++;
		}
	}
	return to;
}
