/* SPDX-License-Identifier: GPL-2.0-only */
/* What stands in an SQL statement outside of quotes and comments: words, numbers and operators. */
#pragma once
#include "sql/digest_comments.h"
#include "sql/digest_quoted.h"

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
