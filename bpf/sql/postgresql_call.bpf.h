/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Follows the messages that a client of PostgreSQL sends, one by one and from one call to the next: which statements get
 * names and lose them, and which are run.  Where it loses its way, no name is known any more.
 */
#pragma once
#include "sql/sql_choice.bpf.h"

#define STREAM_LOST 0xffffffff /* it is not known where the next message begins */
#define MOST_MESSAGES 1024     /* followed, of those that one call sends */
#define MOST_TEXTS 64	       /* read of these messages */
#define MOST_BEGUN 4	       /* bytes of a header that can be sent without the rest of it */

static __always_inline bool is_followed(const struct sql_asked *sql)
{
	return sql->server == SQL_POSTGRESQL && sql->left != STREAM_LOST;
}

static __always_inline void lose_stream(struct connection *connection)
{
	if (connection->sql.left == STREAM_LOST)
		return;
	connection->sql.left = STREAM_LOST;
	connection->sql.header = connection->sql.begun = 0;
	forget_prepared(connection);
}

/* Reads what comes next behind what was sent of a header before; returns how many bytes there are of its message. */
static __always_inline __u32 read_head(const struct connection *connection, struct sql_scratch *scratch, __u64 address,
				       __u32 bytes)
{
	__u32 begun = connection->sql.begun, looked_at = at_most(bytes, SQL_HEAD_BYTES - MOST_BEGUN);

	barrier_var(begun); /* the verifier of Linux 6.1 wants the check on what is used */
	__builtin_memset(scratch->head, 0, sizeof(scratch->head));
	*(__u32 *)scratch->head = connection->sql.header;
	if (begun > MOST_BEGUN || !looked_at || bpf_probe_read_user(scratch->head + begun, looked_at, (void *)address))
		return 0;
	return begun + bytes;
}

/*
 * Does the next message lie there, of a connection that is followed?  `place`: which of TEXT_PLACES that is.  Global, as
 * what follows it, so that the verifier walks it once.
 */
__weak __noinline int lies_at(struct connection *connection, struct sql_scratch *scratch, __u64 address, __u32 bytes,
			      __u32 place)
{
	__u32 there;

	if (!connection || !scratch || connection->sql.left >= bytes)
		return 0;
	there = read_head(connection, scratch, address + connection->sql.left, bytes - connection->sql.left);
	if (there < POSTGRESQL_HEADER)
		return there && place == connection->sql.place && is_client_type(scratch->head[0]);
	return read_postgresql(&scratch->message, scratch->head, there);
}

/* Returns whether a message comes next; the beginning of a header is kept until the rest of it is sent. */
__weak __noinline int read_next(struct connection *connection, struct sql_scratch *scratch)
{
	struct sql_asked *sql;
	struct sql_sent *sent;
	__u32 there;

	if (!connection || !scratch)
		return 0;
	sql = &connection->sql;
	sent = &scratch->sent;
	there = read_head(connection, scratch, sent->address + sent->at, sent->bytes - sent->at);
	if (there && there < POSTGRESQL_HEADER) {
		sql->header = *(__u32 *)scratch->head;
		sql->begun = there;
		sent->at = sent->bytes;
	}
	if (there < POSTGRESQL_HEADER || !read_postgresql(&scratch->message, scratch->head, there))
		return 0;
	sent->message = sent->address + sent->at - sql->begun;
	scratch->message.next_at -= sql->begun;
	sql->header = sql->begun = 0;
	return 1;
}

/*
 * A statement gets a name, or a name is given up; `known`: its text is, else there is none, or it cannot be read.  A server
 * refuses a second statement of one name, but answers are not read: either may have it now.  Global, so that its key is not
 * on the stack of what makes digests.
 */
__weak __noinline int name_prepared(struct connection *connection, struct sql_scratch *scratch, int known)
{
	struct known_statement copy; /* Linux 6.1 takes no value from the argument of a global function */
	struct known_statement *old;
	struct prepared_key key;

	if (!connection || !scratch)
		return 0;
	key = key_of(connection, scratch->message.prepared);
	copy = scratch->known;
	old = key.prepared ? bpf_map_lookup_elem(&sql_prepared, &key) : NULL;
	if (!scratch->message.named)
		forget_prepared(connection);
	else if (known && (!old || old->hash == copy.hash))
		bpf_map_update_elem(&sql_prepared, &key, &copy, BPF_ANY);
	else
		bpf_map_delete_elem(&sql_prepared, &key);
	return 0;
}

/* Which statement is it, if it has a text? */
static __always_inline bool know_message(struct connection *connection, struct sql_scratch *scratch, bool whole)
{
	const struct sql_message *message = &scratch->message;

	if ((message->command != SQL_RUN && message->command != SQL_PREPARE) || !message->named || !whole ||
	    !know_statement(scratch, scratch->sent.message))
		return false;
	if (scratch->text.digest.names)
		forget_prepared(connection);
	return true;
}

struct following {
	struct connection *connection;
	struct sql_scratch *scratch;
};

/* 1: that was the last message. */
static long follow_message(__u32 index, struct following *following)
{
	struct connection *connection = following->connection;
	struct sql_scratch *scratch = following->scratch;
	struct sql_sent *sent = &scratch->sent;
	__u32 end;
	bool known;

	if (!read_next(connection, scratch))
		return 1;
	end = sent->at + scratch->message.next_at;
	known = know_message(connection, scratch, end <= sent->bytes);
	if (scratch->message.command == SQL_PREPARE || scratch->message.command == SQL_CLOSE)
		name_prepared(connection, scratch, known);
	else if (scratch->message.command == SQL_EXECUTE)
		choose_prepared(connection, sent, &scratch->message);
	else if (known)
		choose(sent, &scratch->known, 0);
	else if (scratch->message.command == SQL_RUN)
		count_loss(COUNTER_STATEMENTS_UNREAD);
	sent->texts += known;
	sent->at = end < sent->bytes ? end : sent->bytes;
	connection->sql.left = end - sent->at;
	return end >= sent->bytes || sent->texts >= MOST_TEXTS;
}

static __always_inline void follow_postgresql(struct connection *connection, struct sql_scratch *scratch)
{
	struct following following = { connection, scratch };
	struct sql_sent *sent = &scratch->sent;

	sent->texts = 0;
	sent->at = connection->sql.left != STREAM_LOST ? connection->sql.left : 0;
	connection->sql.left = 0;
	bpf_loop(MOST_MESSAGES, follow_message, &following, 0);
	if (sent->at < sent->bytes)
		lose_stream(connection);
}
