/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The other end of the target's waits: threads of other processes of this host, such as those of the server that it asks.
 * Nothing of them is booked.  Each keeps its line of time (timeline.bpf.h) alone, so that whoever waits for it has at hand
 * what it was in meanwhile.
 */
#pragma once
#include "wait/timeline.bpf.h"

#define PEER_PROCESSES 32
#define PEER_THREADS 512 /* of 4 kB and of their chains: 3 MB */

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct record);
} peer_records SEC(".maps");

/* Processes that were asked for: allocated before, as one is asked for where nothing may be. */
LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PEER_PROCESSES);
	__type(key, __u32);
	__type(value, __u32);
} peer_processes SEC(".maps");

#define PEER_WAITS 2048 /* of 56 bytes, allocated before for the same reason */

LEDGER_SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PEER_WAITS);
	__type(key, struct peer_wait_key);
	__type(value, __u64); /* ns */
} peer_waits SEC(".maps");

#ifdef LEDGER_DEFINE
__u32 peer_threads; /* that were met, ended or not */
__u32 peer_wait_count;
#else
extern __u32 peer_threads, peer_wait_count;
#endif

static __always_inline struct record *peer_of(struct task_struct *task)
{
	return peer_threads && has_storage(task) ? bpf_task_storage_get(&peer_records, task, NULL, 0) : NULL;
}

/* A record for a thread from now on; NULL: it has one, or there are too many. */
static __always_inline struct record *begin_peer(struct task_struct *task, __u64 now)
{
	struct record *peer;
	struct chain *chain;

	if (peer_threads >= PEER_THREADS)
		return NULL;
	peer = bpf_task_storage_get(&peer_records, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!peer) {
		count_loss(COUNTER_STORAGE_FAILED);
		return NULL;
	}
	if (peer->start)
		return NULL;
	peer->is_peer = 1;
	peer->tid = task->pid;
	peer->tgid = task->tgid;
	peer->since = now;
	begin_chain(task, now);
	chain = chain_of(task);
	if (chain)
		chain->of_peer = 1;
	peer->start = now;
	__sync_fetch_and_add(&peer_threads, 1);
	return peer;
}
