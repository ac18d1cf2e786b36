// SPDX-License-Identifier: GPL-2.0-only
/* What a digest tells beside the text: whether the statement does any work, and whether it gives a name to another. */
#include <linux/types.h>
#include "core/records.h"
#include "sql/digest_rules.h"
#include "check.h"

static struct digest digest;

static void read_statement(const char *text)
{
	begin_digest(&digest, SQL_POSTGRESQL, 1);
	for (size_t i = 0; text[i]; i++)
		if (digest_letter(&digest, text[i], text[i + 1]))
			break;
	end_digest(&digest, false);
}

static void statements_of_transactions_are_told_from_work(void)
{
	static const char *const bookkeeping[] = {
		"BEGIN", "begin isolation level serializable;", "START TRANSACTION", "/* x */ COMMIT;",
		"end",	 "rollback to savepoint a; release a"
	};
	static const char *const work[] = { "VACUUM",	       "comment on table t is 'x'",
					    "BEGIN; SELECT 1", "(select 1)",
					    "'begin'",	       "beginning" };

	for (size_t i = 0; i < sizeof(bookkeeping) / sizeof(*bookkeeping); i++) {
		read_statement(bookkeeping[i]);
		CHECK(is_bookkeeping(&digest));
	}
	for (size_t i = 0; i < sizeof(work) / sizeof(*work); i++) {
		read_statement(work[i]);
		CHECK(!is_bookkeeping(&digest));
	}
}

static bool gives_name(const char *text)
{
	read_statement(text);
	return digest.names;
}

static void statements_that_are_prepared_in_sql_have_names(void)
{
	CHECK(gives_name("PREPARE a AS SELECT 1"));
	CHECK(gives_name("select 1; prepare a (int) as select $1"));
	CHECK(!gives_name("PREPARE TRANSACTION 'a'"));
	CHECK(!gives_name("prepare transaction 'a'; select 1 as b"));
	CHECK(!gives_name("select prepare as b"));
}

int main(void)
{
	RUN(statements_of_transactions_are_told_from_work);
	RUN(statements_that_are_prepared_in_sql_have_names);
	return check_result();
}
