/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a request is called where plain text shows it: method and path of HTTP/1, "GET /users/#/orders".  The same for the
 * programs and for a name that somebody types.
 *
 * Clients put keys, tokens and passwords into what they ask for.  So a name keeps only what looks like a word: letters,
 * '-', '_' and '.'; longer than WORD_BYTES without capitals; and versions such as "v1".  Every other part of the path
 * is '#', and so is the whole path of a line that is no HTTP/1.  Nothing is kept of queries, of what stands behind ';' and
 * '#', and of the host and user that a proxy is told.  A part whose end is not seen is not kept: it may be anything.
 */
#pragma once
#include <stdbool.h>
#include "core/hash.h"

#define REQUEST_BYTES 64 /* looked at */
#define WORD_BYTES 20
#define METHOD_BYTES 8 /* the longest, with the blank behind it */

/* Where in "GET http://host/path HTTP/1.1" a letter stands. */
enum place {
	IN_TARGET, /* at its first letter */
	IN_SCHEME,
	BEHIND_COLON,
	BEHIND_SLASH,
	IN_AUTHORITY,
	IN_PATH,
	IN_VERSION,
	IN_NEITHER, /* no URI and no path: of what is asked for nothing is kept */
};

/* Small: the stack of a program, which has two of these at times, has 512 bytes. */
struct naming {
	char text[REQUEST_BYTES] __attribute__((aligned(8)));
	struct object_name name;
	__u64 hash; /* begun with a seed: nobody can send what is taken for another's name */
	__u64 part_hash;
	__u32 bytes; /* of the text that have come in: behind them stands what came before */
	__u8 length; /* written so far */
	__u8 method; /* where what is asked for begins */
	__u8 part;   /* where the part of the path does */
	__u8 place, version_bytes;
	bool capital, numbered, hidden; /* of the part: has a capital, is a version, is not kept */
	bool whole;			/* the path has ended */
	bool perhaps_frames, frames;	/* of HTTP/2 are looked for, are there */
	bool command;			/* of Redis or memcached: see command_name.h */
	bool call;			/* the target asks for it */
};

/* Half of what was hashed: the other half, too, decides with which names it collides. */
static inline __u32 name_of(const struct naming *naming)
{
	return naming->hash >> 32;
}

/* The first bytes of a text, as a number. */
static inline __u64 first_bytes(__u64 word, __u32 bytes)
{
	return bytes < sizeof(word) ? word & ((1ULL << 8 * bytes) - 1) : word;
}

static inline bool is_method(__u64 word, const char *method, __u32 bytes)
{
	__u64 wanted = 0;

	__builtin_memcpy(&wanted, method, bytes);
	return first_bytes(word, bytes) == wanted;
}

/* The bytes of the method that a text begins with, and of the blank behind it; 0: none is whole. */
static inline __u32 method_bytes(__u64 word)
{
	if (is_method(word, "GET ", 4) || is_method(word, "PUT ", 4))
		return 4;
	if (is_method(word, "POST ", 5) || is_method(word, "HEAD ", 5))
		return 5;
	if (is_method(word, "PATCH ", 6))
		return 6;
	if (is_method(word, "DELETE ", 7))
		return 7;
	return is_method(word, "OPTIONS ", METHOD_BYTES) ? METHOD_BYTES : 0;
}

static inline void add_letter(struct naming *naming, char letter)
{
	if (naming->length >= REQUEST_NAME_BYTES)
		return;
	naming->name.request.text[naming->length++] = letter;
	naming->hash = mix(naming->hash, (__u8)letter);
}

static inline void begin_part(struct naming *naming)
{
	add_letter(naming, '/');
	naming->place = IN_PATH;
	naming->part = naming->length;
	naming->part_hash = naming->hash;
	naming->capital = naming->numbered = naming->hidden = false;
}

static inline void hide_part(struct naming *naming)
{
	naming->length = naming->part;
	naming->hash = naming->part_hash;
	naming->hidden = true;
	add_letter(naming, '#');
}

static inline __u64 hash_of_method(const struct naming *naming, __u64 seed)
{
	return mix(seed, *(const __u64 *)naming->name.request.text);
}

/* Method and blank are one step of the hash.  Returns whether there is a method, and it is whole. */
static inline bool begin_name(struct naming *naming, __u64 seed)
{
	__u64 word = *(const __u64 *)naming->text;

	naming->method = method_bytes(word);
	if (!naming->method)
		return false;
	*(__u64 *)naming->name.request.text = first_bytes(word, naming->method);
	naming->length = naming->part = naming->method;
	naming->hash = naming->part_hash = hash_of_method(naming, seed);
	return true;
}

/* Nothing is kept but the method. */
static inline void hide_target(struct naming *naming, __u64 seed)
{
	__u64 *word = (__u64 *)naming->name.request.text;

	*word = first_bytes(*word, naming->method);
	naming->length = naming->method;
	naming->hash = hash_of_method(naming, seed);
	add_letter(naming, '#');
}

