// SPDX-License-Identifier: GPL-2.0-only
/* What clients of SQL servers send: statements are told from what only looks alike. */
#include <stdlib.h>
#include <linux/types.h>
#include "core/records.h"
#include "sql/digest_rules.h"
#include "sql/sql_messages.h"
#include "check.h"

static struct sql_message message;

static bool read_bytes(const char *bytes, size_t length, bool sure)
{
	char head[SQL_HEAD_BYTES] = {}, tail[SQL_TAIL_BYTES] = {};

	memset(&message, 0, sizeof(message));
	memcpy(head, bytes, length < sizeof(head) ? length : sizeof(head));
	if (length >= sizeof(tail))
		memcpy(tail, bytes + length - sizeof(tail), sizeof(tail));
	return read_sql_message(&message, head, tail, length, 0) && begins_as_statement(&message, head, sure);
}

#define IS_STATEMENT(bytes) read_bytes(bytes, sizeof(bytes) - 1, false)

static void simple_queries_of_postgresql_are_texts(void)
{
	CHECK(IS_STATEMENT("Q\0\0\0\x0dSELECT 1\0"));
	CHECK_NUMBER(message.server, SQL_POSTGRESQL);
	CHECK_NUMBER(message.command, SQL_RUN);
	CHECK_NUMBER(message.text_at, 5);
	CHECK_NUMBER(message.text_bytes, 9);
	CHECK(IS_STATEMENT("Q\0\0\0\x0b"
			   "bEgIn;\0"));
	CHECK(!IS_STATEMENT("Q\0\0\0\x0c"
			    "SELECT 1\0"));	      /* one byte more than it says */
	CHECK(!IS_STATEMENT("Q\0\0\0\x0dSELECT 12")); /* without an end */
	CHECK(!IS_STATEMENT("Q\0\0\0\x0dpassword\0"));
	CHECK(!IS_STATEMENT("Q\0\0\0\x04"));
}

#define SYNC "S\0\0\0\x04"

static void what_is_prepared_has_a_name(void)
{
	__u64 prepared;

	CHECK(IS_STATEMENT("P\0\0\0\x12s1\0SELECT $1\0\0\0" SYNC));
	CHECK_NUMBER(message.command, SQL_PREPARE);
	CHECK_NUMBER(message.text_at, 8);
	CHECK_NUMBER(message.next_at, 19);
	prepared = message.prepared;
	CHECK(prepared != 0);
	CHECK(IS_STATEMENT("B\0\0\0\x0e\0s1\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0" SYNC));
	CHECK_NUMBER(message.command, SQL_EXECUTE);
	CHECK(message.prepared == prepared);
	CHECK(IS_STATEMENT("B\0\0\0\x0e\0s2\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0" SYNC));
	CHECK(message.prepared != prepared);
	CHECK(IS_STATEMENT("B\0\0\0\x0c\0\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0" SYNC));
	CHECK_NUMBER(message.prepared, 0);
	CHECK(!IS_STATEMENT("B\0\0\0\x0e\0s1\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0")); /* it does not ask for answers */
	CHECK(!IS_STATEMENT("P\0\0\0\x12s1\0secret 12\0\0\0" SYNC));
}

static bool read_next(const char *bytes, size_t length)
{
	char head[SQL_HEAD_BYTES] = {};

	memcpy(head, bytes, length < sizeof(head) ? length : sizeof(head));
	return read_postgresql(&message, head, length);
}

#define IS_NEXT(bytes) read_next(bytes, sizeof(bytes) - 1)

