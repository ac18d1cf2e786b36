/* SPDX-License-Identifier: GPL-2.0-only */
/* The words of an SQL statement that have a meaning to its digest. */
#pragma once
#include "sql/digest.h"

/* Of a constant the compiler makes a number. */
static inline bool word_is(const struct digest *digest, const char *word)
{
	__u32 sum = 0;

	for (int i = 0; word[i]; i++)
		sum = add_to_sum(sum, word[i]);
	return digest->word_sum == sum;
}

/* In all others SET is for a setting, also where a function is made. */
static inline bool changes_rows(const struct digest *digest)
{
	return word_is(digest, "update") || word_is(digest, "insert") || word_is(digest, "replace") ||
	       word_is(digest, "merge") || word_is(digest, "with") || word_is(digest, "load");
}

static inline bool is_bookkeeping_word(const struct digest *digest)
{
	return word_is(digest, "begin") || word_is(digest, "start") || word_is(digest, "commit") ||
	       word_is(digest, "end") || word_is(digest, "rollback") || word_is(digest, "abort") ||
	       word_is(digest, "savepoint") || word_is(digest, "release");
}

static inline bool is_operator_word(const struct digest *digest)
{
	return word_is(digest, "and") || word_is(digest, "or") || word_is(digest, "xor") || word_is(digest, "not") ||
	       word_is(digest, "is") || word_is(digest, "in") || word_is(digest, "like") || word_is(digest, "ilike") ||
	       word_is(digest, "rlike") || word_is(digest, "regexp") || word_is(digest, "between") ||
	       word_is(digest, "similar") || word_is(digest, "div") || word_is(digest, "mod") ||
	       word_is(digest, "escape") || word_is(digest, "uescape") || word_is(digest, "collate") ||
	       word_is(digest, "at") || word_is(digest, "as") || word_is(digest, "when") || word_is(digest, "then") ||
	       word_is(digest, "else") || word_is(digest, "end") || word_is(digest, "passing") ||
	       word_is(digest, "placing") || word_is(digest, "value") || word_is(digest, "format");
}

static inline bool is_clause_word(const struct digest *digest)
{
	return word_is(digest, "from") || word_is(digest, "where") || word_is(digest, "group") ||
	       word_is(digest, "having") || word_is(digest, "order") || word_is(digest, "limit") ||
	       word_is(digest, "offset") || word_is(digest, "fetch") || word_is(digest, "for") ||
	       word_is(digest, "union") || word_is(digest, "except") || word_is(digest, "intersect") ||
	       word_is(digest, "returning") || word_is(digest, "on") || word_is(digest, "using") ||
	       word_is(digest, "into") || word_is(digest, "set") || word_is(digest, "values") ||
	       word_is(digest, "join") || word_is(digest, "left") || word_is(digest, "right") ||
	       word_is(digest, "inner") || word_is(digest, "cross") || word_is(digest, "asc") ||
	       word_is(digest, "desc") || word_is(digest, "by") || word_is(digest, "to") || word_is(digest, "with") ||
	       word_is(digest, "window") || word_is(digest, "lock") || word_is(digest, "language") ||
	       word_is(digest, "comment") || word_is(digest, "default") || word_is(digest, "null") ||
	       word_is(digest, "do") || word_is(digest, "preceding") || word_is(digest, "following");
}

/* INTERVAL '1' DAY */
static inline bool is_unit_word(const struct digest *digest)
{
	return word_is(digest, "second") || word_is(digest, "minute") || word_is(digest, "hour") ||
	       word_is(digest, "day") || word_is(digest, "week") || word_is(digest, "month") ||
	       word_is(digest, "quarter") || word_is(digest, "year");
}

/* May it stand behind a literal, with anything behind it? */
static inline bool goes_on_behind_literal(const struct digest *digest)
{
	return is_operator_word(digest) || is_clause_word(digest) || is_unit_word(digest);
}

/* E'a', N'a', X'00', B'01', _utf8'a', DATE '2020-01-01' without the blank. */
static inline bool goes_before_literal(const struct digest *digest)
{
	if (digest->bytes == 1)
		return word_is(digest, "e") || word_is(digest, "n") || word_is(digest, "x") || word_is(digest, "b");
	return word_is(digest, "date") || word_is(digest, "time") || word_is(digest, "timestamp") ||
	       word_is(digest, "interval") || digest->word_first == '_';
}
