// SPDX-License-Identifier: GPL-2.0-only
/* Digests of SQL statements: whatever stands in a text, no literal of it is in its digest. */
#include <stdlib.h>
#include <linux/types.h>
#include "core/records.h"
#include "sql/digest_rules.h"
#include "check.h"

static struct digest digest;

/* As the programs do it; the text is `bytes` long. */
static const char *digest_bytes(enum sql_server server, const char *text, size_t bytes)
{
	static char result[DIGEST_BYTES + 1];
	size_t looked_at = bytes < STATEMENT_BYTES ? bytes : STATEMENT_BYTES;

	begin_digest(&digest, server, 1);
	for (size_t i = 0; i < looked_at; i++)
		if (digest_letter(&digest, text[i], i + 1 < looked_at ? text[i + 1] : 0))
			break;
	end_digest(&digest, bytes > STATEMENT_BYTES);
	memset(result, 0, sizeof(result));
	memcpy(result, digest.text, digest.length < DIGEST_BYTES ? digest.length : DIGEST_BYTES);
	return result;
}

static const char *digest_of(enum sql_server server, const char *text)
{
	return digest_bytes(server, text, strlen(text));
}

struct pair {
	const char *text, *digest;
};

static void check_pairs(enum sql_server server, const struct pair *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		CHECK_TEXT(digest_of(server, pairs[i].text), pairs[i].digest);
}

static void literals_are_removed_from_postgresql(void)
{
	static const struct pair pairs[] = {
		{ "SELECT a FROM t WHERE id = 42", "SELECT a FROM t WHERE id = ?" },
		{ "select 'it''s', E'it\\'s', 1.5e10, 0x1f", "select ?, E?" },
		{ "select 'a' || E'b\\'c' || d", "select ? || E? || d" },
		{ "select $$secret$$, $a$ $$ $b$ secret $a$ || x", "select ? || x" },
		{ "select $1, $2 from \"T-1\"", "select ? from \"T-1\"" },
		{ "select \"a b\" from t", "select ? from t" },
		{ "select 1 -- secret\n+ x", "select ? + x" },
		{ "select /* secret /* secret */ secret */ x", "select x" },
		{ "select a/*secret*/b", "select a b" },
		{ "insert into t values (1, 'a'), (2, 'b'),(3,'c')", "insert into t values (?)" },
		{ "select x where id in (1, 2, 3) and y = 4", "select x where id in (?) and y = ?" },
		{ "  select\n\t x  ;", "select x ;" },
		{ "select a - 1, b -2", "select a - ?, b -?" },
		{ "SET app.token = secret", "SET app.token = ?" },
		{ "create function f() returns int set app.token to secret",
		  "create function f() returns int set app.token to ?" },
		{ "update t set a = 1, b = c where d = 2", "update t set a = ?, b = c where d = ?" },
		{ "with x as (select 1) update t set a = b", "with x as (select ?) update t set a = b" },
		{ "set app.token to secret", "set app.token to ?" },
		{ "VALUES (a-b-1, 'x\nsecret')", "VALUES (a-b-?)" },
		{ "select a/b*100, 'x */ secret'", "select a/b*?" },
		{ "select a-'b'- 'x\nsecret', a-\"b\"-c-$$x$$- 'x\nsecret'", "select a-?- ?, a-\"b\"-c-?- ?" },
		{ "ALTER ROLE r SET app.token = secret", "ALTER ROLE r SET app.token = ?" },
		{ "alter system set a to secret", "alter system set a to ?" },
		{ "select 1; set a = secret", "select ?; set a = ?" },
		{ "update t set a = b", "update t set a = b" },
		{ "select a#>'{b}'", "select a#>?" },
		{ "select `secret`", "select `secret`" }, /* an operator there, no quote */
	};

	check_pairs(SQL_POSTGRESQL, pairs, sizeof(pairs) / sizeof(*pairs));
}

