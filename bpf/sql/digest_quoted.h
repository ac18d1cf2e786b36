/* SPDX-License-Identifier: GPL-2.0-only */
/* What stands between quotes in an SQL statement: strings, which are literals, and identifiers. */
#pragma once
#include "sql/digest_doubts.h"

static inline void begin_string(struct digest *digest, char quote, char before)
{
	bool escapes = digest->server == SQL_POSTGRESQL && (before | 0x20) == 'e' && word_is(digest, "e");

	if (!digest->first_length || (before && !may_precede_literal(digest, before))) {
		digest->state = IN_DOUBT;
		return;
	}
	add_literal(digest);
	digest->state = IN_STRING;
	digest->quote = quote;
	digest->escapes = escapes;
	digest->backslash = false;
}

/*
 * A backslash before a quote is a letter or not, by a setting or by the encoding, but where the server has no choice.
 */
static inline void read_string(struct digest *digest, char letter)
{
	if (letter == digest->quote) {
		if (!digest->backslash)
			digest->state = BEHIND_STRING;
		else if (!digest->escapes)
			digest->state = IN_HIDDEN_REST;
		digest->backslash = false;
	} else {
		digest->backslash = letter == '\\' && !digest->backslash;
	}
}

/* Returns whether the letter is no code, as below. */
static inline bool read_behind_string(struct digest *digest, char letter, char next)
{
	if (letter == digest->quote) {
		digest->state = IN_STRING;
		return true;
	}
	digest->state = IN_CODE;
	digest->behind = BEHIND_LITERAL;
	digest->last = 0;
	if (may_follow_literal(digest, letter, next))
		return false;
	digest->state = IN_DOUBT;
	return true;
}

static inline void begin_identifier(struct digest *digest, char quote)
{
	begin_word(digest);
	digest->state = IN_IDENTIFIER;
	digest->quote = quote;
	add_to_word(digest, quote);
}

static inline bool read_behind_identifier(struct digest *digest, char letter)
{
	if (letter == digest->quote) {
		add_to_word(digest, letter);
		digest->state = IN_IDENTIFIER;
		return true;
	}
	digest->state = IN_CODE;
	digest->last = 0;
	if (!may_be_in_word(letter) && !is_quote(letter))
		return false;
	digest->state = IN_DOUBT;
	return true;
}

static inline void begin_dollar(struct digest *digest)
{
	if (digest->server != SQL_POSTGRESQL) {
		digest->state = IN_DOUBT; /* part of a name, or a quote of newer versions */
		return;
	}
	add_literal(digest);
	digest->state = BEHIND_DOLLAR;
	digest->bytes = 0;
	digest->tag_hash = 0;
}

/* "$1" is a parameter, "$tag$" begins a string, in PostgreSQL. */
static inline bool read_behind_dollar(struct digest *digest, char letter)
{
	if (!digest->bytes && is_digit(letter)) {
		digest->state = IN_NUMBER; /* told as "?" already */
		return true;
	}
	if (letter != '$' && !is_letter(letter) && !is_digit(letter)) {
		digest->state = IN_DOUBT;
		return true;
	}
	if (letter != '$') {
		digest->tag_hash = mix(digest->tag_hash, (__u8)letter);
		digest->bytes++;
		return true;
	}
	digest->state = IN_DOLLARS;
	digest->candidate = false;
	return true;
}

static inline void read_dollars(struct digest *digest, char letter)
{
	if (letter != '$') {
		digest->candidate_hash = mix(digest->candidate_hash, (__u8)letter);
		return;
	}
	if (digest->candidate && digest->candidate_hash == digest->tag_hash) {
		digest->state = BEHIND_STRING;
		digest->quote = 0; /* there is no second one */
		return;
	}
	digest->candidate = true;
	digest->candidate_hash = 0;
}
