/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a client sends to an SQL server, told by its bytes: which server, and whether a statement is run, prepared or run
 * as prepared.  The same for the programs and for tests.
 *
 * MySQL and MariaDB: a length of three bytes in little-endian order, a sequence number, 0 at the first, a command.
 *
 * Ports tell nothing, and any protocol may begin like that.  So lengths must fit exactly, and a text must begin with a
 * word that statements begin with, behind comments: the digest of a text that is none would keep its words, which may be
 * secrets.
 */
#pragma once
#include "sql/postgresql_message.h"

/* A MySQL client of version 8 sends the number of attributes, none, and of their sets, one, before the text. */
static inline __u32 attributes_bytes(const char *head)
{
	return !head[5] && head[6] == 1 ? 2 : 0;
}

static inline bool read_mariadb(struct sql_message *message, const char *head, __u32 bytes)
{
	__u32 length = little_endian(head) & 0xffffff;

	if (head[3] || length + 4 != bytes)
		return false;
	switch (head[4]) {
	case 3: message->command = SQL_RUN; break;
	case 22: message->command = SQL_PREPARE; break;
	case 23: message->command = SQL_EXECUTE; break;
	case 17: /* another user */
	case 31: message->command = SQL_FORGET; break;
	case 1:	 /* ends the connection */
	case 24: /* sends a part of a parameter; 25: closes what was prepared */
	case 25: message->command = SQL_SILENT; break;
	default: return false;
	}
	if (message->command == SQL_EXECUTE) {
		message->prepared = little_endian(head + 5);
		if (length < 10 || little_endian(head + 10) != 1) /* always one iteration */
			return false;
	}
	message->server = SQL_MARIADB;
	message->named = true;
	message->next_at = bytes;
	message->text_at = 5 + (message->command == SQL_RUN ? attributes_bytes(head) : 0);
	message->text_bytes = bytes - message->text_at;
	return true;
}

/* `head` has SQL_HEAD_BYTES, filled up with zeroes where the message has `bytes`, which are fewer; `server`: 0, any. */
static inline bool read_sql_message(struct sql_message *message, const char *head, const char *tail, __u32 bytes,
				    __u32 server)
{
	if (server != SQL_POSTGRESQL && bytes >= 5 && read_mariadb(message, head, bytes))
		return true;
	return server != SQL_MARIADB && bytes >= 9 && begin_postgresql(message, head, tail, bytes);
}

/*
 * Does its text begin as statements do, as far as that can be told here?  `sure`: the connection has sent statements
 * before, so this text may begin with anything, a comment as a rule.
 */
static inline bool begins_as_statement(struct sql_message *message, const char *head, bool sure)
{
	__u32 at = message->text_at;

	if (sure || (message->command == SQL_EXECUTE && message->named))
		return true;
	if ((message->command != SQL_RUN && message->command != SQL_PREPARE) || !message->named ||
	    at > SQL_HEAD_BYTES - 4)
		return false;
	message->unsure = begins_with_comment(head + at);
	return message->unsure || is_verb(head + at);
}
