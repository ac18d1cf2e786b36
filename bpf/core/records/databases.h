/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h about servers of databases that publish what each session waits for; included there. */
#pragma once

/*
 * Where a process of PostgreSQL keeps, in its memory, pointers to what it publishes.  Read at each of its switches; of a
 * session that slept when its record was made, user space has read it, and how often it had slept by then.
 */
struct database {
	__u64 wait_pointer;  /* address of my_wait_event_info */
	__u64 entry_pointer; /* address of MyBEEntry, 0: there is none */
	__u64 switches;	     /* voluntary ones when `waits_for` was read */
	__u64 waits_for;     /* an object of kind OBJECT_POSTGRES, 0: not read */
};

/* Of PgBackendStatus, the same since PostgreSQL 10. */
#define POSTGRES_ENTRY_PID 4
#define POSTGRES_ENTRY_TRANSACTION 24 /* when its transaction began, 0: it is in none */

/* wait_event_info: the class in the upper byte, below that the number of the event in it. */
#define POSTGRES_IN_TRANSACTION (1ULL << 32) /* in an object beside that word, of waits for a client */
#define POSTGRES_CLASS(object) ((__u32)(object) >> 24)
#define POSTGRES_EVENT(object) ((__u32)(object)&0xffffff)

enum postgres_class {
	POSTGRES_LWLOCK = 1, /* of its shared memory */
	POSTGRES_LOCK = 3,   /* rows, tables, transactions */
	POSTGRES_BUFFER_PIN = 4,
	POSTGRES_CLIENT = 6,
};

static inline _Bool is_postgres_lock(__u64 object)
{
	__u32 class = POSTGRES_CLASS(object);

	return class == POSTGRES_LWLOCK || class == POSTGRES_LOCK || class == POSTGRES_BUFFER_PIN;
}

/* Waits that are accounted for what they are, while the session tells what of its own they are part of: WAL or data. */
struct said_key {
	__u64 object; /* of kind OBJECT_POSTGRES */
	__u32 tgid;
	__u32 account;
};

struct said_sum {
	__u64 ns, count, max_ns;
	__u32 buckets[BUCKETS];
};
