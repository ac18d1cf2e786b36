/* SPDX-License-Identifier: GPL-2.0-only */
/* What was a process outside of the target in while that waited for it? */
#pragma once
#include "wait/call.bpf.h"
#include "wait/peer_record.bpf.h"

#define WORTH_A_PEER_NS 1000000 /* a wait of less is no reason to look at who ends it */

/* Are both ends of a socket on this host?  An address of zeroes is nobody's. */
static __always_inline bool is_from_here(const struct sock *sock)
{
	__u64 there[2], here[2];
	__u32 peer;

	switch (LOAD(sock, sock, __sk_common.skc_family)) {
	case AF_INET:
		peer = LOAD(sock, sock, __sk_common.skc_daddr);
		return peer && ((peer & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000) ||
				peer == LOAD(sock, sock, __sk_common.skc_rcv_saddr));
	case AF_INET6:
		BPF_CORE_READ_INTO(&there, sock, __sk_common.skc_v6_daddr);
		BPF_CORE_READ_INTO(&here, sock, __sk_common.skc_v6_rcv_saddr);
		return (there[0] | there[1]) && there[0] == here[0] && there[1] == here[1];
	}
	return false;
}

/* As class_of(), apart from it because the barrier takes 32 bytes of stack there, and sched_switch has none left. */
static __always_inline __u32 class_of_call_of(struct task_struct *task)
{
	struct call call;
	__u64 number;

	read_call(task, &call);
	number = call.number;
	barrier_var(number); /* or the compiler compares parts of it, and the verifier knows no bound of the whole */
	if (number >= 512)
		return SYSCALL_NONE;
	return call.i386 ? syscall_classes_i386[number] : syscall_classes[number];
}

/* Is a task in a call that hands data on?  Who sends a signal, or was interrupted while it computes, is in none. */
static __always_inline bool is_sending(struct task_struct *task)
{
	switch (class_of_call_of(task)) {
	case SYSCALL_FD_WRITE:
	case SYSCALL_SEND:
	case SYSCALL_SENDFILE:
	case SYSCALL_SPLICE:
	case SYSCALL_TEE:
	case SYSCALL_URING: return true;
	}
	return false;
}

/*
 * Is something to read at a socket by what the current task sends?  Over loopback that arrives in a softirq within its own
 * call.  A softirq that comes with an interrupt, such as a timer's that sends a late acknowledgement, or what was paced,
 * runs in whoever had the CPU: mostly in no such call.
 */
static __always_inline bool is_sent_here(struct task_struct *task, const struct cpu_state *cpu, const struct sock *sock)
{
	if (!cpu || !is_sending(task))
		return false;
	if (LOAD(sock, sock, __sk_common.skc_family) == AF_UNIX)
		return !cpu->interrupts;
	return cpu->interrupts == IN_SOFTIRQ && is_from_here(sock);
}

/* Asks user space to meet the threads of a process, which takes what may not be done here. */
static __always_inline void ask_for_peer(struct task_struct *task, __u64 now)
{
	__u32 tgid = task->tgid, asked = 1;
	bool full = peer_threads >= PEER_THREADS;
	struct event *event;

	if (!full && bpf_map_lookup_elem(&peer_processes, &tgid))
		return;
	if (full || bpf_map_update_elem(&peer_processes, &tgid, &asked, BPF_NOEXIST)) {
		count_loss(COUNTER_PEERS_FULL);
		return;
	}
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (!event) {
		bpf_map_delete_elem(&peer_processes, &tgid); /* the next one asks again */
		return;
	}
	head_event(event, EVENT_PEER, tgid, task->pid, now);
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
}

struct peer_walk {
	struct chain *other;
	struct peer_wait_key key;
	__u64 from, until; /* what is left of the wait */
	__u32 slept;	   /* thread that answers when a timer has ended its wait for events, 0: none */
};

/*
 * Each thread has sums of its own: what several processes do is not told of one of them.  A server may start one for each
 * question: when three quarters of the places are taken, further threads share one.
 */
