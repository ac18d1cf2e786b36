/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of PostgreSQL's protocol 3: a type, a length in network order that counts itself, strings that end with a zero.
 * Several are sent together, of which the last is Sync or Flush where the client then waits.
 */
#pragma once
#include "sql/sql_message.h"

#define POSTGRESQL_HEADER 5	  /* bytes: type and length */
#define MOST_CUT_BYTES (16 << 20) /* of a message that is sent in pieces: more is hardly the length of any */

static inline bool is_client_type(char type)
{
	switch (type) {
	case 'B':
	case 'C':
	case 'D':
	case 'E':
	case 'F':
	case 'H':
	case 'P':
	case 'Q':
	case 'S':
	case 'X':
	case 'c':
	case 'd':
	case 'f':
	case 'p': return true;
	}
	return false;
}

/*
 * `kind`: the byte behind the header, which of Close says what is closed.  Of Bind the name of a portal begins there, which
 * has none as a rule; the statement's name behind that of another one is not read.
 */
static inline __u32 command_of(char type, char kind)
{
	switch (type) {
	case 'Q': return SQL_RUN;
	case 'P': return SQL_PREPARE;
	case 'B': return kind ? SQL_OTHER : SQL_EXECUTE;
	case 'C': return kind == 'S' ? SQL_CLOSE : SQL_OTHER;
	}
	return SQL_OTHER;
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

/* One message, of which so many `bytes` were sent, at least its header; what follows it counts. */
static inline bool read_postgresql(struct sql_message *message, const char *head, __u32 bytes)
{
	__u32 length = big_endian(head + 1), at = POSTGRESQL_HEADER, end = length < bytes ? length + 1 : bytes;

	if (!is_client_type(head[0]) || length < 4 || (length >= bytes && length > MOST_CUT_BYTES))
		return false;
	message->server = SQL_POSTGRESQL;
	message->command = command_of(head[0], head[POSTGRESQL_HEADER]);
	message->next_at = length + 1;
	message->prepared = 0;
	message->unsure = false;
	if (message->command == SQL_EXECUTE || message->command == SQL_CLOSE)
		at++;
	if (message->command != SQL_RUN && message->command != SQL_OTHER)
		at = behind_string(head, end, at, &message->prepared);
	message->named = at;
	message->text_at = at;
	message->text_bytes = end > at ? end - at : 0;
	return true;
}

/* Do messages lie there, all that were sent together?  Then the first fits, and the client waits after the last. */
static inline bool begin_postgresql(struct sql_message *message, const char *head, const char *tail, __u32 bytes)
{
	if (!read_postgresql(message, head, bytes) || message->next_at > bytes)
		return false;
	if (message->command == SQL_RUN && message->next_at == bytes)
		return !tail[SQL_TAIL_BYTES - 1];
	return awaits_answers(tail);
}
