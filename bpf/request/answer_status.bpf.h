/* SPDX-License-Identifier: GPL-2.0-only */
/* Answers that are errors: of those that the target gets to calls with a name and to statements, and that it gives. */
#pragma once
#include "request/answer_status.h"
#include "request/connection.bpf.h"
#include "request/named_call.bpf.h"
#include "request/request_name.bpf.h"
#include "sql/sql_answer.bpf.h"
#include "wait/call.bpf.h"
#include "wait/failed_tries.bpf.h"

/* 512 of 40 bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 512);
	__type(key, struct answer_key);
	__type(value, struct answer_sum);
} answers SEC(".maps");

/* What the beginning of the text says that the current call has read, or sends: in its first piece, or nothing. */
static __always_inline __u32 status_here(__u32 bytes)
{
	char text[STATUS_BYTES];
	struct text_place place = {};
	struct call call;
	__u32 status;

	read_call(bpf_get_current_task_btf(), &call);
	if (call.number < 0 || call.i386)
		return STATUS_NONE;
	for (__u32 i = 0; i < TEXT_PLACES; i++) {
		go_to_place(&place, i, &call, bytes);
		__builtin_memset(text, 0, sizeof(text));
		if (bpf_probe_read_user(text, at_most(bytes < place.room ? bytes : place.room, sizeof(text)),
					(void *)place.address))
			continue;
		status = status_of(text);
		if (status != STATUS_NONE)
			return status;
	}
	return STATUS_NONE;
}

static __always_inline void count_error(struct connection *connection, __u32 name, __u32 status, __u64 ns)
{
	struct answer_key key = {
		.object = connection->object, .name = name, .status = status, .direction = connection->direction
	};
	struct answer_sum *sum = FIND_OR_MAKE(answers, &key, COUNTER_ANSWERS_FULL, NULL);

	if (!sum)
		return;
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->ns, ns);
	if (knobs.connection_mask && may_be_left_out(connection))
		__sync_fetch_and_add(&sum->squares, square_of_one_more(&connection->errors_beyond));
}

/* Whoever sleeps now may do so because of that answer. */
static __always_inline void keep_error(const struct connection *connection, __u64 call, __u32 status)
{
	struct failed_call *failed = failed_of(bpf_get_current_task_btf());
	struct failure what = { .call = call, .error = status };

	if (!failed || (status == TRANSACTION_HAS_FAILED && failed->at))
		return;
	begin_failure(failed, &what);
	failed->object = connection->object;
}

/*
 * What ends or begins a transaction succeeds after it has failed, too: only another statement tells that its client goes
 * on.  What is asked for by name succeeds for itself alone.
 */
static __always_inline bool client_goes_on(const struct connection *connection, __u32 due)
{
	return !connection->sql.server || due == RUNS_STATEMENT;
}

/*
 * Something of an answer has been read: the first of one to a call with a name, or what shows no status, as of a database.
 * Global, so that the verifier walks it once. */
__weak __noinline int look_at_answer(struct connection *connection, __u32 bytes)
{
	__u32 status, due;
	__u64 call, ns;

	if (!connection)
		return 0;
	due = connection->status_due;
	if (!due) {
		if (OBJECT_KIND(connection->object) == OBJECT_PEER)
			note_answered(bpf_get_current_task_btf(), connection->object);
		return 0;
	}
	status = connection->sql.server ? sql_status_here(connection, bytes) : status_here(bytes);
	connection->status_due = status == STATUS_INTERIM ? due : 0;
	call = OBJECT(OBJECT_REQUEST, connection->call_name);
	if (status >= LOWEST_ERROR) {
		ns = connection->answered > connection->asked ? connection->answered - connection->asked : 0;
		count_error(connection, connection->call_name, status, ns);
		if (knobs.sees_failures)
			keep_error(connection, call, status);
	} else if (status != STATUS_INTERIM) {
		if (status == STATUS_MISS)
			count_miss(connection);
		if ((status == STATUS_FINE || status == STATUS_MISS) && client_goes_on(connection, due))
			forget_tries(bpf_get_current_task_btf(), call, false);
		note_answered(bpf_get_current_task_btf(), connection->object);
	}
	return 0;
}

/* The target begins to answer a request with a name. */
__weak __noinline int look_at_own_answer(struct connection *connection, __u32 bytes, __u64 now)
{
	__u32 status = status_here(bytes);

	if (connection && status >= LOWEST_ERROR)
		count_error(connection, connection->name, status,
			    now > connection->begun ? now - connection->begun : 0);
	return 0;
}
