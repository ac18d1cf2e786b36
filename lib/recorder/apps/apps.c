// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "apps/apps.h"
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "apps/exports.h"
#include "apps/process_tree.h"
#include "apps/sessions.h"
#include "apps/statements.h"
#include "base/cleanup.h"
#include "program/map_walk.h"
#include "perfdiag.skel.h"

#define SESSIONS_MAX 8192
#define EXPORTS_MS 1000 /* MySQL exports 80,000 functions, and a busy host has no CPU to spare */
#define SESSIONS_MS 500
#define ROUNDS 3 /* programs are met, looked at, and then their processes are read */

static const char *const comms[] = { "postgres", "postmaster", "edb-postgres", "mariadbd", "mysqld", NULL };
static const char *const mariadb_comms[] = { "mariadbd", "mysqld", NULL };

/* PostgreSQL 14 was the first to export these data. */
static const struct kind {
	const char *name, *means;
	enum sql_server server;
	struct exports_wanted wanted;
} postgresql = { "postgresql",
		 "my_wait_event_info",
		 SQL_POSTGRESQL,
		 { .names = { "my_wait_event_info", "MyBEEntry" },
		   .functions = { "pgstat_report_activity", "PortalRun" },
		   .marks = { "PostmasterMain", "PostgresMain", "ProcessInterrupts", "heap_insert" },
		   .version_prefix = "postgres (PostgreSQL) " } },
  mariadb = { "mariadb",
	      "dispatch_command",
	      SQL_MARIADB,
	      { .functions = { "_Z16dispatch_command19enum_server_commandP3THDPcjb" },
		.marks = { "_Z11mysqld_mainiPPc", "set_thd_proc_info", "my_thread_init", "_Z16close_connectionP3THDj" },
		.version_suffix = "-MariaDB" } },
  mysql = { "mysql",
	    "dispatch_command",
	    SQL_MYSQL,
	    { .functions = { "_Z16dispatch_commandP3THDPK8COM_DATA19enum_server_command" },
	      .marks = { "_Z11mysqld_mainiPPc", "_Z21mysql_execute_commandP3THDb", "_Z16close_connectionP3THDjbb" },
	      .version_prefix = "MySQL " } };

/* What is told of a program beside its addresses. */
static struct app {
	const struct kind *kind;
	pid_t pid; /* the first process it was met in */
	size_t processes;
	char version[VERSION_BYTES];
	const char *lack;	     /* why its waits have no names; NULL: they have */
	const char *statements_lack; /* why its statements are not measured; NULL: they are */
} apps[PROGRAMS_MAX];
static struct program programs[PROGRAMS_MAX];
static size_t program_count;

/*
 * Only in the program itself are probes set.  Another one of that name may let exceptions pass through what the probe at
 * a return has put on its stack, which ends it; a server's own caller has no handler for them.
 */
#define NOT_ITSELF "its program lacks functions that every such server exports: it is another one, or stripped of them"

static const char *explain(const struct kind *kind, int err, const struct exports *exports)
{
	if (err == -EACCES || err == -EPERM)
		return "its program file may not be read: CAP_SYS_PTRACE is missing";
	if (err == -ETIMEDOUT)
		return "its program file was not read in time";
	if (err)
		return "its program file could not be read";
	if (kind->wanted.names[0] && !exports->addresses[0])
		return "its program exports no my_wait_event_info: it is older than PostgreSQL 14, or stripped of it";
	return NULL;
}

static bool is_of(int fd, const struct session *session)
{
	struct stat status;

	return !fstat(fd, &status) && status.st_dev == session->device && status.st_ino == session->inode;
}

/* What it may be by its name, looked for in its file: both MariaDB and MySQL are called mysqld. */
static const struct kind *find_kind(pid_t pid, struct exports *exports, int *fd, int *err)
{
	const struct kind *kind = process_is_named(pid, mariadb_comms) ? &mariadb : &postgresql;
	_cleanup_close_ int other_fd = -1;
	struct exports other = {};

	*err = exports_find(pid, &kind->wanted, exports, fd, EXPORTS_MS);
	if (*err || kind == &postgresql || exports_has_marks(&kind->wanted, exports) ||
	    exports_find(pid, &mysql.wanted, &other, &other_fd, EXPORTS_MS) ||
	    !exports_has_marks(&mysql.wanted, &other))
		return kind;
	*exports = other;
	close(*fd);
	*fd = other_fd;
	other_fd = -1;
	return &mysql;
}

