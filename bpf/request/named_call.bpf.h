/* SPDX-License-Identifier: GPL-2.0-only */
/* What the target asks for on connections that it made, where plain text names that: HTTP/1, Redis, and memcached. */
#pragma once
#include "core/buckets.bpf.h"
#include "request/call_owner.bpf.h"
#include "request/request_name.bpf.h"
#include "wait/call.bpf.h"

#define CALL_LOOKS 8 /* in a row at calls without a name: what is spoken there shows none */

/* 512 of 1.8 kB. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 512);
	__type(key, struct named_call_key);
	__type(value, struct named_call_sum);
} named_calls SEC(".maps");

static __always_inline struct named_call_key named_call_of(const struct connection *connection,
							   const struct connection *owner)
{
	return (struct named_call_key){ connection->object, connection->call_name, owner ? owner->name : 0 };
}

/* What the request has looked up is not there. */
__weak __noinline int count_miss(struct connection *connection)
{
	struct named_call_key key;
	struct named_call_sum *sum;
	struct connection *owner;

	if (!connection)
		return 0;
	owner = owner_of(connection);
	if (owner)
		owner->missed = 1;
	key = named_call_of(connection, owner);
	sum = bpf_map_lookup_elem(&named_calls, &key);
	if (sum)
		__sync_fetch_and_add(&sum->missed, 1);
	return 0;
}

/* What was asked on the connection is answered after so long. */
__weak __noinline int end_named_call(struct connection *connection, __u64 ns)
{
	struct named_call_key key;
	struct named_call_sum *sum;
	struct connection *owner;

	if (!connection)
		return 0;
	owner = owner_of(connection);
	key = named_call_of(connection, owner);
	connection->status_due = 1;
	sum = FIND_OR_MAKE(named_calls, &key, COUNTER_NAMED_CALLS_FULL, NULL);
	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->ns, ns);
	if (owner)
		__sync_fetch_and_add(&sum->owned, 1);
	count_latency(&sum->latency, ns);
	return 0;
}

/* Does the text show what is asked for?  Global, so that the verifier walks it once. */
__weak __noinline int name_call(struct connection *connection, __u32 bytes)
{
	struct naming naming = { .bytes = bytes, .call = true, .perhaps_frames = true };
	struct call call;

	if (!connection)
		return 0;
	connection->call_looks++;
	read_call(bpf_get_current_task_btf(), &call);
	if (!find_text(&naming, &call))
		return 0;
	connection->multiplexed = naming.frames || *(__u32 *)naming.text == HTTP2_PREFACE;
	if (connection->multiplexed || tls_type(naming.text)) {
		connection->call_looks = CALL_LOOKS;
		return 0;
	}
	connection->call_name = name_request(&naming);
	if (connection->call_name)
		connection->call_looks = 0;
	return connection->call_name != 0;
}

/* The target sends `bytes` where nothing is asked yet.  Returns whether they show what it asks for. */
static __always_inline bool is_named_call(struct connection *connection, __u32 bytes)
{
	connection->call_name = connection->status_due = 0;
	if (knobs.no_names || connection->direction != DIRECTION_CONNECTED || connection->sql.server ||
	    connection->call_looks >= CALL_LOOKS)
		return false;
	return name_call(connection, bytes);
}
