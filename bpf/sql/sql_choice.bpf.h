/* SPDX-License-Identifier: GPL-2.0-only */
/* After which of the statements that were sent together a call is named, and whose request asks for it. */
#pragma once
#include "sql/sql_text.bpf.h"

/* Of what is run the first tells most, but for the bookkeeping of transactions.  `known`: NULL, the text is not. */
static __always_inline void choose(struct sql_sent *sent, const struct known_statement *known, __u64 prepared)
{
	__u32 running = known && known->bookkeeping ? RUNS_BOOKKEEPING : RUNS_STATEMENT;

	sent->together |= running == RUNS_STATEMENT && sent->running == RUNS_STATEMENT;
	if (sent->running >= running)
		return;
	sent->running = running;
	sent->chosen = 1;
	if (known) {
		sent->hash = known->kept ? known->hash : 0;
		sent->kind = known->kept ? STATEMENT_RUN : STATEMENT_NO_ROOM;
		sent->statement = known->hash;
	} else {
		sent->hash = 0;
		sent->kind = STATEMENT_PREPARED;
		sent->statement = mix(STATEMENT_PREPARED, prepared);
	}
}

static __always_inline void choose_prepared(struct connection *connection, struct sql_sent *sent,
					    const struct sql_message *message)
{
	struct prepared_key key = key_of(connection, message->prepared);

	choose(sent, message->named ? bpf_map_lookup_elem(&sql_prepared, &key) : NULL, message->prepared);
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

static __always_inline void take_chosen(struct connection *connection, const struct sql_sent *sent)
{
	struct connection *owner = owner_of(connection);
	struct sql_asked *sql = &connection->sql;

	sql->hash = sent->hash;
	sql->kind = sent->kind;
	sql->running = sent->running;
	sql->owned = owner != NULL;
	sql->name = owner ? owner->name : 0;
	sql->repeated = owner && is_repeated(owner, sent->statement);
}

/* Global, so that the verifier walks it once. */
__weak __noinline int take_choice(struct connection *connection, struct sql_sent *sent)
{
	if (!connection || !sent)
		return 0;
	if (sent->chosen)
		take_chosen(connection, sent);
	if (sent->together && connection->sql.kind == STATEMENT_RUN)
		connection->sql.kind = STATEMENT_TOGETHER;
	return 0;
}