static void literals_are_removed_from_mariadb(void)
{
	static const struct pair pairs[] = {
		{ "SELECT `a` FROM t WHERE b = \"secret\" AND c = 'secret'",
		  "SELECT `a` FROM t WHERE b = ? AND c = ?" },
		{ "select 1 # secret\n+ x", "select ? + x" },
		{ "select 5--3, x -- secret", "select ?--?, x" },
		{ "select x'00', b'01', N'a', _utf8'a'", "select x?, b?, N?, _utf8?" },
		{ "select /*!50000 'secret', */ x", "select ?" },
		{ "select $$secret$$", "select ?" },
		{ "set password = secret", "set password = ?" },
	};

	check_pairs(SQL_MARIADB, pairs, sizeof(pairs) / sizeof(*pairs));
}

/* Each of these is code to one server, or setting, and a literal to another. */
static void what_can_be_read_in_two_ways_is_a_literal_to_its_end(void)
{
	static const struct pair pairs[] = {
		{ "select 'a\\' , secret, 'b'", "select ?" },
		{ "select 'a\\\\', x", "select ?, x" },
		{ "select 1E'a\\' , secret, 'b'", "select ?" },
	};

	check_pairs(SQL_POSTGRESQL, pairs, sizeof(pairs) / sizeof(*pairs));
	check_pairs(SQL_MARIADB, pairs, 2);
	/* GBK: the second byte of a letter is a quote of identifiers, twice */
	CHECK_TEXT(digest_of(SQL_MARIADB, "select \xb0`, 'secret' , \xb0`"), "select ?");
	CHECK_TEXT(digest_of(SQL_MARIADB, "select * from t where \x83` = '\x83`secret'"), "select ?");
	/* Shift JIS: the second byte of a letter is a backslash, and does not take the meaning from the next one */
	CHECK_TEXT(digest_of(SQL_MARIADB, "insert into u values ('\x95\\\\' secret', 5)"), "insert into u values (?");
	CHECK_TEXT(digest_of(SQL_POSTGRESQL, "select E'\x95\\\\' secret', 5"), "select E?");
	CHECK_TEXT(digest_of(SQL_MARIADB, "select '\x95\\' , x"), "select ?");
}

static void a_literal_without_an_end_is_not_kept(void)
{
	static const struct pair pairs[] = {
		{ "select 'secret", "select ?" },	  { "select $a$secret$b$", "select ?" },
		{ "select \"secret", "select ?" },	  { "select E'secret\\'", "select ?" },
		{ "select /* secret", "select ?" },	  { "select -- secret", "select" },
		{ "select x, 123secret", "select x, ?" },
	};

	check_pairs(SQL_POSTGRESQL, pairs, sizeof(pairs) / sizeof(*pairs));
}

/* The client did not mask a quote in a literal, or left one out: any word may be one of a literal. */
static void where_a_quote_is_missing_only_the_first_word_is_kept(void)
{
	static const char *const texts[] = {
		"select id from users where name='O'Brien' and password='secret'",
		"select note='it's due', password='secret', card='4111' where id=3",
		"select '(rock 'n' roll)', 'secret'",
		"select id from u where a = 'abc and b = 'secret'",
		"select 'it' s due', secret",
		"select id from u where a = secret ' and b = 'x'",
		"select id from u where a = 'the students' union, the teachers' secret'",
		"select 'it' was the secret', 'x'",
		"select 'x' 5 secret",
		"select 'x' (secret)",
		"select id from u where a = secret -- ' , 'x'",
		"select id from u where a = secret /* ' */ , 'x'",
		"select secret ', /* ' */",
		"select secret ', '\\'",
		"select a''secret'",
		"select 'a'\"secret\"",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		CHECK_TEXT(digest_of(SQL_POSTGRESQL, texts[i]), "select ?");
		CHECK_NUMBER(digest.state, IN_DOUBT);
		CHECK_TEXT(digest_of(SQL_MARIADB, texts[i]), "select ?");
	}
	CHECK_TEXT(digest_of(SQL_MARIADB, "select q'[x ' y]' as a, 'secret' from dual"), "select ?");
	CHECK_TEXT(digest_of(SQL_POSTGRESQL, "select $$a$$secret"), "select ?");
	CHECK_TEXT(digest_of(SQL_POSTGRESQL, "select \"a\"secret\" from t"), "select ?");
}

