/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The digest of an SQL statement while it is made: what is written of it, and words.  digest_rules.h reads
 * its letters; digest_code.h, digest_comments.h and digest_quoted.h tell what they are part of, digest_doubts.h doubts that.
 */
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
	IN_DOUBT, /* likewise hidden; of what was kept before, only the first word stays */
};

/* What stands between the last literal and here: "?, ?" and "(?), (?)" are lists, whose length does not count. */
enum digest_list { LIST_BROKEN, LIST_BEGUN, LIST_COMMA, LIST_CLOSED, LIST_CLOSED_COMMA, LIST_REOPENED };

/* What stands before here, blanks and comments aside. */
enum digest_behind { BEHIND_CODE, BEHIND_LITERAL, BEHIND_NAME /* of a literal: 'a' name */ };

struct digest {
	char text[DIGEST_BYTES];
	__u64 hash; /* of the whole digest, also of what finds no room */
	__u64 word_hash, literal_hash, first_hash;
	__u64 tag_hash, candidate_hash; /* of a dollar quote, and of what may be its end */
	__u32 length;			/* may be more than there is room for */
	__u32 word_length, literal_length;
	__u32 word_sum;	    /* see add_to_sum() */
	__u32 first_length; /* until behind the first word; 0: it has not ended */
	__u32 bytes;	    /* of the word, so far */
	__u8 server;	    /* enum sql_server */
	__u8 state;	    /* enum digest_state */
	__u8 list;	    /* enum digest_list */
	__u8 depth;	    /* of comments */
	__u8 behind;	    /* enum digest_behind */
	__u8 quotes;	    /* of a comment: one bit for each kind that may begin or end a literal */
	char quote;
	char word_first; /* letter of the word */
	char last;	 /* the letter before, of an operator, a word, a number or a comment */
	bool escapes;	 /* of this string: a backslash takes the meaning from a quote */
	bool backslash;	 /* an odd number of them stands before this letter */
	bool candidate;	 /* of a dollar quote: the letters since the last dollar may be its tag */
	bool blank;	 /* one is due before the next word */
	bool hidden;	 /* the word is not kept */
	bool sets;	 /* SET name = value: no literal tells where a value without quotes begins */
	bool writes;	 /* it changes rows: SET column = value */
	bool said_first; /* the first word was seen */
	bool high;	 /* the letter before is not ASCII */
	bool works;	 /* a statement of it does more than begin or end a transaction */
	bool prepares;	 /* PREPARE was the first word of this one */
	bool names;	 /* PREPARE name AS: that may be a name which the protocol gave to another statement */
};

static inline void begin_digest(struct digest *digest, __u32 server, __u64 seed)
{
	__builtin_memset(digest, 0, sizeof(*digest));
	digest->server = server;
	digest->hash = digest->first_hash = seed;
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

/* Tells words apart, whatever their case: 32 bits, that many are compared without a register for each. */
static inline __u32 add_to_sum(__u32 sum, char letter)
{
	return (sum ^ (__u8)(letter | 0x20)) * 16777619;
}

static inline void begin_word(struct digest *digest)
{
	add_blank(digest);
	digest->list = LIST_BROKEN;
	digest->word_length = digest->length;
	digest->word_hash = digest->hash;
	digest->word_sum = 0;
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
	if (!digest->bytes++)
		digest->word_first = letter;
	digest->word_sum = add_to_sum(digest->word_sum, letter);
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
