/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a request is called where plain text shows it: method and path of HTTP/1, "GET /users/#/orders".  Without the
 * query; a part of the path with a digit in it is somebody's number or key ("v1" is not).  The same for the programs
 * and for a name that somebody types.
 */
#pragma once
#include <stdbool.h>

#define REQUEST_BYTES 64 /* looked at */

struct naming {
	char text[REQUEST_BYTES] __attribute__((aligned(8)));
	struct object_name name;
	__u32 bytes;	       /* of the text that have come in: behind them stands what came before */
	__u32 length, part;    /* written so far, and where the part of the path begins */
	__u64 hash, part_hash; /* begun with a seed: nobody can send what is taken for another's name */
	bool in_path, skips;
	bool whole; /* the path has ended */
};

static inline bool is_version(const struct naming *naming)
{
	return naming->length == naming->part + 1 && naming->part < REQUEST_NAME_BYTES &&
	       naming->name.request.text[naming->part] == 'v';
}

/* One more step of a hash: the upper half of a product depends on all that went into it. */
static inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}

/* Half of what was hashed: the other half, too, decides with which names it collides. */
static inline __u32 name_of(const struct naming *naming)
{
	return naming->hash >> 32;
}

/* 1: the name ends here. */
static long name_letter(__u32 index, struct naming *naming)
{
	char letter;

	if (index >= REQUEST_BYTES || index >= naming->bytes || naming->length >= REQUEST_NAME_BYTES)
		return 1;
	letter = naming->text[index];
	if (letter == '?' || letter == '\r' || letter == '\n' || !letter || (letter == ' ' && naming->in_path)) {
		naming->whole = letter;
		return 1;
	}
	if (letter == ' ' || letter == '/') {
		naming->in_path = true;
		naming->skips = false;
	} else if (naming->skips) {
		return 0;
	} else if (naming->in_path && letter >= '0' && letter <= '9' && !is_version(naming)) {
		naming->length = naming->part;
		naming->hash = naming->part_hash;
		naming->skips = true;
		letter = '#';
	}
	if (naming->length >= REQUEST_NAME_BYTES)
		return 1;
	naming->name.request.text[naming->length++] = letter;
	naming->hash = mix(naming->hash, (__u8)letter);
	if (letter == '/') {
		naming->part = naming->length;
		naming->part_hash = naming->hash;
	}
	return 0;
}

/*
 * The name of a request of which less than is looked at has come in, and not its whole path: the parts that are whole,
 * or none where there is none or no room to say so, and behind them what no whole name has, a space.  Never no name:
 * that is for what is not HTTP.
 */
static inline void end_name(struct naming *naming, __u64 seed)
{
	static const char more[] = { ' ', '.', '.', '.' };
	__u64 hash = naming->part_hash;
	__u32 part = naming->part;

	if (naming->whole || naming->bytes >= REQUEST_BYTES || naming->length >= REQUEST_NAME_BYTES)
		return;
	/* Whether a part has begun, its hash tells: of two bounds of `part` the compiler makes one that Linux 6.12 loses. */
	if (!hash || part > REQUEST_NAME_BYTES - sizeof(more)) {
		part = 0;
		hash = seed;
	}
	for (int i = 0; i < (int)sizeof(more); i++) {
		naming->name.request.text[part + i] = more[i];
		hash = mix(hash, more[i]);
	}
	naming->hash = hash;
	naming->length = part + sizeof(more);
}