static void what_well_formed_text_has_next_to_a_literal_is_kept(void)
{
	static const struct pair pairs[] = {
		{ "select 'a' 'b', 'a''b' from t", "select ? ? from t" },
		{ "select u&'d!0061' uescape '!', n'a', date'2020-01-01'", "select u&? uescape ?, n?, date?" },
		{ "select 'x'::text, ('a'), array['a','b']", "select ?::text, (?), array[?]" },
		{ "select 'a' name, 'b' as other from t", "select ? name, ? as other from t" },
		{ "select 'a' name from t where b like'x'", "select ?" }, /* no application leaves out that blank */
		{ "select a where b < 'x' + interval '1' day and c", "select a where b < ? + interval ? day and c" },
		{ "select a->'b'->>'c' from t", "select a->?->>? from t" },
		{ "select a -- its 'name'\nfrom t", "select ?" },
		{ "select 'a'/* 'b' */ from t -- don't", "select ? from t" },
		{ "select 'a' name /* in `method'*/", "select ? name" },
		{ "/* it's, \" */ select 'a' from t", "select ? from t" },
	};

	check_pairs(SQL_POSTGRESQL, pairs, sizeof(pairs) / sizeof(*pairs));
	CHECK_TEXT(digest_of(SQL_MARIADB, "grant all on a.* to 'u'@'h' identified by 'p'"),
		   "grant all on a.* to ?@? identified by ?");
	CHECK_TEXT(digest_of(SQL_MARIADB, "select \\N, \"it's\" 'a', _utf8'b'"), "select \\N, ? ?, _utf8?");
}

static void a_long_text_may_end_in_a_literal(void)
{
	static char text[2 * STATEMENT_BYTES] = "insert into t values ('";

	memset(text + strlen(text), 'x', STATEMENT_BYTES);
	CHECK_TEXT(digest_of(SQL_POSTGRESQL, text), "insert into t values (?");
}

static void what_is_no_text_is_not_kept(void)
{
	CHECK_TEXT(digest_bytes(SQL_MARIADB, "select a\0secret", 15), "select ?");
	CHECK_TEXT(digest_of(SQL_POSTGRESQL, "select \x01 secret"), "select ?");
	CHECK_TEXT(digest_of(SQL_POSTGRESQL, "\xff\xfe\x80 secret"), "? secret");
	CHECK_TEXT(digest_of(SQL_POSTGRESQL, ""), "");
}

static void long_texts_are_cut(void)
{
	static char text[3 * STATEMENT_BYTES];
	__u64 hash;

	memset(text, 'a', sizeof(text) - 1);
	CHECK_TEXT(digest_of(SQL_POSTGRESQL, text), "?"); /* no server has names that long */
	memset(text, 'x', sizeof(text) - 1);
	for (size_t i = 0; i < sizeof(text) - 1; i += 8)
		text[i] = '+';
	CHECK_NUMBER(strlen(digest_of(SQL_POSTGRESQL, text)), DIGEST_BYTES);
	hash = digest.hash;
	text[DIGEST_BYTES + 50] = 'y'; /* not shown, but another statement */
	digest_of(SQL_POSTGRESQL, text);
	CHECK(digest.hash != hash);
}

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
	RUN(literals_are_removed_from_postgresql);
	RUN(literals_are_removed_from_mariadb);
	RUN(what_can_be_read_in_two_ways_is_a_literal_to_its_end);
	RUN(a_literal_without_an_end_is_not_kept);
	RUN(where_a_quote_is_missing_only_the_first_word_is_kept);
	RUN(what_well_formed_text_has_next_to_a_literal_is_kept);
	RUN(a_long_text_may_end_in_a_literal);
	RUN(what_is_no_text_is_not_kept);
	RUN(long_texts_are_cut);
	RUN(no_marker_comes_out);
	RUN(one_quote_more_or_less_brings_no_marker_out);
	RUN(any_bytes_become_ascii_within_bounds);
	return check_result();
}
