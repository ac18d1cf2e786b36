// SPDX-License-Identifier: GPL-2.0-only
/* Digests of SQL statements: whatever stands in a text, no literal of it is in its digest. */
#include "check.h"
#include "digest_of.h"

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
	return check_result();
}
