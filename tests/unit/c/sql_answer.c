// SPDX-License-Identifier: GPL-2.0-only
/* Which error an SQL server answers with, and that nothing else of it is kept. */
#include <linux/types.h>
#include <string.h>
#include "check.h"
#include "core/records.h"
#include "sql/sql_answer.h"

#define STATE(text) (FIRST_SQLSTATE + number_of(text))
#define ANSWER(server, bytes) status(server, false, bytes, sizeof(bytes) - 1)
#define POSTGRESQL(bytes) ANSWER(SQL_POSTGRESQL, bytes)
#define MYSQL(bytes) ANSWER(SQL_MARIADB, bytes)

#define FIELDS "SERROR\0VERROR\0C40001\0Mcould not serialize\0\0"
#define ERROR "E\0\0\0\x2f" FIELDS
#define READY "Z\0\0\0\5I"
#define COLUMN "T\0\0\0\x0a\0\0\0\0\0\0"
#define DONE "C\0\0\0\13COMMIT\0"

static __u32 number_of(const char *text)
{
	__u32 number = 0;

	for (; *text; text++)
		number = number * 36 + (*text <= '9' ? *text - '0' : *text - 'A' + 10);
	return number;
}

/* As status_at() of sql_answer.bpf.h does. */
static __u32 status(__u32 server, bool begun, const char *bytes, __u32 length)
{
	struct sql_answer answer = { .server = server, .begun = begun };

	for (int i = 0; i < MOST_ANSWERS && answer.at < length; i++) {
		char head[SQL_ANSWER_BYTES] = {};
		__u32 there = length - answer.at, before = begun ? PACKET_BEGINNING : 0;
		__u32 room = sizeof(head) - PACKET_BEGINNING;

		if (begun)
			put_beginning(head);
		memcpy(head + before, bytes + answer.at, there < room ? there : room);
		if (!take_sql_answer(&answer, head, there + before))
			break;
	}
	if (answer.state_at && answer.state_at + SQLSTATE_DIGITS < length)
		return sqlstate(bytes + answer.state_at);
	return answer.status;
}

static void test_errors_of_postgresql(void)
{
	CHECK(POSTGRESQL(ERROR READY) == STATE("40001"));
	CHECK(POSTGRESQL(COLUMN ERROR READY) == STATE("40001"));
	CHECK(POSTGRESQL("1\0\0\0\4"
			 "2\0\0\0\4"
			 "n\0\0\0\4" ERROR READY) == STATE("40001"));
	CHECK(POSTGRESQL(DONE ERROR READY) == STATE("40001"));
	CHECK(POSTGRESQL("E\0\0\0\x30SFEHLER\0CP0001\0Mno\0\0") == STATE("P0001"));
	CHECK(POSTGRESQL("E\0\0\0\x30SERROR\0VERROR\0C25P02\0") == TRANSACTION_HAS_FAILED);
	CHECK(STATE("ZZZZZ") + 1 == SQLSTATE_END);
}

static void test_what_is_no_error_of_postgresql(void)
{
	CHECK(POSTGRESQL(DONE READY) == STATUS_FINE);
	CHECK(POSTGRESQL(DONE READY ERROR) == STATUS_FINE);
	CHECK(POSTGRESQL(READY) == STATUS_FINE);
	CHECK(POSTGRESQL(COLUMN "D\0\0\0\5\1" DONE READY) == STATUS_FINE);
	CHECK(POSTGRESQL(COLUMN) == STATUS_INTERIM);
	CHECK(POSTGRESQL("N\0\0\0\x2f" FIELDS) == STATUS_INTERIM);
	CHECK(POSTGRESQL("C\0\0") == STATUS_NONE);
	CHECK(POSTGRESQL("Ends") == STATUS_NONE);
	CHECK(POSTGRESQL("E\0\0\0\3SERROR\0C40001\0") == STATUS_NONE);
	CHECK(POSTGRESQL("E\0\2\0\0SERROR\0C40001\0") == STATUS_NONE);
	CHECK(POSTGRESQL("E\0\0\0\x30"
			 "C40001\0\0") == STATUS_NONE);
	CHECK(POSTGRESQL(DONE "HTTP/1.1 200") == STATUS_NONE);
}

/* A function of the database's can choose any five letters. */
static void test_states_that_may_be_words_are_not_kept(void)
{
	CHECK(POSTGRESQL("E\0\0\0\x30SERROR\0VERROR\0CTOKEN\0M\0\0") == REDIS_OTHER);
	CHECK(POSTGRESQL("E\0\0\0\x30SERROR\0VERROR\0C4a001\0M\0\0") == REDIS_OTHER);
	CHECK(POSTGRESQL("E\0\0\0\x30SERROR\0VERROR\0C400012\0M\0\0") == REDIS_OTHER);
	CHECK(POSTGRESQL("E\0\0\0\x30SERROR\0MC40001\0C40001\0\0") == REDIS_OTHER);
	CHECK(POSTGRESQL("E\0\0\0\x30SERROR\0VERR") == REDIS_OTHER);
	CHECK(POSTGRESQL("E\0\0\0\xff"
			 "S123456789012345678901234567890123456789012345678901\0C40001\0") == REDIS_OTHER);
}

static void test_errors_of_mysql(void)
{
	CHECK(MYSQL("\x0c\0\0\1\xff\xbd\4#40001dea") == FIRST_MYSQL_ERROR + 1213);
	CHECK(MYSQL("\1\0\0\1\1"
		    "\3\0\0\2def"
		    "\x0c\0\0\3\xff\xb5\4#HY000loc") == FIRST_MYSQL_ERROR + 1205);
	CHECK(MYSQL("\x0c\0\0\1\xff\1\0#40001dea") == REDIS_OTHER);
	CHECK(status(SQL_MARIADB, true, "\xff\xbd\4#40001dea", 12) == FIRST_MYSQL_ERROR + 1213);
	CHECK(MYSQL("\x0c\0\0\1") == STATUS_INTERIM);
}

static void test_what_is_no_error_of_mysql(void)
{
	CHECK(MYSQL("\7\0\0\1\0\0\0\2\0\0\0") == STATUS_FINE);
	CHECK(MYSQL("\x0c\0\0\0\xff\xbd\4#40001dea") == STATUS_NONE);
	CHECK(MYSQL("\x0c\0\0\1\xff\xbd\4 40001dea") == STATUS_NONE);
	CHECK(MYSQL("\2\0\0\1\xff\xbd") == STATUS_NONE);
	CHECK(MYSQL("\0\0\0\1\xff") == STATUS_NONE);
	CHECK(MYSQL("\x0c\0") == STATUS_NONE);
	CHECK(status(SQL_MARIADB, true, "\0\0\0\2\0\0\0", 7) == STATUS_FINE);
}

int main(void)
{
	RUN(test_errors_of_postgresql);
	RUN(test_what_is_no_error_of_postgresql);
	RUN(test_states_that_may_be_words_are_not_kept);
	RUN(test_errors_of_mysql);
	RUN(test_what_is_no_error_of_mysql);
	return check_result();
}
