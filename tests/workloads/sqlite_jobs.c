/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sqlite_jobs - puts a job into a SQLite database and takes it out again, a transaction each, N times: locks, a
 * journal, look-ups and flushes.  The library is loaded when it runs: nothing else needs it.
 */
#include "workload.h"
#include <dlfcn.h>

struct sqlite3;
static int (*execute)(struct sqlite3 *, const char *, void *, void *, char **);

static void *function(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found)
		die(name);
	return found;
}

static void sql(struct sqlite3 *base, const char *statement)
{
	char *message = NULL;

	if (execute(base, statement, NULL, NULL, &message))
		die(message ? message : statement);
}

int main(int argc, char **argv)
{
	const char *path = "jobs.db", *pragma = "";
	long count = 23;
	bool wait = parse_options(argc, argv,
				  KNOBS(TEXT("file", path, "the database"), NUMBER("count", count, "how many jobs"),
					TEXT("pragma", pragma, "a statement that comes first")));
	void *library = dlopen("libsqlite3.so.0", RTLD_NOW);
	int (*open_base)(const char *, struct sqlite3 **);
	int (*close_base)(struct sqlite3 *);
	struct sqlite3 *base;
	uint64_t begin, work_ns;
	char text[96];

	if (!library)
		die("libsqlite3.so.0");
	open_base = function(library, "sqlite3_open");
	close_base = function(library, "sqlite3_close");
	execute = function(library, "sqlite3_exec");
	if (open_base(path, &base))
		die("sqlite3_open");
	sql(base, "CREATE TABLE IF NOT EXISTS jobs(number INTEGER PRIMARY KEY, state TEXT)");
	if (*pragma)
		sql(base, pragma);
	start_work(wait);
	begin = now_ns();
	for (long i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "INSERT INTO jobs VALUES(%ld, 'new')", i);
		sql(base, text);
		snprintf(text, sizeof(text), "DELETE FROM jobs WHERE number = %ld", i);
		sql(base, text);
	}
	work_ns = now_ns() - begin;
	close_base(base);
	PRINT_TRUTH({ "count", count }, { "transactions", 2 * count }, { "work_ns", work_ns });
	return 0;
}