/* "v1" is a version, "v12" and "v1a" are keys. */
static inline bool belongs_to_word(struct naming *naming, char letter)
{
	__u32 bytes = naming->length - naming->part;
	bool is_capital = letter >= 'A' && letter <= 'Z';

	if (naming->numbered)
		return false;
	if (letter >= '0' && letter <= '9') {
		naming->numbered = bytes == 1 && naming->part < REQUEST_NAME_BYTES &&
				   naming->name.request.text[naming->part] == 'v';
		return naming->numbered;
	}
	naming->capital |= is_capital;
	if (naming->capital && bytes >= WORD_BYTES)
		return false;
	return is_capital || (letter >= 'a' && letter <= 'z') || letter == '-' || letter == '_' || letter == '.';
}

static inline void read_path(struct naming *naming, char letter)
{
	if (letter == '/')
		begin_part(naming);
	else if (naming->hidden)
		return;
	else if (belongs_to_word(naming, letter) && naming->length < REQUEST_NAME_BYTES)
		add_letter(naming, letter);
	else
		hide_part(naming);
}

/* "/path", or "http://user:password@host/path". */
static inline void read_target(struct naming *naming, char letter)
{
	switch (naming->place) {
	case IN_TARGET:
	case IN_AUTHORITY:
		if (letter == '/')
			begin_part(naming);
		else if (naming->place == IN_TARGET)
			naming->place = IN_SCHEME;
		break;
	case IN_SCHEME:
		if (letter == ':')
			naming->place = BEHIND_COLON;
		break;
	case BEHIND_COLON: naming->place = letter == '/' ? BEHIND_SLASH : IN_NEITHER; break;
	case BEHIND_SLASH: naming->place = letter == '/' ? IN_AUTHORITY : IN_NEITHER; break;
	case IN_PATH: read_path(naming, letter); break;
	}
}

/* What is asked for ends here; "http://host" asks for "/". */
static inline void end_target(struct naming *naming)
{
	if (naming->place == IN_AUTHORITY)
		begin_part(naming);
	naming->place = naming->place == IN_PATH ? IN_VERSION : IN_NEITHER;
}

/* What has another word behind it than "HTTP/" is no path. */
static inline void read_version(struct naming *naming, char letter)
{
	const __u64 wanted = 0x2f50545448; /* that, as a number */

	if (letter != (char)(wanted >> 8 * (naming->version_bytes & 7)))
		naming->place = IN_NEITHER;
	else if (++naming->version_bytes == 5)
		naming->whole = true;
}

/* The letter at this index behind the method.  1: the name ends here. */
static inline long name_letter(__u32 index, struct naming *naming)
{
	char letter;

	index += naming->method;
	if (index >= REQUEST_BYTES || index >= naming->bytes)
		return 1;
	letter = naming->text[index];
	if (naming->place == IN_VERSION)
		read_version(naming, letter);
	else if (!letter || letter == '\r' || letter == '\n')
		naming->place = IN_NEITHER;
	else if (letter == ' ' || letter == '?' || letter == ';' || letter == '#') {
		end_target(naming);
		naming->whole = letter != ' ';
	} else
		read_target(naming, letter);
	return naming->whole || naming->place == IN_NEITHER;
}

/* Of a path, the parts before the last are whole. */
static inline bool has_path(const struct naming *naming)
{
	return naming->place == IN_PATH || naming->place == IN_VERSION;
}

/* There is more of the path, or of the version, than is looked at. */
static inline void cut_name(struct naming *naming, __u64 seed)
{
	if (!has_path(naming))
		hide_target(naming, seed);
	else if (!naming->hidden && naming->length > naming->part)
		hide_part(naming);
}

/* As much as is looked at has come in, or the path and what shows that it is one.  Returns whether that is so. */
static inline bool end_whole_name(struct naming *naming, __u64 seed)
{
	if (naming->place == IN_NEITHER)
		hide_target(naming, seed);
	else if (!naming->whole) {
		if (naming->bytes < REQUEST_BYTES)
			return false;
		cut_name(naming, seed);
	}
	return true;
}

/*
 * The name of a request of which less than is looked at has come in, and not its whole path, or not the "HTTP/" behind
 * it: the parts that are whole, or none where there is none or no room to say so, and behind them what no whole name
 * has, a space.  Never no name: that is for what is not HTTP.
 */
static inline void end_name(struct naming *naming, __u64 seed)
{
	static const char more[] = { ' ', '.', '.', '.' };
	__u64 hash = naming->part_hash;
	__u32 part = naming->part;

	if (end_whole_name(naming, seed))
		return;
	if (!has_path(naming) || part > REQUEST_NAME_BYTES - sizeof(more)) {
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
