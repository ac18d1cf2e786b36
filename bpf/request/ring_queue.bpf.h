/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An io_uring moves bytes whenever there are some: in the middle of a sleep of the thread that they are for, or many at
 * once.  That thread goes on with the request that it is at, and takes up what came meanwhile in the order of completions,
 * one after the other is answered.
 */
#pragma once
#include "wait/call.bpf.h"
#include "request/connection.bpf.h"

/* The thread has a ring, and has not called to send or to receive itself. */
static __noinline bool is_moved_by_ring(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call call;

	if (!bpf_core_field_exists(task->io_uring) || !LOAD_TRUSTED(task_struct, task, io_uring))
		return false;
	read_call(task, &call);
	barrier_var(call.number); /* the verifier wants the check on what is used */
	switch (class_of(&call)) {
	case SYSCALL_FD_READ:
	case SYSCALL_FD_WRITE:
	case SYSCALL_RECEIVE:
	case SYSCALL_SEND:
	case SYSCALL_SENDFILE:
	case SYSCALL_SPLICE:
	case SYSCALL_TEE: return false;
	}
	return true;
}

/*
 * Does a ring move bytes while the thread is with a request?  Who has waited for a completion since it took that one up is
 * with whomever it comes for.
 */
static __always_inline bool is_moved_meanwhile(const struct record *record)
{
	if (!is_serving(record) ||
	    (record->account == ACCOUNT_WAIT_IO_URING && record->serving_since <= record->waited_since))
		return false;
	return is_moved_by_ring();
}

/* A request waits until the thread comes to it, behind those that wait already. */
static __always_inline void queue_up(struct record *record, struct connection *connection, const struct socket_id *id)
{
	struct socket_id last = record->next_last;
	struct connection *before = record->next.cookie ? connection_at(&last) : NULL;

	connection->next = (struct socket_id){};
	if (before && before != connection)
		before->next = *id;
	else
		record->next = *id;
	record->next_last = *id;
}
