/* SPDX-License-Identifier: GPL-2.0-only */
/* The text of a statement that the target sends to an SQL server, read from its memory. */
#pragma once
#include "request/exchange.bpf.h"
#include "sql/prepared.bpf.h"
#include "sql/sql_messages.h"
#include "sql/statement_text.bpf.h"

/* All that was sent by one call, and the statement that it is named after so far. */
struct sql_sent {
	__u64 address;
	__u64 message; /* the address of the one that was read last */
	__u32 bytes;
	__u32 at;    /* of the next message */
	__u32 texts; /* that were read */
	__u8 chosen; /* the statement is among what was sent */
	__u8 running, kind;
	__u8 together; /* with others, whose answers come before or behind its own */
	__u64 hash;
	__u64 statement; /* what tells it from others */
};

struct sql_scratch {
	struct statement_text text;
	struct sql_message message;
	struct known_statement known; /* of the message's text */
	struct sql_sent sent;
	char head[SQL_HEAD_BYTES];
	char tail[8];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sql_scratch);
} sql_scratches SEC(".maps");

static __u32 sql_digests_made;

static __always_inline bool make_digest_of_message(struct statement_text *text, const struct sql_message *message,
						   __u64 address)
{
	text->server = message->server;
	address += message->text_at;
	if (message->server == SQL_MARIADB ? !read_text_at(text, address, message->text_bytes)
					   : !read_string_at(text, address, message->text_bytes))
		return false;
	make_digest(text);
	return true;
}

static __always_inline bool keep_text(const struct statement_text *text)
{
	__u64 hash = text->hash;
	struct kept_digest *kept;
	bool made = false;

	if (bpf_map_lookup_elem(&sql_digests, &hash))
		return true;
	if (__sync_fetch_and_add(&sql_digests_made, 1) >= SQL_DIGESTS)
		return false;
	kept = FIND_OR_MAKE(sql_digests, &hash, COUNTER_STATEMENTS_FULL, &made);
	if (kept && made)
		keep_digest(kept, text);
	return kept;
}

/* Which statement is the message's text?  Returns whether it can be read; global, so that the verifier walks it once. */
__weak __noinline int know_statement(struct sql_scratch *scratch, __u64 address)
{
	if (!scratch)
		return 0;
	__builtin_memset(&scratch->known, 0, sizeof(scratch->known));
	if (!make_digest_of_message(&scratch->text, &scratch->message, address))
		return 0;
	scratch->known.hash = scratch->text.hash;
	scratch->known.kept = keep_text(&scratch->text);
	scratch->known.bookkeeping = is_bookkeeping(&scratch->text.digest);
	return 1;
}
