/* SPDX-License-Identifier: GPL-2.0-only */
/* Statements that the target asks SQL servers for, where its connections are not encrypted, and how often a request does. */
#pragma once
#include "sql/postgresql_call.bpf.h"

#define SQL_LOOKS                                                                                                      \
	12 /* a connection that has not shown a statement by then is none of a server's: log-ins take up to six */

/* Global, as what follows it: the verifier would walk that again for each length that a name in the message can have. */
__weak __noinline int understand_message(struct sql_scratch *scratch, __u32 bytes, __u32 server)
{
	return scratch && read_sql_message(&scratch->message, scratch->head, scratch->tail, bytes, server);
}

__weak __noinline int shows_statement(struct sql_scratch *scratch, int sure)
{
	return scratch && begins_as_statement(&scratch->message, scratch->head, sure);
}

/*
 * Reads the message at an address; returns whether it is one for an SQL server.  `server`: which, 0 if that is not known
 * yet.  Global, so that the verifier walks it once.
 */
__weak __noinline int read_message(struct sql_scratch *scratch, __u64 address, __u32 bytes, __u32 server)
{
	__u32 looked_at = at_most(bytes, SQL_HEAD_BYTES);

	if (!scratch)
		return 0;
	__builtin_memset(scratch->head, 0, sizeof(scratch->head));
	__builtin_memset(&scratch->message, 0, sizeof(scratch->message));
	if (bytes < SQL_TAIL_BYTES || bpf_probe_read_user(scratch->head, looked_at, (void *)address) ||
	    bpf_probe_read_user(scratch->tail, SQL_TAIL_BYTES, (void *)(address + bytes - SQL_TAIL_BYTES)))
		return 0;
	return understand_message(scratch, bytes, server) && shows_statement(scratch, server);
}

/* The first word behind the comment that its text begins with. */
__weak __noinline int has_verb(struct sql_scratch *scratch, __u64 address)
{
	return scratch && make_digest_of_message(&scratch->text, &scratch->message, address) &&
	       is_verb(scratch->text.digest.text);
}

/*
 * Where the current call's messages lie: see find_text(); 0: they are none of an SQL server's.  Global, so that what it has
 * on the stack is not there while digests are made.
 */
__weak __noinline __u64 find_messages(struct connection *connection, struct sql_scratch *scratch, __u32 bytes)
{
	struct text_place place;
	struct call call;
	bool followed;

	if (!connection || !scratch)
		return 0;
	followed = is_followed(&connection->sql);
	read_call(bpf_get_current_task_btf(), &call);
	if (call.number < 0 || call.i386)
		return 0;
	for (__u32 i = 0; i < TEXT_PLACES; i++) {
		go_to_place(&place, i, &call, bytes);
		if (place.room >= bytes &&
		    (followed ? lies_at(connection, scratch, place.address, bytes, i)
			      : read_message(scratch, place.address, bytes, connection->sql.server))) {
			connection->sql.place = i;
			return place.address;
		}
	}
	return 0;
}

/* One command of a client of MariaDB. */
static __always_inline void take_command(struct connection *connection, struct sql_scratch *scratch)
{
	struct sql_message *message = &scratch->message;
	struct sql_asked *sql = &connection->sql;
	struct known_statement *known = NULL;
	struct known_statement last = { sql->prepared, true };

	if (message->command == SQL_FORGET)
		forget_prepared(connection);
	if ((message->command == SQL_RUN || message->command == SQL_PREPARE) &&
	    know_statement(scratch, scratch->sent.address))
		known = &scratch->known;
	if (message->command == SQL_PREPARE) {
		sql->number = sql->number == NUMBER_TOLD ? NUMBER_AWAITED : NUMBER_UNKNOWN;
		sql->prepared = known && known->kept ? known->hash : 0;
	} else if (message->command == SQL_RUN && known) {
		choose(&scratch->sent, known, 0);
	} else if (message->command == SQL_RUN) {
		count_loss(COUNTER_STATEMENTS_UNREAD);
	} else if (message->command == SQL_EXECUTE && message->prepared == LAST_PREPARED) {
		choose(&scratch->sent, last.hash ? &last : NULL, message->prepared);
	} else if (message->command == SQL_EXECUTE) {
		choose_prepared(connection, &scratch->sent, message);
	}
}

/* What was sent cannot be read, or is something else. */
static __always_inline void miss_call(struct connection *connection, bool more)
{
	if (connection->sql.server && !more)
		count_loss(COUNTER_STATEMENTS_UNREAD);
	if (connection->sql.server == SQL_POSTGRESQL)
		lose_stream(connection);
	else
		connection->sql.prepared = 0;
	connection->sql.looks += !connection->sql.server;
}

/*
 * The target sends `bytes` on a connection that it has made: is that a statement?  `more`: what was sent before is not
 * answered yet.  Returns whether no answer comes to it.  Global, so that the verifier walks it once.
 */
__weak __noinline int note_sql_call(struct connection *connection, __u32 bytes, int more)
{
	struct sql_scratch *scratch;
	struct sql_asked *sql;

	if (!connection)
		return 0;
	sql = &connection->sql;
	if (!more)
		sql->running = RUNS_NOTHING;
	if (!sql->server && (more || sql->looks >= SQL_LOOKS))
		return 0;
	if (more && sql->server == SQL_MARIADB) { /* the rest of a long command, or the next one */
		sql->number = NUMBER_UNKNOWN;
		sql->prepared = 0;
		return 0;
	}
	if (is_followed(sql) && sql->left >= bytes) {
		sql->left -= bytes;
		return 0;
	}
	scratch =
		bpf_task_storage_get(&sql_scratches, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!scratch) {
		count_loss(COUNTER_STORAGE_FAILED);
		miss_call(connection, more);
		return 0;
	}
	scratch->sent.address = find_messages(connection, scratch, bytes);
	if (!scratch->sent.address || (scratch->message.unsure && !has_verb(scratch, scratch->sent.address))) {
		miss_call(connection, more);
		return 0;
	}
	sql->server = scratch->message.server;
	scratch->sent.bytes = bytes;
	scratch->sent.chosen = scratch->sent.together = 0;
	scratch->sent.running = more && sql->running == RUNS_NOTHING ? RUNS_STATEMENT : sql->running;
	if (sql->server == SQL_POSTGRESQL)
		follow_postgresql(connection, scratch);
	else
		take_command(connection, scratch);
	take_choice(connection, &scratch->sent);
	return scratch->message.command == SQL_SILENT;
}