static void messages_are_followed_one_by_one(void)
{
	__u64 prepared;

	CHECK(IS_NEXT("C\0\0\0\x08Ss1\0" SYNC));
	CHECK_NUMBER(message.command, SQL_CLOSE);
	CHECK_NUMBER(message.next_at, 9);
	prepared = message.prepared;
	CHECK(IS_NEXT("B\0\0\0\x0e\0s1\0\0\0\0\0\0\0"));
	CHECK_NUMBER(message.command, SQL_EXECUTE);
	CHECK(message.named && message.prepared == prepared);
	CHECK(IS_NEXT("C\0\0\0\x08Ps1\0"));
	CHECK_NUMBER(message.command, SQL_OTHER); /* a portal */
	CHECK(IS_NEXT("B\0\0\0\x0fx\0s1\0\0\0\0\0\0\0"));
	CHECK_NUMBER(message.command, SQL_OTHER); /* into one that has a name */
	CHECK(IS_NEXT("P\0\0\x10\0s1"));
	CHECK(!message.named); /* the rest of it is sent later */
	CHECK(IS_NEXT("P\0\0\x10\0s1\0SELECT"));
	CHECK(message.named && message.prepared == prepared);
	CHECK_NUMBER(message.next_at, 0x1001);
	CHECK(IS_NEXT(SYNC));
	CHECK_NUMBER(message.command, SQL_OTHER);
	CHECK(!IS_NEXT("B\x10\0\0\0\0s1\0")); /* nobody sends so much at once */
	CHECK(!IS_NEXT("S\xff\xff\xff\xff"));
	CHECK(!IS_NEXT("S\0\0\0\3"));
	CHECK(!IS_NEXT("x\0\0\0\4"));
}

static void a_send_may_begin_with_what_is_no_statement_where_others_came_before(void)
{
	static const char close[] = "C\0\0\0\x08Ss1\0P\0\0\0\x0b\0secret\0\0\0" SYNC;
	static const char begin[] = "Q\0\0\0\x0a"
				    "BEGIN\0" SYNC;

	CHECK(!read_bytes(close, sizeof(close) - 1, false));
	CHECK(read_bytes(close, sizeof(close) - 1, true));
	CHECK(read_bytes(begin, sizeof(begin) - 1, false)); /* more follows, and then it waits */
	CHECK_NUMBER(message.next_at, 11);
	CHECK(!read_bytes(begin, sizeof(begin) - 2, false));
}

static void names_that_do_not_end_are_not_followed(void)
{
	char bytes[256] = "P\0\0\0\xc8";

	memset(bytes + 5, 'a', 195);
	memcpy(bytes + 201, SYNC, 5);
	CHECK(!read_bytes(bytes, 206, false));
	bytes[5 + SQL_NAME_BYTES] = 0;
	memcpy(bytes + 6 + SQL_NAME_BYTES, "SELECT 1", 9);
	CHECK(read_bytes(bytes, 206, false));
	CHECK_NUMBER(message.text_at, 6 + SQL_NAME_BYTES);
	CHECK_NUMBER(message.text_bytes, 201 - message.text_at);
}

static void commands_of_mariadb_are_the_first_of_their_kind(void)
{
	CHECK(IS_STATEMENT("\x09\0\0\0\x03SELECT 1"));
	CHECK_NUMBER(message.server, SQL_MARIADB);
	CHECK_NUMBER(message.command, SQL_RUN);
	CHECK_NUMBER(message.text_bytes, 8);
	CHECK(IS_STATEMENT("\x0b\0\0\0\x03\0\x01SELECT 1")); /* of MySQL 8, without attributes */
	CHECK_NUMBER(message.text_at, 7);
	CHECK_NUMBER(message.text_bytes, 8);
	CHECK(IS_STATEMENT("\x09\0\0\0\x16SELECT ?"));
	CHECK_NUMBER(message.command, SQL_PREPARE);
	CHECK(IS_STATEMENT("\x0a\0\0\0\x17\x07\0\0\0\0\x01\0\0\0"));
	CHECK_NUMBER(message.command, SQL_EXECUTE);
	CHECK_NUMBER(message.prepared, 7);
	CHECK(!IS_STATEMENT("\x0a\0\0\0\x17\x07\0\0\0\0\x02\0\0\0"));
	CHECK(!IS_STATEMENT("\x01\0\0\0\x1f")); /* resets the connection */
	CHECK(read_bytes("\x01\0\0\0\x1f", 5, true));
	CHECK_NUMBER(message.command, SQL_FORGET);
	CHECK(!IS_STATEMENT("\x05\0\0\0\x19\x07\0\0\0")); /* closes what was prepared */
	CHECK(read_bytes("\x05\0\0\0\x19\x07\0\0\0", 9, true));
	CHECK_NUMBER(message.command, SQL_SILENT);
	CHECK(!IS_STATEMENT("\x09\0\0\x01\x03SELECT 1")); /* not the first */
	CHECK(!IS_STATEMENT("\x09\0\0\0\x0eSELECT 1"));	  /* another command */
	CHECK(!IS_STATEMENT("\x09\0\0\0\x03secret 1"));	  /* a length and a type of some other protocol */
}

