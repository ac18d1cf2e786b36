/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which error an SQL server answers with: SQLSTATE of PostgreSQL, the number of MySQL's and MariaDB's.
 *
 * PostgreSQL: messages as in postgresql_message.h.  An error has fields, each a letter and a string: first the severity,
 * then SQLSTATE.  MySQL: packets as in sql_messages.h, numbered from 1.  An error begins with 255, its number, and SQLSTATE
 * behind a '#'; it may come behind the columns of a result.
 *
 * Whoever answers may send anything, and may choose SQLSTATE itself: nothing else of it is kept, and no state that could
 * be a word.
 */
#pragma once
#include "request/answer_status.h"
#include "sql/sql_message.h"

#define SQL_ANSWER_BYTES 64				  /* looked at, of each message */
#define MOST_ANSWERS 12					  /* messages of one answer that are looked at */
#define MOST_ERROR_BYTES 65536				  /* of one message that is an error */
#define MOST_ANSWER_BYTES (1 << 24)			  /* of any */
#define TRANSACTION_HAS_FAILED (FIRST_SQLSTATE + 3624914) /* 25P02: what failed in it tells why */
#define ANSWER_HEADER 5					  /* bytes of each that tell what it is */
#define PACKET_BEGINNING 4				  /* which a client of MySQL may read alone */

/* What is known of an answer, as far as it was read. */
struct sql_answer {
	__u32 server;	/* enum sql_server */
	__u32 status;	/* as of status_of(); STATUS_INTERIM: what tells is still to come */
	__u32 at;	/* where the next message begins */
	__u32 begun;	/* MySQL: the beginning of the packet was read before */
	__u32 state_at; /* PostgreSQL: where the state of an error is; 0: nowhere */
};

static inline __u32 sqlstate_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'A' && digit <= 'Z' ? digit - 'A' + 10 : SQLSTATE_BASE;
}

/* The state there, which ends with a zero.  Those of the standard, and of the servers, have digits. */
static inline __u32 sqlstate(const char *text)
{
	__u32 state = 0, digit, digits = 0;

	for (int i = 0; i < SQLSTATE_DIGITS; i++) {
		digit = sqlstate_digit(text[i]);
		if (digit >= SQLSTATE_BASE)
			return REDIS_OTHER;
		digits += digit < 10;
		state = state * SQLSTATE_BASE + digit;
	}
	return digits && !text[SQLSTATE_DIGITS] ? FIRST_SQLSTATE + state : REDIS_OTHER;
}

/* Where in an error its state is; 0: it has none there. */
static inline __u32 state_place(const char *head)
{
	bool begins = true;

	for (__u32 i = ANSWER_HEADER; i < SQL_ANSWER_BYTES - SQLSTATE_DIGITS - 1 - PACKET_BEGINNING; i++) {
		if (begins && head[i] == 'C')
			return i + 1;
		if (begins && head[i] != 'S' && head[i] != 'V')
			break;
		begins = !head[i];
	}
	return 0;
}

static inline __u32 postgresql_error(const char *head)
{
	return big_endian(head + 1) > MOST_ERROR_BYTES || head[ANSWER_HEADER] != 'S' ? STATUS_NONE : REDIS_OTHER;
}

/* What a message tells of the answer that it is of. */
static inline __u32 postgresql_status(const char *head)
{
	switch (head[0]) {
	case 'E': return postgresql_error(head);
	case 'C': /* done */
	case 'D': /* a row */
	case 'I': /* there was nothing to do */
	case 'Z': /* what comes next may be asked */
	case 's': return STATUS_FINE;
	case '1': /* parsed, bound, closed */
	case '2':
	case '3':
	case 'A': /* a notification, a notice, a parameter of the server */
	case 'N':
	case 'S':
	case 'T': /* columns, none, parameters */
	case 'n':
	case 't': return STATUS_INTERIM;
	}
	return STATUS_NONE;
}

/* Behind what was done or read there may be an error, until the server says that all is answered. */
static inline bool take_postgresql(struct sql_answer *answer, const char *head)
{
	__u32 length = big_endian(head + 1), status = postgresql_status(head), at;

	if (length < 4 || length > MOST_ANSWER_BYTES)
		status = STATUS_NONE;
	if (status != STATUS_INTERIM || !answer->at)
		answer->status = status;
	if (status == REDIS_OTHER) {
		at = state_place(head);
		answer->state_at = at ? answer->at + at : 0;
	}
	answer->at += length + 1;
	return status == STATUS_INTERIM || (status == STATUS_FINE && head[0] != 'Z');
}

/* The number of an error, whose packet has so many bytes behind its beginning. */
static inline __u32 mysql_error(const char *packet, __u32 length)
{
	__u32 number = (__u8)packet[1] | (__u32)(__u8)packet[2] << 8;

	if (length < 9 || length > MOST_ERROR_BYTES || packet[3] != '#')
		return STATUS_NONE;
	return number >= 1000 && number <= 9999 ? FIRST_MYSQL_ERROR + number : REDIS_OTHER;
}

static inline bool take_mysql(struct sql_answer *answer, const char *head)
{
	__u32 length = little_endian(head) & 0xffffff;

	answer->status = STATUS_NONE;
	if (!length || !head[3])
		return false;
	answer->status = (__u8)head[PACKET_BEGINNING] == 255 ? mysql_error(head + PACKET_BEGINNING, length)
							     : STATUS_FINE;
	answer->at += length + PACKET_BEGINNING;
	return answer->status == STATUS_FINE && !answer->begun;
}

/* The beginning of a packet, where it was read before: what matters of it. */
static inline void put_beginning(char *head)
{
	head[0] = 9;
	head[3] = 1;
}

/*
 * Takes one message, of which `there` bytes have come; `head` has SQL_ANSWER_BYTES, filled up with zeroes.  Returns whether
 * the next one may tell more.
 */
static inline bool take_sql_answer(struct sql_answer *answer, const char *head, __u32 there)
{
	if (answer->server == SQL_MARIADB && !answer->at && !answer->begun && there == PACKET_BEGINNING &&
	    head[3] == 1) {
		answer->begun = true;
		answer->status = STATUS_INTERIM;
		return false;
	}
	if (there < ANSWER_HEADER)
		return false;
	return answer->server == SQL_MARIADB ? take_mysql(answer, head) : take_postgresql(answer, head);
}
