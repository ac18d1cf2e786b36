/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h about answers that are errors; included there. */
#pragma once

/* Errors of Redis by their first word: https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors */
#define REDIS_ERRORS(X)                                                                                                \
	X(ERR)                                                                                                         \
	X(LOADING)                                                                                                     \
	X(BUSY)                                                                                                        \
	X(OOM)                                                                                                         \
	X(READONLY)                                                                                                    \
	X(MISCONF)                                                                                                     \
	X(NOAUTH)                                                                                                      \
	X(NOPERM)                                                                                                      \
	X(WRONGPASS)                                                                                                   \
	X(MOVED)                                                                                                       \
	X(ASK)                                                                                                         \
	X(TRYAGAIN)                                                                                                    \
	X(CLUSTERDOWN)                                                                                                 \
	X(MASTERDOWN)                                                                                                  \
	X(NOREPLICAS)                                                                                                  \
	X(NOSCRIPT)                                                                                                    \
	X(WRONGTYPE)                                                                                                   \
	X(EXECABORT)

#define FIRST_REDIS_ERROR 1000 /* above all statuses of HTTP */
#define REDIS_ENUM(id) REDIS_##id,
enum redis_error { REDIS_OTHER = FIRST_REDIS_ERROR, REDIS_ERRORS(REDIS_ENUM) REDIS_ERROR_END };

/* Errors of MySQL and MariaDB by their number, of four digits, and of PostgreSQL by SQLSTATE: five digits of base 36. */
#define FIRST_MYSQL_ERROR 10000
#define FIRST_SQLSTATE 1000000
#define SQLSTATE_DIGITS 5
#define SQLSTATE_BASE 36
#define SQLSTATE_END (FIRST_SQLSTATE + SQLSTATE_BASE * SQLSTATE_BASE * SQLSTATE_BASE * SQLSTATE_BASE * SQLSTATE_BASE)

/* Answers of one status to what has one name: to calls of the target, or its own. */
struct answer_key {
	__u64 object; /* as in struct exchange_key */
	__u32 name;   /* of the request, or of what is asked; 0: a statement */
	__u32 status; /* of HTTP, enum redis_error, or what an SQL server says */
	__u32 direction;
	__u32 padding;
};

struct answer_sum {
	__u64 count;
	__u64 ns;      /* until their first byte */
	__u64 squares; /* as in struct exchange_sum */
};
