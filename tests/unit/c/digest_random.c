// SPDX-License-Identifier: GPL-2.0-only
/* Digests of random SQL statements: a marker stands in their literals, and never in the digest. */
#include <stdlib.h>
#include "check.h"
#include "digest_of.h"

static void append(char *text, const char *more)
{
	strncat(text, more, STATEMENT_BYTES - 1 - strlen(text));
}

/* Valid statements of random parts: the marker stands in literals and comments only, and never comes out. */
static void no_marker_comes_out(void)
{
	static const char *const parts[][16] = {
		{ "'MARKER'", "'a''MARKER'", "E'\\'MARKER'", "$$MARKER$$", "$q$'MARKER$$\"$q$", "/* 'MARKER */",
		  "-- \"MARKER\n", "x", "\"Q\"", "1.5", "$1", "(", "),", "E'\\\\'", "'\\\\'", "::" },
		{ "'MARKER'", "'a''MARKER'", "\"MARKER\"", "\"a\"\"'MARKER\"", "/* 'MARKER */", "-- 'MARKER\n",
		  "# \"MARKER\n", "x", "`q`", "1.5", "--1", "(", "),", "'\\\\'", "'\\'MARKER'", "x'00'" },
	};
	static const char *const gaps[] = { "", " ", "\n", ",", " + " };
	char text[STATEMENT_BYTES];

	srand(18);
	for (int round = 0; round < 200000; round++) {
		bool mariadb = round & 1;
		const char *result;

		strcpy(text, "select ");
		for (int i = rand() % 12; i >= 0; i--) {
			const char *part = parts[mariadb][rand() % 16];

			append(text, part);
			append(text, *part == 'x' ? " " : gaps[rand() % 5]); /* "x$$" is a name */
		}
		if (rand() % 4 == 0)
			text[rand() % (strlen(text) + 1)] = '\0'; /* cut anywhere */
		result = digest_of(mariadb ? SQL_MARIADB : SQL_POSTGRESQL, text);
		if (strstr(result, "MAR")) {
			CHECK_TEXT(result, text);
			return;
		}
	}
	CHECK(true);
}

static const struct pair well_formed[][24] = {
	{ { "'MARKER'", "?" },
	  { "' MARKER '", "?" },
	  { "'%MARKER%'", "?" },
	  { "'it''s MARKER'", "?" },
	  { "'-- MARKER '", "?" },
	  { "' /* MARKER '", "?" },
	  { "'; MARKER ;'", "?" },
	  { "', MARKER, '", "?" },
	  { "') MARKER ('", "?" },
	  { "' and MARKER or '", "?" },
	  { "' 5 MARKER 5 '", "?" },
	  { "f(a, ' MARKER ') = b", "f(a, ?) = b" },
	  { "E'\\' MARKER \\\\'", "E?" },
	  { "$$ ' MARKER $$", "?" },
	  { "$q$ '' MARKER \" $q$", "?" },
	  { "\"Q\"", "\"Q\"" },
	  { "\"a ' b\"", "?" },
	  { "'a' ' MARKER '", "? ?" },
	  { "' MARKER '::text", "?::text" },
	  { "/* ' MARKER ' */ x", "x" },
	  { "x -- MARKER\n", "x" },
	  { "x", "x" },
	  { "$1 + 5", "? + ?" },
	  { "interval ' MARKER ' day", "interval ? day" } },
	{ { "'MARKER'", "?" },
	  { "' MARKER '", "?" },
	  { "\"%MARKER%\"", "?" },
	  { "'it''s MARKER'", "?" },
	  { "'-- MARKER '", "?" },
	  { "' /* MARKER '", "?" },
	  { "'# MARKER '", "?" },
	  { "', MARKER, '", "?" },
	  { "\") MARKER (\"", "?" },
	  { "' and MARKER or '", "?" },
	  { "' 5 MARKER 5 '", "?" },
	  { "f(a, ' MARKER ') = b", "f(a, ?) = b" },
	  { "\"a\"\" MARKER \"", "?" },
	  { "\" MARKER \"", "?" },
	  { "\" ' MARKER \"", "?" },
	  { "`q`", "`q`" },
	  { "_utf8' MARKER '", "_utf8?" },
	  { "'a' ' MARKER '", "? ?" },
	  { "x'00'", "x?" },
	  { "/* ' MARKER ' */ x", "x" },
	  { "x # MARKER\n", "x" },
	  { "x", "x" },
	  { "-1.5", "-?" },
	  { "interval ' MARKER ' day", "interval ? day" } },
};

static void make_well_formed(bool mariadb, char *text, char *expected)
{
	strcpy(text, "select ");
	strcpy(expected, "select ");
	for (int i = rand() % 8; i >= 0; i--) {
		const struct pair *part = &well_formed[mariadb][rand() % 24];

		append(text, part->text);
		append(expected, part->digest);
		append(text, i ? " || " : "");
		append(expected, i ? " || " : "");
	}
}

/* Puts a quote somewhere, or takes one away. */
static void spoil(char *text)
{
	size_t length = strlen(text), at = rand() % (length + 1);

	if (rand() % 2) {
		memmove(text + at + 1, text + at, length - at + 1);
		text[at] = rand() % 4 ? '\'' : '"';
		return;
	}
	at += strcspn(text + at, "'\"`");
	if (text[at])
		memmove(text + at, text + at + 1, length - at);
}

static void one_quote_more_or_less_brings_no_marker_out(void)
{
	char text[2 * STATEMENT_BYTES], expected[2 * STATEMENT_BYTES];

	for (int round = 0; round < 400000; round++) {
		bool mariadb = round & 1;
		enum sql_server server = mariadb ? SQL_MARIADB : SQL_POSTGRESQL;

		make_well_formed(mariadb, text, expected);
		if (strcmp(digest_of(server, text), expected)) {
			CHECK_TEXT(digest_of(server, text), expected);
			return;
		}
		spoil(text);
		if (strstr(digest_of(server, text), "MAR")) {
			CHECK_TEXT(digest_of(server, text), text);
			return;
		}
	}
	CHECK(true);
}

static void any_bytes_become_ascii_within_bounds(void)
{
	char text[STATEMENT_BYTES];

	for (int round = 0; round < 100000; round++) {
		size_t length = rand() % (round % 100 ? 64 : sizeof(text));
		const char *result;

		for (size_t i = 0; i < length; i++)
			text[i] = rand() % 3 ? rand() : "'\"`$\\/*-#;=?,()E \n"[rand() % 18];
		result = digest_bytes(round & 1 ? SQL_MARIADB : SQL_POSTGRESQL, text, length);
		for (const char *at = result; *at; at++)
			if ((unsigned char)*at < ' ' || (unsigned char)*at > '~') {
				CHECK_NUMBER(*at, ' ');
				return;
			}
	}
	CHECK(true);
}

int main(void)
{
	RUN(no_marker_comes_out);
	RUN(one_quote_more_or_less_brings_no_marker_out);
	RUN(any_bytes_become_ascii_within_bounds);
	return check_result();
}
