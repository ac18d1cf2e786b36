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

static inline void say_first(struct digest *digest)
{
	digest->writes = changes_rows(digest);
	digest->prepares = word_is(digest, "prepare");
	if (!is_bookkeeping_word(digest))
		digest->works = true;
	digest->said_first = true;
}

static inline void end_word(struct digest *digest)
{
	digest->state = IN_CODE;
	if (!digest->first_length) {
		digest->first_length = digest->length;
		digest->first_hash = digest->hash;
	}
	if (!digest->said_first)
		say_first(digest);
	if (digest->prepares && word_is(digest, "as"))
		digest->names = true;
	if (!digest->writes && word_is(digest, "set"))
		digest->sets = true;
	doubt_word(digest);
	if (!digest->sets || !word_is(digest, "to"))
		return;
	digest->blank = true;
	hide_rest(digest);
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

static inline void read_comment(struct digest *digest, char letter, char next)
{
	if (digest->server == SQL_MARIADB && digest->last == '*' && digest->bytes == 1 &&
	    (letter == '!' || letter == 'M' || letter == '+')) {
		digest->state = IN_DOUBT; /* code, for some versions */
		return;
	}
	digest->quotes ^= quote_of_comment(digest, letter, next);
	digest->bytes++;
	if (digest->last == '*' && letter == '/' && digest->bytes > 2) {
		digest->last = 0;
		if (!--digest->depth)
			end_comment(digest);
		return;
	}
	if (digest->last == '/' && letter == '*' && digest->server == SQL_MARIADB)
		digest->quotes |= 4; /* it would be one comment, not two: the first may be in a literal */
	if (digest->last == '/' && letter == '*' && digest->server == SQL_POSTGRESQL) {
		digest->last = 0;
		if (++digest->depth == 200)
			digest->state = IN_DOUBT;
		return;
	}
	digest->last = letter;
}

static inline void read_line_comment(struct digest *digest, char letter, char next)
{
	if (letter == '\n' || (letter == '\r' && digest->server == SQL_POSTGRESQL)) {
		end_comment(digest);
		return;
	}
	digest->quotes |= quote_of_comment(digest, letter, next);
	digest->last = letter;
}

static inline void follow_list(struct digest *digest, char letter)
{
	if (letter == ',' && digest->list == LIST_BEGUN)
		digest->list = LIST_COMMA;
	else if (letter == ')' && digest->list == LIST_BEGUN)
		digest->list = LIST_CLOSED;
	else if (letter == ',' && digest->list == LIST_CLOSED)
		digest->list = LIST_CLOSED_COMMA;
	else if (letter == '(' && digest->list == LIST_CLOSED_COMMA)
		digest->list = LIST_REOPENED;
	else
		digest->list = LIST_BROKEN;
}

/* An operator may turn out to be the first half of the beginning of a comment: then it is taken back. */
static inline void take_back(struct digest *digest)
{
	digest->length = digest->word_length;
	digest->hash = digest->word_hash;
	digest->blank = true;
}

static inline void add_operator(struct digest *digest, char letter)
{
	digest->word_length = digest->length;
	digest->word_hash = digest->hash;
	add_blank(digest);
	follow_list(digest, letter);
	add_to_digest(digest, letter);
	digest->last = letter;
	if (letter == ';')
		digest->said_first = digest->sets = false;
	if (letter != '=' || !digest->sets)
		return;
	digest->blank = true;
	hide_rest(digest);
}

/* "--" begins a comment, in MariaDB only before a blank. */
static inline bool begins_comment(struct digest *digest, char letter, char next)
{
	if (letter == '#' && digest->server == SQL_MARIADB) {
		digest->state = IN_LINE_COMMENT;
		digest->blank = true;
		return true;
	}
	if (letter == '-' && digest->last == '-' &&
	    (digest->server == SQL_POSTGRESQL || (__u8)next <= ' ' || next == 0x7f)) {
		take_back(digest);
		digest->state = IN_LINE_COMMENT;
		return true;
	}
	if (letter == '*' && digest->last == '/') {
		take_back(digest);
		digest->state = IN_COMMENT;
		digest->depth = 1;
		digest->bytes = 1;
		digest->last = '*';
		return true;
	}
	return false;
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

static inline void begin_number(struct digest *digest)
{
	add_literal(digest);
	digest->state = IN_NUMBER;
	digest->word_sum = digest->word_first = 0;
}

static inline void read_operand(struct digest *digest, char letter, char before, char next)
{
	bool mariadb = digest->server == SQL_MARIADB;

	if (letter == '\'' || (letter == '"' && mariadb)) {
		begin_string(digest, letter, before);
	} else if (letter == '"' || (letter == '`' && mariadb)) {
		begin_identifier(digest, letter);
	} else if (is_letter(letter)) {
		begin_word(digest);
		digest->state = IN_WORD;
		digest->last = letter;
		add_to_word(digest, letter);
	} else if (is_digit(letter) || (letter == '.' && is_digit(next))) {
		begin_number(digest);
	} else if (letter == '$') {
		begin_dollar(digest);
	} else {
		add_operator(digest, letter);
	}
	if (!is_letter(letter) && !begins_any_comment(letter, next))
		digest->behind = BEHIND_CODE;
}

static inline void read_code(struct digest *digest, char letter, char next)
{
	char before = digest->last;

	if (begins_comment(digest, letter, next))
		return;
	digest->last = 0; /* only two operators in a row are a comment */
	if (is_blank(letter))
		digest->blank = true;
	else if (is_none_of_code(digest, letter, before, next) || is_out_of_place(digest, letter, next))
		digest->state = IN_DOUBT;
	else
		read_operand(digest, letter, before, next);
}

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

/* It only begins a transaction or ends one, as far as it was read; a doubt can be about the very first word. */
static inline bool is_bookkeeping(const struct digest *digest)
{
	return !digest->works && digest->state != IN_DOUBT;
}
