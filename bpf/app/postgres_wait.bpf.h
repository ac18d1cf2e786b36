/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a session of PostgreSQL says it waits for: the word that pg_stat_activity shows as wait_event.  The session writes
 * it just before it goes to sleep, so its page is there.  It is the target's memory: whatever stands in it is taken for
 * nothing but a name.
 */
#pragma once
#include "wait/blocked.bpf.h"
#include "core/maps.bpf.h"

/* By tgid.  A connection is a process: 16,384 of them, made one by one. */
LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct database);
} databases SEC(".maps");

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct said_key);
	__type(value, struct said_sum);
} said_waits SEC(".maps");

/* Whether the current process, in its own entry of those that all sessions share, is in a transaction. */
static __always_inline bool in_transaction(const struct record *record, const struct database *database)
{
	__u64 entry = 0, begun = 0;
	__u32 pid = 0;

	if (!database->entry_pointer)
		return false;
	bpf_probe_read_user(&entry, sizeof(entry), (void *)database->entry_pointer);
	if (!entry)
		return false;
	bpf_probe_read_user(&pid, sizeof(pid), (void *)(entry + POSTGRES_ENTRY_PID));
	if (pid != record->namespace_tid)
		return false; /* another layout than the one known here */
	bpf_probe_read_user(&begun, sizeof(begun), (void *)(entry + POSTGRES_ENTRY_TRANSACTION));
	return begun != 0;
}

/* Returns an object of kind OBJECT_POSTGRES; 0: no session, or it says nothing. */
static __always_inline __u64 ask_postgres(struct record *record, struct blocked *blocked)
{
	struct database *database;
	__u64 pointer = 0;
	__u32 tgid, word = 0;

	if (record->tid != record->tgid)
		return 0;
	tgid = record->tgid;
	database = bpf_map_lookup_elem(&databases, &tgid);
	if (!database)
		return 0;
	if (blocked->other_task)
		return LOAD(task_struct, blocked->task, nvcsw) == database->switches ? database->waits_for : 0;
	bpf_probe_read_user(&pointer, sizeof(pointer), (void *)database->wait_pointer);
	if (pointer)
		bpf_probe_read_user(&word, sizeof(word), (void *)pointer);
	if (!word)
		return 0;
	if (POSTGRES_CLASS(word) == POSTGRES_CLIENT && in_transaction(record, database))
		return OBJECT(OBJECT_POSTGRES, word | POSTGRES_IN_TRANSACTION);
	return OBJECT(OBJECT_POSTGRES, word);
}

/* Waits of which the call tells nothing but that it waits: what they are for is what the session says. */
static __always_inline bool tells_nothing(__u32 account)
{
	return account == ACCOUNT_WAIT_EVENTS || account == ACCOUNT_WAIT_PARKED || account == ACCOUNT_WAIT_TIMER;
}

/* Books the wait that begins, classified by its call, to what the session says it is for. */
__weak __noinline int ask_database(struct record *record, struct blocked *blocked)
{
	__u64 said;

	if (!record || !blocked)
		return 0;
	said = ask_postgres(record, blocked);
	record->said = 0;
	if (!tells_nothing(record->account)) {
		record->said = said;
	} else if (is_postgres_lock(said)) {
		record->account = ACCOUNT_LOCK_DATABASE;
		record->object = said;
	} else if (!record->object) {
		record->object = said;
	}
	return 0;
}

/* Beside the ledger: how much of its time in an account a session waited for what it says. */
__weak __noinline int book_said(struct record *record, __u64 ns)
{
	struct said_key key = {};
	struct said_sum *sum;

	if (!record || record->taken)
		return 0;
	key.object = record->said;
	key.tgid = record->tgid;
	key.account = record->account;
	sum = FIND_OR_MAKE(said_waits, &key, COUNTER_DATABASES_FULL, NULL);
	if (!sum)
		return 0;
	ADD_SHARED(sum, ns);
	return 0;
}

/* A new process has its maker's memory: what it publishes stands where its maker's did. */
__weak __noinline int inherit_database(__u32 maker, __u32 child)
{
	struct database *database = bpf_map_lookup_elem(&databases, &maker), copy = {};

	if (!database) {
		bpf_map_delete_elem(&databases, &child); /* of an earlier process of this number */
		return 0;
	}
	copy.wait_pointer = database->wait_pointer;
	copy.entry_pointer = database->entry_pointer;
	if (bpf_map_update_elem(&databases, &child, &copy, BPF_ANY))
		count_loss(COUNTER_DATABASES_FULL);
	return 0;
}

/* It becomes another program, or nobody any more. */
static __always_inline void forget_database(__u32 tgid)
{
	if (knobs.databases)
		bpf_map_delete_elem(&databases, &tgid);
}
