/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a client sends to an SQL server, told by its bytes: which server, and whether a statement is run, prepared or run
 * as prepared.  The same for the programs and for tests.
 *
 * PostgreSQL (protocol 3): a type, a length in network order that counts itself, strings that end with a zero; several
 * messages are sent together, and the last one is Sync or Flush.  MySQL and MariaDB: a length of three bytes in
 * little-endian order, a sequence number, 0 at the first, a command.
 *
 * Ports tell nothing, and any protocol may begin like that.  So lengths must fit exactly, and a text must begin with a
 * word that statements begin with, behind comments: the digest of a text that is none would keep its words, which may be
 * secrets.
 */
#pragma once
#include <stdbool.h>
#include "core/hash.h"

#define SQL_HEAD_BYTES 96 /* looked at, of each message */
#define SQL_TAIL_BYTES 5  /* likewise, its last ones */
#define SQL_NAME_BYTES 63 /* of a prepared statement; longer ones are not followed */

enum sql_command {
	SQL_NO_COMMAND,
	SQL_RUN,     /* this text */
	SQL_PREPARE, /* likewise; PostgreSQL: it may be run in the same message */
	SQL_EXECUTE, /* what was prepared */
};

struct sql_message {
	__u32 server; /* enum sql_server */
	__u32 command;
	__u32 text_at, text_bytes; /* PostgreSQL: at most so many, the text ends with a zero */
	__u32 next_at;		   /* where the next message begins; 0: there is none */
	__u64 prepared;		   /* of its name, or its number */
	bool unsure;		   /* its text begins with a comment: is_verb() has to be asked of its digest */
};

static inline __u32 big_endian(const char *bytes)
{
	return (__u32)(__u8)bytes[0] << 24 | (__u32)(__u8)bytes[1] << 16 | (__u32)(__u8)bytes[2] << 8 | (__u8)bytes[3];
}

static inline __u32 little_endian(const char *bytes)
{
	return (__u32)(__u8)bytes[3] << 24 | (__u32)(__u8)bytes[2] << 16 | (__u32)(__u8)bytes[1] << 8 | (__u8)bytes[0];
}

/* Four letters as a number, whatever their case; a blank stays one. */
#define VERB(a, b, c, d) ((__u32)(a) << 24 | (__u32)(b) << 16 | (__u32)(c) << 8 | (__u32)(d))

static inline bool is_verb(const char *text)
{
	switch (big_endian(text) | 0x20202020) {
	case VERB('s', 'e', 'l', 'e'):
	case VERB('i', 'n', 's', 'e'):
	case VERB('u', 'p', 'd', 'a'):
	case VERB('d', 'e', 'l', 'e'):
	case VERB('r', 'e', 'p', 'l'):
	case VERB('w', 'i', 't', 'h'):
	case VERB('b', 'e', 'g', 'i'):
	case VERB('s', 't', 'a', 'r'):
	case VERB('c', 'o', 'm', 'm'):
	case VERB('r', 'o', 'l', 'l'):
	case VERB('s', 'a', 'v', 'e'):
	case VERB('s', 'e', 't', ' '):
	case VERB('s', 'h', 'o', 'w'):
	case VERB('c', 'a', 'l', 'l'):
	case VERB('f', 'e', 't', 'c'):
	case VERB('d', 'e', 'c', 'l'): return true;
	}
	return false;
}

/* What pools and mappers of objects put before the word, to tell in the server's log who asks. */
static inline bool begins_with_comment(const char *text)
{
	return (text[0] == '/' && text[1] == '*') || (text[0] == '-' && text[1] == '-') || text[0] == '#' ||
	       text[0] == ' ' || text[0] == '\n' || text[0] == '\r' || text[0] == '\t';
}

/* The index behind the zero that ends the string at `at`; 0: it does not end within what is looked at. */
static inline __u32 behind_string(const char *head, __u32 bytes, __u32 at, __u64 *hash)
{
	for (int i = 0; i <= SQL_NAME_BYTES; i++, at++) {
		if (at >= bytes || at >= SQL_HEAD_BYTES)
			return 0;
		if (!head[at])
			return at + 1;
		*hash = mix(*hash, (__u8)head[at]);
	}
	return 0;
}

/* Sync or Flush: the client waits for answers now. */
static inline bool awaits_answers(const char *tail)
{
	return (tail[0] == 'S' || tail[0] == 'H') && big_endian(tail + 1) == 4;
}

static inline bool read_postgresql(struct sql_message *message, const char *head, const char *tail, __u32 bytes)
{
	__u32 length = big_endian(head + 1), at = 5;

	if (length < 5 || length >= bytes)
		return false;
	if (head[0] == 'Q') {
		message->command = SQL_RUN;
		if (length + 1 != bytes || tail[SQL_TAIL_BYTES - 1])
			return false;
	} else if (head[0] == 'P' || head[0] == 'B') {
		message->command = head[0] == 'P' ? SQL_PREPARE : SQL_EXECUTE;
		if (!awaits_answers(tail))
			return false;
		if (head[0] == 'B' && head[at++]) /* a portal that has a name */
			return false;
		at = behind_string(head, bytes, at, &message->prepared);
		if (!at || at > length + 1)
			return false;
	} else {
		return false;
	}
	message->server = SQL_POSTGRESQL;
	message->text_at = at;
	message->text_bytes = length + 1 - at;
	message->next_at = length + 1 < bytes ? length + 1 : 0;
	return true;
}

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
	default: return false;
	}
	if (message->command == SQL_EXECUTE) {
		message->prepared = little_endian(head + 5);
		if (length < 10 || little_endian(head + 10) != 1) /* always one iteration */
			return false;
	}
	message->server = SQL_MARIADB;
	message->text_at = 5 + (message->command == SQL_RUN ? attributes_bytes(head) : 0);
	message->text_bytes = bytes - message->text_at;
	return true;
}

/* `head` has SQL_HEAD_BYTES, filled up with zeroes where the message has `bytes`, which are fewer. */
static inline bool read_sql_message(struct sql_message *message, const char *head, const char *tail, __u32 bytes)
{
	return bytes >= 9 && (read_mariadb(message, head, bytes) || read_postgresql(message, head, tail, bytes));
}

/*
 * Does its text begin as statements do, as far as that can be told here?  `sure`: the connection has sent statements
 * before, so this text may begin with anything, a comment as a rule.
 */
static inline bool begins_as_statement(struct sql_message *message, const char *head, bool sure)
{
	__u32 at = message->text_at;

	if (sure || message->command == SQL_EXECUTE)
		return true;
	if (at > SQL_HEAD_BYTES - 4)
		return false;
	message->unsure = begins_with_comment(head + at);
	return message->unsure || is_verb(head + at);
}
