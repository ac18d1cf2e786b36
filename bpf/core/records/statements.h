/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h about SQL statements, measured in the server; included there. */
#pragma once

#define STATEMENT_BYTES 1024 /* of a statement that are looked at */
#define DIGEST_BYTES 240     /* of its digest that are kept */
#define STATEMENTS 224	     /* different ones that are told apart */

enum sql_server { SQL_POSTGRESQL = 1, SQL_MARIADB = 2, SQL_MYSQL = 3 };

#define LIMITED_DIGESTS 128 /* of each statement with a limit: as two servers read it, with and without an end */

/* What the client asked for, where that is not to run a statement whose text is at hand. */
enum statement_kind {
	STATEMENT_RUN,
	STATEMENT_NOT_RUN,  /* prepared only, or refused before it ran */
	STATEMENT_PREPARED, /* run without its text */
	STATEMENT_OTHER,    /* another command of the protocol */
	STATEMENT_UNREAD,   /* its text was not in memory */
	STATEMENT_NO_ROOM,  /* one of those beyond STATEMENTS */
	STATEMENT_TOGETHER, /* sent with others behind it, before the answer */
};

struct statement_key {
	__u64 hash; /* of the digest, 0: the kind tells all */
	__u32 server;
	__u32 kind;
};

struct kept_digest {
	__u32 length;
	__u32 cut; /* there is more of the statement than the digest tells */
	char text[DIGEST_BYTES];
};

/* Below the objective; as long as it, or longer. */
struct statement_part_sum {
	__u64 count, ns;
	__s64 accounts_ns[ACCOUNT_COUNT]; /* a share taken back later, by an interrupt, can make one of them negative */
};

struct statement_sum {
	__u64 max_ns, max_at; /* the longest, and when it began */
	__u32 max_tid, max_tgid;
	__s64 max_accounts_ns[ACCOUNT_COUNT];
	struct statement_part_sum sums[2];
	struct latency latency;
	struct kept_digest digest;
};

#define SQL_DIGESTS 256 /* of statements that the target asks for, which are told apart */

/* A statement that the target asks a peer for. */
struct sql_call_key {
	__u64 hash;   /* of the digest, 0: the kind tells all */
	__u64 object; /* the peer */
	__u32 name;   /* of the request that it is asked for, as in struct exchange_key; 0: for none that is known */
	__u16 server; /* enum sql_server */
	__u16 kind;   /* enum statement_kind */
};

struct sql_call_sum {
	__u64 count, ns; /* answered: until the first byte */
	__u64 owned;	 /* of those, asked for a request that is known */
	__u64 repeated;	 /* of those, asked before for the same request */
	struct latency latency;
};
