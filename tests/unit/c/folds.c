// SPDX-License-Identifier: GPL-2.0-only
/* Books by name: how many names are told apart. */
/* SOURCES: rows/folds.c */
#include "check.h"
#include "rows/folds.h"

#define MOST 3

static struct fold_entry *folds;

static struct fold_entry *meet(const char *name)
{
	char comm[COMM_BYTES] = {};

	strcpy(comm, name);
	return fold_of_name(&folds, comm, MOST);
}

static void end(void)
{
	struct fold_entry *entry, *next;

	HASH_ITER(hh, folds, entry, next)
	fold_free(&folds, entry);
	CHECK(!folds);
}

static void tells_so_many_names_apart(void)
{
	CHECK_TEXT(meet("a")->comm, "a");
	CHECK_TEXT(meet("b")->comm, "b");
	CHECK_TEXT(meet("c")->comm, "c");
	CHECK_TEXT(meet("d")->comm, FOLD_OTHERS);
	CHECK(meet("e") == meet("d"));
	CHECK_NUMBER(HASH_COUNT(folds), MOST + 1);
	end();
}

/* Or half of its books would stand under its name, and the other half under no name. */
static void keeps_a_name_it_has_when_full(void)
{
	struct fold_entry *first = meet("a");

	meet("b");
	meet("c");
	meet("d");
	CHECK(meet("a") == first);
	CHECK_TEXT(meet("a")->comm, "a");
	end();
}

/* A process can be called so, too. */
static void a_process_of_that_name_is_one_of_the_others(void)
{
	CHECK(meet(FOLD_OTHERS) == meet(FOLD_OTHERS));
	CHECK_NUMBER(HASH_COUNT(folds), 1);
	end();
}

int main(void)
{
	RUN(tells_so_many_names_apart);
	RUN(keeps_a_name_it_has_when_full);
	RUN(a_process_of_that_name_is_one_of_the_others);
	return check_result();
}
