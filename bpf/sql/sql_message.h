/* SPDX-License-Identifier: GPL-2.0-only */
/* One message that a client sends to an SQL server, and the words that statements begin with. */
#pragma once
#include <stdbool.h>
#include "core/hash.h"

#define SQL_HEAD_BYTES 96 /* looked at, of each message */
#define SQL_TAIL_BYTES 5  /* likewise, the last ones of all that is sent */
#define SQL_NAME_BYTES 63 /* of a prepared statement; longer ones are not followed */

enum sql_command {
	SQL_NO_COMMAND,
	SQL_RUN,     /* this text */
	SQL_PREPARE, /* likewise */
	SQL_EXECUTE, /* what was prepared */
	SQL_CLOSE,   /* PostgreSQL: what was prepared has no name any more */
	SQL_FORGET,  /* MariaDB: nor has anything that was */
	SQL_SILENT,  /* MariaDB: no answer comes to that */
	SQL_OTHER,   /* nothing that matters here */
};

struct sql_message {
	__u32 server; /* enum sql_server */
	__u32 command;
	__u32 text_at, text_bytes; /* PostgreSQL: at most so many, the text ends with a zero */
	__u32 next_at;		   /* where the next message begins, which may be behind all that was sent */
	bool named;		   /* the name of what is prepared was read, or its number */
	bool unsure;		   /* its text begins with a comment: is_verb() has to be asked of its digest */
	__u64 prepared;		   /* of its name, or its number */
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
