/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The digest of an SQL statement: its text without literals and comments, "SELECT a FROM t WHERE id = ?".  The same for the
 * programs and for tests.
 *
 * Statements carry names, tokens and passwords.  So a digest keeps words, quoted identifiers and operators only, in
 * ASCII.  Where two servers, or two settings of one, would read a text in different ways, so that a literal of one is code of
 * the other, the rest of the text is one literal.  So is the rest of what is no text at all.
 */
#pragma once
#include "sql/digest_code.h"

/* Returns whether the letter is part of what it was in; else it is code. */
static inline bool goes_on(struct digest *digest, char letter, char next)
{
	bool quoted = letter == digest->quote;

	switch (digest->state) {
	case IN_WORD:
		if (may_be_in_word(letter)) {
			add_to_word(digest, letter);
			digest->last = letter;
			return true;
		}
		end_word(digest);
		return digest->state != IN_CODE;
	case IN_NUMBER:
		if (is_letter(letter) || is_digit(letter) || letter == '.')
			return true;
		digest->state = IN_CODE;
		digest->last = '0';
		return false;
	case IN_STRING: read_string(digest, letter); return true;
	case BEHIND_STRING: return read_behind_string(digest, letter, next);
	case IN_IDENTIFIER:
		add_to_word(digest, letter);
		if (quoted)
			digest->state = BEHIND_IDENTIFIER;
		return true;
	case BEHIND_IDENTIFIER: return read_behind_identifier(digest, letter);
	case BEHIND_DOLLAR: return read_behind_dollar(digest, letter);
	case IN_DOLLARS: read_dollars(digest, letter); return true;
	case IN_LINE_COMMENT: read_line_comment(digest, letter, next); return true;
	case IN_COMMENT: read_comment(digest, letter, next); return true;
	case IN_HIDDEN_REST:
	case IN_DOUBT: return true;
	}
	digest->state = IN_CODE;
	digest->last = 0;
	return false;
}

/*
 * In some encodings (GBK, Big5, Shift JIS) a backslash or a backtick can be the second byte of a letter.  Then it neither
 * takes the meaning from a quote nor is it one, and what the server takes for a string is not known.
 */
static inline bool may_be_half_a_letter(const struct digest *digest, char letter)
{
	return digest->high && (letter == '\\' || (letter == '`' && digest->server == SQL_MARIADB));
}

/* One letter, and the one behind it (0 behind the last).  1: nothing behind it counts. */
static inline long digest_letter(struct digest *digest, char letter, char next)
{
	if (may_be_half_a_letter(digest, letter)) {
		digest->state = digest->state == IN_STRING || digest->state == IN_DOLLARS ? IN_HIDDEN_REST : IN_DOUBT;
		return 1;
	}
	digest->high = (__u8)letter >= 0x80;
	if (digest->state == IN_CODE || !goes_on(digest, letter, next))
		read_code(digest, letter, next);
	return digest->state >= IN_HIDDEN_REST;
}

/* Of a quoted identifier whose end is not looked at nothing is kept: it may be anything. */
static inline void end_digest(struct digest *digest, bool cut)
{
	if (digest->state == IN_WORD && !digest->said_first)
		say_first(digest);
	settle_doubts(digest, cut);
	if (digest->state != IN_IDENTIFIER || digest->hidden)
		return;
	digest->length = digest->word_length;
	digest->hash = digest->word_hash;
	add_literal(digest);
}

/* Told apart by this, which is never 0: that stands for none. */
static inline __u64 key_of_digest(const struct digest *digest)
{
	return digest->hash ?: 1;
}

/* It only begins a transaction or ends one, as far as it was read; a doubt can be about the very first word. */
static inline bool is_bookkeeping(const struct digest *digest)
{
	return !digest->works && digest->state != IN_DOUBT;
}
