/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is what is read as code of an SQL statement code?  A client that forgets to mask a quote, "name = 'O'Brien'", or leaves
 * one out, makes code of its literals and literals of its code, from that quote on or from any before.  The server refuses
 * such a statement; its digest is the first word only.
 *
 * What is told by: a literal that has no end; what no statement has next to a quote, or in its code.  A comment with one
 * quote may be where a literal began or ended.
 */
#pragma once
#include "sql/digest_words.h"

static inline bool is_quote(char letter)
{
	return letter == '\'' || letter == '"' || letter == '`';
}

static inline bool may_be_in_word(char letter)
{
	return is_letter(letter) || is_digit(letter) || letter == '$';
}

/* Next to the quote that ends a literal: what well-formed text has there, words never. */
static inline bool may_follow_literal(const struct digest *digest, char letter, char next)
{
	switch (letter) {
	case ',':
	case ')':
	case ']':
	case '}':
	case ';':
	case ':':
	case '=':
	case '<':
	case '>':
	case '!':
	case '|':
	case '+':
	case '-': return true;
	case '/': return next == '*';
	case '#': return digest->server == SQL_POSTGRESQL;
	case '@': return digest->server == SQL_MARIADB && is_quote(next); /* user@host */
	}
	return is_blank(letter);
}

/* Next to the quote that begins one; `before`: 0 for a blank. */
static inline bool may_precede_literal(const struct digest *digest, char before)
{
	switch (before) {
	case ')':
	case ']':
	case '}':
	case ';':
	case ':':
	case '.':
	case '%': return false;
	}
	return !may_be_in_word(before) || goes_before_literal(digest);
}

static inline bool begins_any_comment(char letter, char next)
{
	return (letter == '-' && next == '-') || (letter == '/' && next == '*');
}

/* Blanks aside, behind a literal; or behind a name that it has there, "'a' name", which no word follows but some. */
static inline bool is_out_of_place(const struct digest *digest, char letter, char next)
{
	switch (digest->behind) {
	case BEHIND_LITERAL:
		return is_digit(letter) || letter == '$' || letter == '.' || letter == '(' || letter == '{';
	case BEHIND_NAME:
		return !is_letter(letter) && letter != ',' && letter != ')' && letter != ';' &&
		       !begins_any_comment(letter, next);
	}
	return false;
}

/* In code: "\N" of MariaDB is NULL. */
static inline bool is_none_of_code(const struct digest *digest, char letter, char before, char next)
{
	if (letter == '\\')
		return digest->server != SQL_MARIADB || next != 'N';
	return (letter == '/' && before == '*') || ((__u8)letter < ' ' && !is_blank(letter)) || letter == 0x7f;
}

static inline void doubt_word(struct digest *digest)
{
	if (digest->behind == BEHIND_CODE)
		return;
	if (goes_on_behind_literal(digest))
		digest->behind = BEHIND_CODE;
	else if (digest->behind == BEHIND_LITERAL)
		digest->behind = BEHIND_NAME;
	else
		digest->state = IN_DOUBT;
}

/* A bit for its kind; "don't" has none that counts, nor has "in `method'" at the end: there no literal ends or begins. */
static inline __u8 quote_of_comment(const struct digest *digest, char letter, char next)
{
	if (letter == '\'')
		return !(is_letter(digest->last) && (is_letter(next) || next == '*'));
	return letter == '"' ? 2 : 0;
}

/* Before the first word nothing is kept that it could have been. */
static inline void end_comment(struct digest *digest)
{
	digest->state = IN_CODE;
	digest->last = 0;
	if (digest->quotes && digest->first_length)
		digest->state = IN_DOUBT;
	digest->quotes = 0;
}

static inline bool has_no_end(const struct digest *digest)
{
	return digest->state == IN_STRING || digest->state == IN_DOLLARS || digest->state == IN_IDENTIFIER ||
	       digest->state == IN_COMMENT;
}

/* The text ends; `cut`: it does not, but no more of it is looked at. */
static inline void settle_doubts(struct digest *digest, bool cut)
{
	if (!cut && digest->state == IN_LINE_COMMENT)
		end_comment(digest);
	if (digest->state != IN_DOUBT && (cut || !has_no_end(digest)))
		return;
	digest->length = digest->first_length;
	digest->hash = digest->first_hash;
	digest->list = LIST_BROKEN;
	digest->blank = true;
	add_literal(digest);
	digest->state = IN_DOUBT;
}