/* A file that is no PostgreSQL in spite of its name has neither the name nor the version: it is not told. */
static void look_at_program(struct recorder *recorder, const struct session *session)
{
	const struct kind *kind;
	struct app *app = &apps[program_count];
	_cleanup_close_ int fd = -1;
	struct exports exports = {};
	int err;

	if (program_count == PROGRAMS_MAX)
		return;
	kind = find_kind(session->pid, &exports, &fd, &err);
	if (fd >= 0 && !is_of(fd, session))
		return; /* it has begun to run another program */
	*app = (struct app){ .kind = kind, .pid = session->pid, .lack = explain(kind, err, &exports) };
	app->statements_lack = err ? app->lack
			       : !exports_has_marks(&kind->wanted, &exports)
				       ? NOT_ITSELF
				       : statements_attach(recorder, kind->server, fd, exports.offsets);
	if (!kind->wanted.names[0])
		app->lack = app->statements_lack; /* nothing else is read of it */
	memcpy(app->version, exports.version, sizeof(app->version));
	programs[program_count++] = (struct program){
		.device = session->device,
		.inode = session->inode,
		.first_code = exports.first_code,
		.wait_pointer = exports.addresses[0],
		.entry_pointer = exports.addresses[1],
	};
}

static bool is_known(const struct session *session)
{
	for (size_t i = 0; i < program_count; i++)
		if (programs[i].device == session->device && programs[i].inode == session->inode)
			return true;
	return false;
}

static void follow(struct recorder *recorder, const struct session *session)
{
	struct bpf_map *map = recorder->skeleton->maps.databases;

	apps[session->program].processes++;
	if (!session->database.wait_pointer)
		return;
	if (!bpf_map__update_elem(map, &session->pid, sizeof(session->pid), &session->database,
				  sizeof(session->database), BPF_ANY))
		recorder->skeleton->bss->knobs.databases = 1;
}

/* Reads processes until all their programs are known: as a rule they have one. */
static void meet_all(struct recorder *recorder, const pid_t *pids, size_t count)
{
	_cleanup_free_ struct session *sessions = calloc(count ?: 1, sizeof(*sessions));
	size_t known_before;
	ssize_t read = 0;

	for (int round = 0; sessions && count && round < ROUNDS; round++) {
		known_before = program_count;
		read = sessions_read(pids, round || program_count ? count : 1, programs, program_count, sessions,
				     SESSIONS_MS);
		for (ssize_t i = 0; i < read; i++)
			if (sessions[i].program < 0 && sessions[i].inode && !is_known(&sessions[i]))
				look_at_program(recorder, &sessions[i]);
		if (program_count == known_before)
			break;
		read = 0;
	}
	for (ssize_t i = 0; i < read; i++)
		if (sessions[i].program >= 0 && (size_t)sessions[i].program < program_count)
			follow(recorder, &sessions[i]);
}

void apps_begin(struct recorder *recorder)
{
	_cleanup_free_ pid_t *pids = calloc(SESSIONS_MAX, sizeof(*pids));

	program_count = 0;
	if (pids && !recorder->options.no_apps)
		meet_all(recorder, pids, processes_named(&recorder->options, comms, pids, SESSIONS_MAX));
}

void apps_meet(struct recorder *recorder, pid_t pid)
{
	if (!recorder->options.no_apps && process_is_named(pid, comms))
		meet_all(recorder, &pid, 1);
}

void apps_forget(struct recorder *recorder, pid_t pid)
{
	if (recorder->skeleton->bss->knobs.databases)
		bpf_map__delete_elem(recorder->skeleton->maps.databases, &pid, sizeof(pid), 0);
}

static void write_said(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.said_waits) };
	struct json *json = &recorder->json;
	struct said_key key;
	struct said_sum sum;

	while (map_next(&walk, &key, &sum)) {
		json_open(json, "database_wait");
		json_u64(json, "pid", key.tgid);
		json_text(json, "account", account_names[key.account]);
		object_write(recorder, "object", key.object);
		json_u64(json, "sum_ns", sum.ns);
		json_u64(json, "count", sum.count);
		json_u64(json, "max_ns", sum.max_ns);
		buckets_write(json, "buckets", sum.buckets);
		json_write(json, &recorder->output);
	}
}

void apps_write(struct recorder *recorder)
{
	struct json *json = &recorder->json;

	for (size_t i = 0; i < program_count; i++) {
		if (!apps[i].version[0] && apps[i].lack)
			continue;
		json_open(json, "application");
		json_u64(json, "pid", apps[i].pid);
		json_text(json, "kind", apps[i].kind->name);
		json_text(json, "version", apps[i].version);
		json_u64(json, "processes", apps[i].processes);
		json_text(json, "reads", apps[i].lack ? "" : apps[i].kind->means);
		json_text(json, "lack", apps[i].lack);
		json_text(json, "statements_lack", apps[i].statements_lack);
		json_write(json, &recorder->output);
	}
	write_said(recorder);
	statements_write(recorder);
}