static __always_inline void add_peer_time(struct peer_walk *walk, __u32 root, __u64 object, __u32 tid, __u64 ns)
{
	bool made = false;
	__u64 *sum;

	if (!ns)
		return;
	walk->key.root = root;
	walk->key.root_object = object;
	walk->key.root_tid = tid;
	if (peer_wait_count >= PEER_WAITS / 4 * 3 && !bpf_map_lookup_elem(&peer_waits, &walk->key))
		walk->key.root_tid = 0;
	sum = FIND_OR_MAKE(peer_waits, &walk->key, COUNTER_BECAUSE_FULL, &made);
	if (!sum)
		return;
	if (made)
		__sync_fetch_and_add(&peer_wait_count, 1);
	__sync_fetch_and_add(sum, ns);
}

/* The part of a segment of the other's line of time that lies in the wait; the last one first. */
static long book_peer_segment(__u32 back, struct peer_walk *walk)
{
	struct chain *other = walk->other;
	__u32 place = segment_place(other, back);
	struct segment segment;
	__u64 begin, ns, left;

	if (back >= other->valid || place >= CHAIN_SEGMENTS)
		return 1;
	read_segment(other, place, &segment);
	begin = segment.begin > walk->from ? segment.begin : walk->from;
	if (begin >= walk->until)
		return begin <= walk->from;
	ns = left = walk->until - begin;
	for (__u32 part = 0; part < CHAIN_PARTS; part++)
		left -= part_ns(&segment.merged, part, ns);
	add_peer_time(walk, ACCOUNT_CPU_USER, 0, segment.tid, part_ns(&segment.merged, PART_RAN, ns));
	add_peer_time(walk, ACCOUNT_RUNQ_BUSY, 0, segment.tid, part_ns(&segment.merged, PART_QUEUED, ns));
	add_peer_time(walk, ACCOUNT_RUNQ_WAKING, 0, segment.tid, part_ns(&segment.merged, PART_WAKING, ns));
	add_peer_time(walk,
		      segment.way.root == ACCOUNT_WAIT_EVENTS && segment.tid == walk->slept ? ACCOUNT_WAIT_TIMER
											    : segment.way.root,
		      segment.object, segment.tid, left);
	walk->until = begin;
	return begin <= walk->from;
}

static __always_inline void book_peer(struct peer_walk *walk, struct record *peer, __u64 now)
{
	struct chain *other = walk->other;

	if (peer->state == STATE_RUNNING)
		append_own(other, peer, ACCOUNT_CPU_USER, 0, now);
	/*
	 * An event loop that answers after its timer has gone off has slept, as by setTimeout().  One that was woken by
	 * something else waited for that, however often its timers went off before.
	 */
	if (peer->by_time && peer->account == ACCOUNT_WAIT_EVENTS)
		walk->slept = peer->tid;
	walk->key.peer = peer->tgid;
	walk->until = other->end < now ? other->end : now;
	bpf_loop(CHAIN_SEGMENTS, book_peer_segment, walk, 0);
}

/* Books what a peer, the current task, was in during the wait of a thread of the target that it ends now. */
__weak __noinline int book_peer_wait(struct record *record, struct record *peer, struct chain *other, __u64 now)
{
	struct peer_walk walk = { .other = other };

	if (!record || !peer || !other)
		return 0;
	walk.key.object = record->object;
	walk.key.account = record->account;
	walk.key.tgid = record->tgid;
	walk.from = record->since;
	book_peer(&walk, peer, now);
	return 0;
}

/* The same during a call of the target that it answers, however the target waits for that. */
__weak __noinline int book_peer_call(struct connection *connection, struct record *peer, struct chain *other, __u64 now)
{
	struct peer_walk walk = { .other = other };

	if (!connection || !peer || !other)
		return 0;
	walk.key.object = connection->object;
	walk.key.account = ACCOUNT_WAIT_EVENTS;
	walk.from = connection->begun;
	book_peer(&walk, peer, now);
	return 0;
}

/* The record of a peer; NULL: it has none yet, and was asked for if somebody has waited since then for long enough. */
static __always_inline struct record *peer_or_ask(struct task_struct *task, __u64 since, __u64 now)
{
	struct record *peer = peer_of(task);

	if (!peer && now - since >= WORTH_A_PEER_NS)
		ask_for_peer(task, now);
	return peer && peer->start ? peer : NULL;
}

/* Can a task be a peer, of the process that waits? */
static __always_inline bool may_be_peer(const struct task_struct *task, __u32 tgid)
{
	return !(task->flags & PF_KTHREAD) && task->tgid != tgid;
}