static void a_text_may_begin_with_anything_where_others_came_before(void)
{
	static const char query[] = "Q\0\0\0\x13[* a *] SELECT\0";

	CHECK(!read_bytes(query, sizeof(query) - 1, false));
	CHECK(read_bytes(query, sizeof(query) - 1, true));
}

/* As the programs do it: the first word is that of the digest, which holds no comments. */
static bool is_statement_behind(const char *text)
{
	static struct digest digest;
	char bytes[600] = "Q";
	size_t length = strlen(text);

	bytes[3] = (length + 5) >> 8, bytes[4] = length + 5;
	memcpy(bytes + 5, text, length);
	if (!read_bytes(bytes, length + 6, false) || !message.unsure)
		return false;
	begin_digest(&digest, message.server, 1);
	for (size_t i = 0; i < length; i++)
		if (digest_letter(&digest, text[i], text[i + 1]))
			break;
	end_digest(&digest, false);
	return is_verb(digest.text);
}

static void comments_stand_before_the_first_word(void)
{
	CHECK(is_statement_behind("/*dddbs='shop',traceparent='00-1-01'*/ SELECT a FROM t"));
	CHECK(is_statement_behind("-- who asks\n/* and why */\n  update t set a = 1"));
	CHECK(is_statement_behind("\n\tSELECT 1"));
	CHECK(is_statement_behind("/* select generatedAlias0 from com.example.shop.order.Item as generatedAlias0 where "
				  "generatedAlias0.order.customer.address.city=:param0 order by generatedAlias0.name "
				  "asc */ select item0_.id from item item0_"));
	CHECK(!is_statement_behind("/* select */ secret words"));
	CHECK(!is_statement_behind("/* select 1"));
	CHECK(!is_statement_behind("-- select 1"));
	CHECK(!is_statement_behind("secret /* */ select"));
	CHECK(!is_statement_behind("/*x*/"));
	CHECK(IS_STATEMENT("Q\0\0\0\x0dSELECT 1\0"));
	CHECK(!message.unsure);
}

static void no_bytes_make_it_read_outside_of_what_it_was_given(void)
{
	char *bytes;

	srand(1);
	for (int i = 0; i < 200000; i++) {
		size_t length = rand() % 200;
		__u32 inside = rand() % 3 ? length - 1 : (__u32)rand();

		bytes = malloc(length + 8);
		for (size_t j = 0; j < length; j++)
			bytes[j] = rand() % 4 ? rand() : 0;
		if (length > 5) {
			bytes[0] = "QPB\x09"[rand() % 4];
			bytes[1] = inside >> 24, bytes[2] = inside >> 16, bytes[3] = inside >> 8, bytes[4] = inside;
		}
		if (length > 10)
			memcpy(bytes + length - 5, SYNC, 5);
		if (read_bytes(bytes, length, true))
			CHECK(message.text_at <= length && message.text_bytes <= length &&
			      message.text_at + message.text_bytes <= length);
		if (length >= POSTGRESQL_HEADER && read_next(bytes, length))
			CHECK(message.next_at >= POSTGRESQL_HEADER && message.text_at <= length &&
			      message.text_at + message.text_bytes <= length);
		free(bytes);
	}
}

int main(void)
{
	RUN(simple_queries_of_postgresql_are_texts);
	RUN(what_is_prepared_has_a_name);
	RUN(messages_are_followed_one_by_one);
	RUN(a_send_may_begin_with_what_is_no_statement_where_others_came_before);
	RUN(names_that_do_not_end_are_not_followed);
	RUN(commands_of_mariadb_are_the_first_of_their_kind);
	RUN(a_text_may_begin_with_anything_where_others_came_before);
	RUN(comments_stand_before_the_first_word);
	RUN(no_bytes_make_it_read_outside_of_what_it_was_given);
	return check_result();
}
