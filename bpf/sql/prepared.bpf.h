/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which statement is run that was prepared before: clients of PostgreSQL give it a name, MariaDB's server numbers it in its
 * answer.
 */
#pragma once
#include "wait/call.bpf.h"
#include "request/request_name.bpf.h"
#include "sql/sql_messages.h"

struct prepared_key {
	__u64 cookie; /* of the connection's socket */
	__u64 prepared;
	__u64 generation; /* see struct sql_asked */
};

struct known_statement {
	__u64 hash; /* of its digest */
	__u32 kept; /* there is room for that */
	__u32 bookkeeping;
};

/* Digests of what was prepared in the window; who prepares without end pushes out the oldest. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct prepared_key);
	__type(value, struct known_statement);
} sql_prepared SEC(".maps");

#define LAST_PREPARED 0xffffffff /* instead of a number, by clients of MariaDB that do not wait for the answer */

static __always_inline struct prepared_key key_of(const struct connection *connection, __u64 prepared)
{
	return (struct prepared_key){ connection->cookie, prepared, connection->sql.generation };
}

/* What was prepared may have got its name anew, unseen: none is known any more. */
static __always_inline void forget_prepared(struct connection *connection)
{
	connection->sql.generation++;
}

static __always_inline bool awaits_number(const struct connection *connection)
{
	return connection->sql.number == NUMBER_AWAITED || connection->sql.number == NUMBER_BEHIND_HEADER;
}

#define PACKET_HEADER 4	  /* three bytes of length, one that counts packets */
#define PREPARED_BYTES 12 /* status, number, columns, parameters, zero, warnings; some servers add one */
#define ANSWER_BYTES (PACKET_HEADER + PREPARED_BYTES)

static __always_inline bool is_header(const char *header)
{
	return (header[0] == PREPARED_BYTES || header[0] == PREPARED_BYTES + 1) && !header[1] && !header[2] &&
	       header[3] == 1;
}

/*
 * The number in the answer there, 0: none, LAST_PREPARED: the header has been read alone, and the rest comes next.  Global,
 * so that the verifier walks it once.
 */
__weak __noinline __u32 read_number(__u64 address, __u32 bytes, int behind_header)
{
	char answer[ANSWER_BYTES] = {};
	int at = behind_header ? 0 : PACKET_HEADER;

	if (bytes < PACKET_HEADER || bpf_probe_read_user(answer, at_most(bytes, ANSWER_BYTES), (void *)address))
		return 0;
	if (!behind_header && !is_header(answer))
		return 0;
	if (!behind_header && bytes == PACKET_HEADER)
		return LAST_PREPARED;
	return bytes < at + PREPARED_BYTES || answer[at] ? 0 : little_endian(answer + at + 1);
}

/* The first answer to a statement that was prepared has been read, or the second part of it: which number has that? */
__weak __noinline int take_number(struct connection *connection, __u32 bytes)
{
	struct prepared_key key = {};
	struct known_statement known = {};
	struct text_place place;
	struct call call;

	if (!connection)
		return 0;
	read_call(bpf_get_current_task_btf(), &call);
	for (__u32 i = 0; i < TEXT_PLACES && !key.prepared && call.number >= 0 && !call.i386; i++) {
		go_to_place(&place, i, &call, bytes);
		key.prepared = read_number(place.address, place.room < bytes ? place.room : bytes,
					   connection->sql.number == NUMBER_BEHIND_HEADER);
	}
	connection->sql.number = key.prepared == LAST_PREPARED ? NUMBER_BEHIND_HEADER : NUMBER_TOLD;
	if (!key.prepared || key.prepared == LAST_PREPARED)
		return 0;
	key = key_of(connection, key.prepared);
	known.hash = connection->sql.prepared;
	known.kept = true;
	if (known.hash)
		bpf_map_update_elem(&sql_prepared, &key, &known, BPF_ANY);
	else
		bpf_map_delete_elem(&sql_prepared, &key);
	return 0;
}
