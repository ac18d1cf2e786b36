/* SPDX-License-Identifier: GPL-2.0-only */
/* Comments of an SQL statement, none of which is kept. */
#pragma once
#include "sql/digest_doubts.h"

/* An operator may turn out to be the first half of the beginning of a comment: then it is taken back. */
static inline void take_back(struct digest *digest)
{
	digest->length = digest->word_length;
	digest->hash = digest->word_hash;
	digest->blank = true;
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
