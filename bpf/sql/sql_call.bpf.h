/* SPDX-License-Identifier: GPL-2.0-only */
/* Statements that the target asks SQL servers for, where its connections are not encrypted, and how often a request does. */
#pragma once
#include "request/exchange.bpf.h"
#include "sql/prepared.bpf.h"
#include "sql/sql_messages.h"
#include "sql/statement_text.bpf.h"

#define SQL_LOOKS                                                                                                      \
	12 /* a connection that has not shown a statement by then is none of a server's: log-ins take up to six */

struct sql_scratch {
	struct statement_text text;
	struct sql_message message;
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

/* Global, as what follows it: the verifier would walk that again for each length that a name in the message can have. */
__weak __noinline int understand_message(struct sql_scratch *scratch, __u32 bytes)
{
	return scratch && read_sql_message(&scratch->message, scratch->head, scratch->tail, bytes);
}

__weak __noinline int shows_statement(struct sql_scratch *scratch, int sure)
{
	return scratch && begins_as_statement(&scratch->message, scratch->head, sure);
}

/*
 * Reads the message at an address; returns whether it is one of an SQL server's and lies in the buffer as a whole.
 * Global, so that the verifier walks it once.
 */
__weak __noinline int read_message(struct sql_scratch *scratch, __u64 address, __u64 room, __u32 bytes, int sure)
{
	__u32 looked_at = bytes < SQL_HEAD_BYTES ? bytes : SQL_HEAD_BYTES;

	if (!scratch)
		return 0;
	__builtin_memset(scratch->head, 0, sizeof(scratch->head));
	__builtin_memset(&scratch->message, 0, sizeof(scratch->message));
	if (bytes <= SQL_TAIL_BYTES || bytes > room || bpf_probe_read_user(scratch->head, looked_at, (void *)address) ||
	    bpf_probe_read_user(scratch->tail, SQL_TAIL_BYTES, (void *)(address + bytes - SQL_TAIL_BYTES)))
		return 0;
	if (!understand_message(scratch, bytes) || !shows_statement(scratch, sure))
		return 0;
	return !scratch->message.unsure || (make_digest_of_message(&scratch->text, &scratch->message, address) &&
					    is_verb(scratch->text.digest.text));
}

/* Where the current call's message lies: see find_text(); 0: it is none of an SQL server's. */
static __always_inline __u64 find_message(struct sql_scratch *scratch, __u32 bytes, bool sure)
{
	struct text_place place;
	struct call call;

	read_call(bpf_get_current_task_btf(), &call);
	if (call.number < 0 || call.i386)
		return 0;
	for (__u32 i = 0; i < TEXT_PLACES; i++) {
		go_to_place(&place, i, &call, bytes);
		if (read_message(scratch, place.address, place.room, bytes, sure))
			return place.address;
	}
	return 0;
}

/* The hash of the text's digest, which is kept; 0: there is none, or no room for it. */
static __always_inline __u64 digest_of_message(struct statement_text *text, const struct sql_message *message,
					       __u64 address)
{
	struct kept_digest *kept;
	bool made = false;
	__u64 hash;

	if (!make_digest_of_message(text, message, address))
		return 0;
	hash = text->hash;
	if (bpf_map_lookup_elem(&sql_digests, &hash))
		return hash;
	if (__sync_fetch_and_add(&sql_digests_made, 1) >= SQL_DIGESTS)
		return 0;
	kept = FIND_OR_MAKE(sql_digests, &hash, COUNTER_STATEMENTS_FULL, &made);
	if (kept && made)
		keep_digest(kept, text);
	return kept ? hash : 0;
}

/* Is what was prepared run by the next message that was sent with it? */
static __always_inline bool runs_at_once(const struct sql_message *message, __u64 address)
{
	char type = 0;

	return message->next_at && !bpf_probe_read_user(&type, 1, (void *)(address + message->next_at)) && type == 'B';
}

/* What the message asks to be run, and what tells that from others (0: nothing); returns whether it is anything. */
static __always_inline bool take_statement(struct connection *connection, struct statement_text *text,
					   const struct sql_message *message, __u64 address, __u64 *statement)
{
	struct sql_asked *sql = &connection->sql;

	if (message->command == SQL_EXECUTE) {
		sql->hash = find_prepared(connection, message->prepared, message->server);
		sql->kind = sql->hash ? STATEMENT_RUN : STATEMENT_PREPARED;
		*statement = sql->hash ?: mix(sql->kind, message->prepared);
		return true;
	}
	text->hash = 0;
	sql->hash = digest_of_message(text, message, address);
	*statement = text->hash; /* though there may be no room for its text */
	sql->kind = sql->hash ? STATEMENT_RUN : STATEMENT_NO_ROOM;
	if (message->command == SQL_RUN)
		return true;
	keep_prepared(connection, message->prepared, message->server, sql->hash);
	return runs_at_once(message, address);
}

/* Has the request asked for this before?  It remembers the last few that differ. */
static __always_inline bool is_repeated(struct connection *owner, __u64 statement)
{
	for (int i = 0; i < SQL_REMEMBERED; i++)
		if (owner->sql.asked[i] == statement)
			return true;
	owner->sql.asked[owner->sql.next++ % SQL_REMEMBERED] = statement;
	return false;
}

/* `statement`: what tells it from others, 0: nothing. */
static __always_inline void note_owner(struct connection *connection, __u64 statement)
{
	struct connection *owner = owner_of(connection);
	struct sql_asked *sql = &connection->sql;

	sql->owned = owner != NULL;
	sql->name = owner ? owner->name : 0;
	sql->repeated = owner && statement && is_repeated(owner, statement);
}

/*
 * The target sends `bytes` on a connection that it has made: is that a statement?  Global, so that the verifier walks it
 * once.
 */
__weak __noinline int note_sql_call(struct connection *connection, __u32 bytes)
{
	struct sql_scratch *scratch;
	__u64 address, statement = 0;

	if (!connection || (!connection->sql.server && connection->sql.looks >= SQL_LOOKS))
		return 0;
	connection->sql.running = 0;
	scratch =
		bpf_task_storage_get(&sql_scratches, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!scratch) {
		count_loss(COUNTER_STORAGE_FAILED);
		return 0;
	}
	address = find_message(scratch, bytes, connection->sql.server);
	if (!address) {
		connection->sql.looks += !connection->sql.server;
		return 0;
	}
	connection->sql.server = scratch->message.server;
	if (!take_statement(connection, &scratch->text, &scratch->message, address, &statement))
		return 0;
	note_owner(connection, statement);
	connection->sql.running = 1;
	return 0;
}
