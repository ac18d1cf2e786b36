/* SPDX-License-Identifier: GPL-2.0-only */
/* What is summed of the statements that the target asks SQL servers for. */
#pragma once
#include "core/buckets.bpf.h"

/* By hash; 256 of 248 bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SQL_DIGESTS);
	__type(key, __u64);
	__type(value, struct kept_digest);
} sql_digests SEC(".maps");

/* 512 of 1.8 kB. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 512);
	__type(key, struct sql_call_key);
	__type(value, struct sql_call_sum);
} sql_calls SEC(".maps");

/* What was asked on the connection is answered after so long. */
__weak __noinline int end_sql_call(struct connection *connection, __u64 ns)
{
	struct sql_asked *sql;
	struct sql_call_key key = {};
	struct sql_call_sum *sum;

	if (!connection)
		return 0;
	sql = &connection->sql;
	connection->status_due = sql->running;
	sql->begun_answer = 0;
	sql->running = 0;
	key.hash = sql->hash;
	key.object = connection->object;
	key.name = sql->name;
	key.server = sql->server;
	key.kind = sql->kind;
	sum = FIND_OR_MAKE(sql_calls, &key, COUNTER_STATEMENTS_FULL, NULL);
	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->ns, ns);
	__sync_fetch_and_add(&sum->owned, sql->owned);
	__sync_fetch_and_add(&sum->repeated, sql->repeated);
	count_latency(&sum->latency, ns);
	return 0;
}
