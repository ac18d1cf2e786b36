/* SPDX-License-Identifier: GPL-2.0-only */
/* The digest of an SQL statement while it is made: what is written of it, and words.  digest_rules.h reads. */
#pragma once
#include <stdbool.h>
#include "core/hash.h"

#define IDENTIFIER_BYTES 64 /* longer ones are kept by no server */

enum digest_state {
	IN_CODE,
	IN_WORD,
	IN_NUMBER,
	IN_STRING,
	BEHIND_STRING, /* its quote may be the first of two, then the string goes on */
	IN_IDENTIFIER, /* quoted */
	BEHIND_IDENTIFIER,
	BEHIND_DOLLAR,
	IN_DOLLARS, /* a string between two tags */
	IN_LINE_COMMENT,
	IN_COMMENT,
	IN_HIDDEN_REST,
};

/* What stands between the last literal and here: "?, ?" and "(?), (?)" are lists, whose length does not count. */
enum digest_list { LIST_BROKEN, LIST_BEGUN, LIST_COMMA, LIST_CLOSED, LIST_CLOSED_COMMA, LIST_REOPENED };

struct digest {
	char text[DIGEST_BYTES];
	__u64 hash; /* of the whole digest, also of what finds no room */
	__u64 word_hash, literal_hash;
	__u64 tag_hash, candidate_hash; /* of a dollar quote, and of what may be its end */
	__u32 length;			/* may be more than there is room for */
	__u32 word_length, literal_length;
	__u32 bytes; /* of the word, so far */
	__u8 server; /* enum sql_server */
	__u8 state;  /* enum digest_state */
	__u8 list;   /* enum digest_list */
	__u8 depth;  /* of comments */
	char quote, last;
	bool escapes;	  /* of this string: a backslash takes the meaning from a quote */
	bool backslash;	  /* an odd number of them stands before this letter */
	bool candidate;	  /* of a dollar quote: the letters since the last dollar may be its tag */
	bool blank;	  /* one is due before the next word */
	bool hidden;	  /* the word is not kept */
	bool sets;	  /* SET name = value: no literal tells where a value without quotes begins */
	bool writes;	  /* it changes rows: SET column = value */
	bool said_first;  /* the first word was seen */
	bool high;	  /* the letter before is not ASCII */
	bool escape_word; /* the word is "E" */
};

static inline void begin_digest(struct digest *digest, __u32 server, __u64 seed)
{
	__builtin_memset(digest, 0, sizeof(*digest));
	digest->server = server;
	digest->hash = seed;
}

static inline void add_to_digest(struct digest *digest, char letter)
{
	__u32 at = digest->length;

	if (at < DIGEST_BYTES)
		digest->text[at] = letter;
	if (at < 2 * STATEMENT_BYTES)
		digest->length = at + 1;
	digest->hash = mix(digest->hash, (__u8)letter);
}

static inline void add_blank(struct digest *digest)
{
	if (digest->blank && digest->length)
		add_to_digest(digest, ' ');
	digest->blank = false;
}

static inline void add_literal(struct digest *digest)
{
	if (digest->list == LIST_COMMA || digest->list == LIST_REOPENED) {
		digest->length = digest->literal_length;
		digest->hash = digest->literal_hash;
		digest->blank = false;
	} else {
		add_blank(digest);
		add_to_digest(digest, '?');
		digest->literal_length = digest->length;
		digest->literal_hash = digest->hash;
	}
	digest->list = LIST_BEGUN;
}

static inline void hide_rest(struct digest *digest)
{
	add_literal(digest);
	digest->state = IN_HIDDEN_REST;
}

static inline bool is_letter(char letter)
{
	return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_' ||
	       (__u8)letter >= 0x80;
}

static inline bool is_digit(char letter)
{
	return letter >= '0' && letter <= '9';
}

static inline bool is_blank(char letter)
{
	return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

static inline void begin_word(struct digest *digest)
{
	add_blank(digest);
	digest->list = LIST_BROKEN;
	digest->word_length = digest->length;
	digest->word_hash = digest->hash;
	digest->bytes = 0;
	digest->hidden = false;
}

static inline bool may_be_in_name(const struct digest *digest, char letter)
{
	if ((__u8)letter >= 0x80)
		return false;
	return is_letter(letter) || is_digit(letter) || letter == '$' || letter == '-' || letter == '.' ||
	       letter == digest->quote;
}

/*
 * A letter of a word or of a quoted identifier, unless that is too long, or has what names do not have: in some encodings
 * a quote is the second byte of a letter, and what follows it is no identifier.
 */
static inline void add_to_word(struct digest *digest, char letter)
{
	digest->bytes++;
	if (digest->hidden)
		return;
	if (may_be_in_name(digest, letter) && digest->bytes <= IDENTIFIER_BYTES + 2) {
		add_to_digest(digest, letter);
		return;
	}
	digest->length = digest->word_length;
	digest->hash = digest->word_hash;
	digest->hidden = true;
	add_literal(digest);
	digest->list = LIST_BROKEN;
}

/* By its length and its first letters. */
static inline bool word_is(const struct digest *digest, __u32 bytes, char first, char second, char third)
{
	__u32 at = digest->word_length;

	if (digest->bytes != bytes || digest->hidden || at >= DIGEST_BYTES - 3)
		return false;
	return (digest->text[at] | 0x20) == first && (digest->text[at + 1] | 0x20) == second &&
	       (!third || (digest->text[at + 2] | 0x20) == third);
}

/* UPDATE, INSERT, REPLACE, MERGE, WITH, LOAD: in all others SET is for a setting, also where a function is made. */
static inline bool changes_rows(const struct digest *digest)
{
	return word_is(digest, 6, 'u', 'p', 'd') || word_is(digest, 6, 'i', 'n', 's') ||
	       word_is(digest, 7, 'r', 'e', 'p') || word_is(digest, 5, 'm', 'e', 'r') ||
	       word_is(digest, 4, 'w', 'i', 't') || word_is(digest, 4, 'l', 'o', 'a');
}

static inline void end_word(struct digest *digest, char last)
{
	digest->state = IN_CODE;
	digest->escape_word = digest->bytes == 1 && (last | 0x20) == 'e';
	if (!digest->said_first)
		digest->writes = changes_rows(digest);
	digest->said_first = true;
	if (!digest->writes && word_is(digest, 3, 's', 'e', 't'))
		digest->sets = true;
	if (!digest->sets || !word_is(digest, 2, 't', 'o', 0))
		return;
	digest->blank = true;
	hide_rest(digest);
}
