/* SPDX-License-Identifier: GPL-2.0-only */
/* Errors with which SQL servers answer what the target asks for: see sql_answer.h. */
#pragma once
#include "request/request_name.bpf.h"
#include "sql/sql_answer.h"
#include "wait/call.bpf.h"

/* Takes the next message of an answer whose piece lies there.  Global, so that the verifier walks it once. */
__weak __noinline int take_next_answer(struct sql_answer *answer, __u64 address, __u32 bytes)
{
	char head[SQL_ANSWER_BYTES] = {};
	__u32 there, read;

	if (!answer || answer->at >= bytes)
		return 0;
	there = bytes - answer->at;
	read = at_most(there, SQL_ANSWER_BYTES - PACKET_BEGINNING);
	if (answer->begun) {
		put_beginning(head);
		if (bpf_probe_read_user(head + PACKET_BEGINNING, read, (void *)address))
			return 0;
		return take_sql_answer(answer, head, there + PACKET_BEGINNING);
	}
	if (bpf_probe_read_user(head, read, (void *)(address + answer->at)))
		return 0;
	return take_sql_answer(answer, head, there);
}

/* Likewise. */
__weak __noinline __u32 read_state(__u64 address)
{
	char text[SQLSTATE_DIGITS + 1];

	return bpf_probe_read_user(text, sizeof(text), (void *)address) ? REDIS_OTHER : sqlstate(text);
}

static __always_inline __u32 status_at(struct sql_answer *answer, __u64 address, __u32 bytes)
{
	answer->at = answer->state_at = 0;
	answer->status = STATUS_NONE;
	for (int i = 0; i < MOST_ANSWERS; i++)
		if (!take_next_answer(answer, address, bytes))
			break;
	if (answer->state_at && answer->state_at + SQLSTATE_DIGITS < bytes)
		return read_state(address + answer->state_at);
	if (answer->status == STATUS_INTERIM && !answer->begun && answer->at != bytes)
		return STATUS_NONE; /* the next piece does not begin with a message */
	return answer->status;
}

/* What the piece that the current call has read tells of the answer to a statement.  Global, likewise. */
__weak __noinline __u32 sql_status_here(struct connection *connection, __u32 bytes)
{
	struct sql_answer answer = {};
	struct text_place place = {};
	struct call call;
	__u32 status;

	if (!connection)
		return STATUS_NONE;
	read_call(bpf_get_current_task_btf(), &call);
	if (call.number < 0 || call.i386)
		return STATUS_NONE;
	for (__u32 i = 0; i < TEXT_PLACES; i++) {
		go_to_place(&place, i, &call, bytes);
		answer.server = connection->sql.server;
		answer.begun = connection->sql.begun_answer;
		status = status_at(&answer, place.address, bytes < place.room ? bytes : place.room);
		if (status != STATUS_NONE) {
			connection->sql.begun_answer = answer.begun && status == STATUS_INTERIM;
			return status;
		}
	}
	connection->sql.begun_answer = 0;
	return STATUS_NONE;
}
