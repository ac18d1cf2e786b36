/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a thread that blocks is waiting for.  The order of the questions matters; each was settled by experiment
 * (a wait in jbd2 has in_iowait 0, a fault inside write(pipe) has it 1, restart_syscall hides the call, ...).
 */
#pragma once
#include "wait/libaio.bpf.h"
#include "wait/classify_file.bpf.h"
#include "core/details.bpf.h"
#include "wait/poll_set.bpf.h"
#include "wait/io_uring.bpf.h"
#include "vm/vcpu.bpf.h"
#include "app/postgres_wait.bpf.h"

/* A thread that faulted, in user mode or while the kernel copied for it. */
static __always_inline struct wait classify_fault(struct record *record, struct blocked *blocked)
{
	struct wait wait = ask_stack(blocked, blocked->in_iowait ? WAIT(ACCOUNT_MEMORY_MAJOR_FAULT, 0)
								 : WAIT(ACCOUNT_KERNEL_OTHER, OBJECT(OBJECT_FAULT, 0)));
	struct inode *inode = (struct inode *)record->fault_inode;
	struct super_block *super;

	if (wait.account == ACCOUNT_NFS_METADATA)
		wait.account = ACCOUNT_NFS_READ;
	/*
	 * Other faults (of a first write, of swap) do not pass where the inode is noted: it may be of an earlier one.
	 */
	if ((wait.account != ACCOUNT_MEMORY_MAJOR_FAULT && wait.account != ACCOUNT_REMOTE_FS &&
	     wait.account != ACCOUNT_NFS_READ) ||
	    !inode)
		return wait;
	super = LOAD(inode, inode, i_sb);
	if ((__u32)LOAD(super_block, super, s_magic) == NFS_MAGIC)
		return WAIT(ACCOUNT_NFS_READ, OBJECT(OBJECT_MOUNT, LOAD(super_block, super, s_dev)));
	if (is_remote(LOAD(super_block, super, s_magic)))
		return WAIT(ACCOUNT_REMOTE_FS, OBJECT(OBJECT_MOUNT, LOAD(super_block, super, s_dev)));
	return wait.account != ACCOUNT_MEMORY_MAJOR_FAULT ? wait : WAIT(ACCOUNT_MEMORY_MAJOR_FAULT, file_object(inode));
}

/*
 * Who sleeps lightly in an ioctl() of a file without a name waits for what that tells, as who reads it: a supervisor for
 * the next call of those it supervises (seccomp).  A virtual CPU is told apart by why it left its guest.
 */
static __always_inline bool awaits_events(struct blocked *blocked)
{
	struct call *call = &blocked->call;
	struct open_file open;

	return call->number == IOCTL && !call->i386 && (__u32)call->arguments[1] != KVM_RUN &&
	       !(blocked->state & TASK_UNINTERRUPTIBLE) && !blocked->in_iowait &&
	       !read_open_file(blocked->task, call->arguments[0], &open) && open.magic == ANON_INODE_MAGIC;
}

/*
 * Completions are waited for in light sleep.  Whoever sleeps deep is still submitting, and its stack tells for what; as a
 * rule for a page or a block of metadata that has to be read, where it waits for I/O.
 */
static __always_inline struct wait classify_completions(struct blocked *blocked, __u32 class)
{
	__u32 in_flight = IN_FLIGHT_SOME;

	if (blocked->state & TASK_UNINTERRUPTIBLE) {
		struct wait wait =
			ask_stack(blocked, WAIT(blocked->in_iowait ? ACCOUNT_DISK_READ : ACCOUNT_WAIT_IO_URING, 0));

		if (wait.account != ACCOUNT_WAIT_IO_URING)
			return wait;
	} else {
		in_flight = class == SYSCALL_URING ? uring_in_flight(blocked) : aio_in_flight(blocked);
	}
	return WAIT(in_flight == IN_FLIGHT_NONE ? ACCOUNT_WAIT_EVENTS : ACCOUNT_WAIT_IO_URING,
		    OBJECT(OBJECT_IN_FLIGHT, in_flight));
}

static __always_inline struct wait classify_call(struct record *record, struct blocked *blocked)
{
	struct call *call = &blocked->call;
	bool sleeps_deep = blocked->state & TASK_UNINTERRUPTIBLE;
	__u32 class = class_of(call);

	switch (class) {
	case SYSCALL_FD_READ:
	case SYSCALL_FD_WRITE:
	case SYSCALL_FD_FILE:
	case SYSCALL_FSYNC:
	case SYSCALL_DIRECTORY:
	case SYSCALL_CONNECT:
	case SYSCALL_ACCEPT:
	case SYSCALL_RECEIVE:
	case SYSCALL_SEND:
	case SYSCALL_LOCK: return wait_for_file(blocked, call->arguments[0], class);
	case SYSCALL_SENDFILE: return classify_transfer(blocked, call->arguments[1], call->arguments[0]);
	case SYSCALL_SPLICE: return classify_transfer(blocked, call->arguments[0], call->arguments[2]);
	case SYSCALL_TEE: return classify_transfer(blocked, call->arguments[0], call->arguments[1]);
	case SYSCALL_SYNC: return ask_stack(blocked, WAIT(ACCOUNT_DISK_FLUSH, 0));
	case SYSCALL_MSYNC: return classify_msync(blocked);
	case SYSCALL_POLL:
	case SYSCALL_SELECT:
	case SYSCALL_EVENTS: return classify_set(record, blocked, class);
	case SYSCALL_FUTEX:
		if (sleeps_deep || blocked->in_iowait)
			return classify_fault(record, blocked);
		return WAIT(ACCOUNT_WAIT_PARKED, OBJECT(OBJECT_FUTEX, call->arguments[0]));
	case SYSCALL_QUEUE: return WAIT(ACCOUNT_WAIT_PARKED, call_object(call)); /* for work or a lock, as on a futex */
	case SYSCALL_SLEEP: return WAIT(ACCOUNT_WAIT_TIMER, 0);
	case SYSCALL_CHILD:
		return sleeps_deep ? ask_stack(blocked, WAIT(ACCOUNT_WAIT_CHILD, 0)) : WAIT(ACCOUNT_WAIT_CHILD, 0);
	case SYSCALL_SIGNAL: return WAIT(ACCOUNT_WAIT_SIGNAL, 0);
	case SYSCALL_URING:
	case SYSCALL_AIO: return classify_completions(blocked, class);
	case SYSCALL_EXIT: return WAIT(ACCOUNT_KERNEL_OTHER, OBJECT(OBJECT_EXIT, 0));
	}
	/*
	 * Path look-ups read directories, or ask a server of FUSE, for which they sleep lightly; whatever else sleeps deep
	 * says so on its stack.
	 */
	if (class == SYSCALL_PATH)
		return ask_stack(blocked, blocked->in_iowait ? WAIT(ACCOUNT_DISK_READ, 0) : wait_in_call(call));
	if (class == SYSCALL_OTHER && awaits_events(blocked))
		return WAIT(ACCOUNT_WAIT_EVENTS, 0);
	if (sleeps_deep || may_want_page(record, call))
		return ask_stack(blocked, wait_in_call(call));
	return wait_in_call(call);
}

/* Files that are still open are closed then, which flushes those of NFS. */
static __always_inline struct wait classify_exit(struct blocked *blocked)
{
	struct wait wait = WAIT(ACCOUNT_KERNEL_OTHER, OBJECT(OBJECT_EXIT, 0)), seen = wait;

	if (blocked->state & TASK_UNINTERRUPTIBLE)
		seen = ask_stack(blocked, wait);
	return is_nfs(seen.account) ? seen : wait;
}

/*
 * restart_syscall continues a sleep, poll or futex wait after a signal, or a stop.  Which one, if it was interrupted before
 * the thread was followed, is told by the function that it goes on with; no call of number 0 is continued so.
 */
static __always_inline __s64 restarted_call(const struct blocked *blocked)
{
	const struct task_struct *task = blocked->task;
	__u64 function = (__u64)BPF_CORE_READ(task, restart_block.fn);

	for (int i = 0; i < RESTARTED_CALLS; i++)
		if (function && knobs.restarted[i].function == function)
			return blocked->call.i386 ? knobs.restarted[i].i386_number : knobs.restarted[i].number;
	return blocked->call.number;
}

static __always_inline enum stop stopped_by(const struct blocked *blocked)
{
	if (blocked->state & TASK_TRACED_BIT)
		return STOP_TRACER;
	return blocked->state & TASK_STOPPED_BIT ? STOP_SIGNAL : STOP_FREEZER;
}

static __always_inline struct wait classify_blocked(struct record *record, struct blocked *blocked)
{
	if (blocked->flags & PF_EXITING)
		return classify_exit(blocked);
	if (blocked->state & (TASK_STOPPED_BIT | TASK_TRACED_BIT | TASK_FROZEN) || blocked->frozen)
		return WAIT(ACCOUNT_WAIT_STOPPED, OBJECT(OBJECT_STOP, stopped_by(blocked)));
	/* A writer that was to be paused and is not goes on: its next wait is for something else. */
	if (record->region != REGION_NONE && (record->region != REGION_DIRTY_THROTTLE || blocked->in_iowait))
		return WAIT(region_account(record->region), region_object(record->region, record->region_detail));
	/* Of workers without work some sleep deep, unloaded. */
	if (!makes_calls(blocked->flags)) {
		if (blocked->in_iowait ||
		    (blocked->state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == TASK_UNINTERRUPTIBLE)
			return ask_stack(blocked, WAIT(blocked->in_iowait ? ACCOUNT_DISK_READ : ACCOUNT_KERNEL_OTHER,
						       OBJECT(OBJECT_WORKER, 0)));
		return WAIT(ACCOUNT_WAIT_EVENTS,
			    blocked->flags & PF_IO_WORKER ? OBJECT(OBJECT_IN_FLIGHT, IN_FLIGHT_NONE) : 0);
	}
	if (blocked->call.number == -1)
		return classify_fault(record, blocked);
	if (blocked->call.returning)
		return ask_stack(blocked, WAIT(ACCOUNT_KERNEL_OTHER, OBJECT(OBJECT_RETURN, 0)));
	if (class_of(&blocked->call) == SYSCALL_RESTART)
		blocked->call.number = record->last_syscall ?: restarted_call(blocked);
	record->last_syscall = blocked->call.number;
	return classify_call(record, blocked);
}

static __always_inline void begin_operation(struct record *record, struct call *call)
{
	if (call->number < 0 || call->returning || is_idle(record->account))
		return; /* waiting for work is no operation */
	if (record->operating && record->operation_call == call_object(call))
		return;
	record->operating = 1;
	record->operation_start = record->since;
	record->operation_call = call_object(call);
	__builtin_memset(record->parts, 0, sizeof(record->parts));
}

/* Opens the wait of a record.  Global, so that the verifier looks at it once. */
__weak __noinline int classify(struct record *record, struct blocked *blocked)
{
	struct wait wait;
	__u32 account;

	if (!record || !blocked)
		return 0;
	wait = classify_blocked(record, blocked);
	if (is_nfs(wait.account) && OBJECT_KIND(wait.object) != OBJECT_MOUNT)
		wait.object = nfs_mount_called(record);
	else if (!is_nfs(wait.account) && !may_delay_call(wait.account) &&
		 (blocked->marker != MARKER_UNKNOWN || !blocked->needs_stack))
		record->rpc = 0;
	account = vcpu_account(record, &blocked->call, blocked->in_iowait || (blocked->state & TASK_UNINTERRUPTIBLE),
			       wait.account, wait.object);
	if (account != wait.account)
		wait = WAIT(account, 0);
	record->account = wait.account;
	record->object = wait.object;
	record->file_inode =
		wait.account == ACCOUNT_DISK_READ || wait.account == ACCOUNT_DISK_FLUSH ? blocked->file_inode : 0;
	record->awaited = blocked->awaited;
	if (knobs.databases)
		ask_database(record, blocked);
	open_place(record);
	record->state = STATE_BLOCKED;
	if (record->account != ACCOUNT_WAIT_PARKED)
		record->answer.at = 0;
	record->turned = class_of(&blocked->call) == SYSCALL_EVENTS;
	/* For work, or for a moment of its own choice: it does nothing for anybody meanwhile. */
	if (blocked->serves || wait.account == ACCOUNT_WAIT_TIMER || wait.account == ACCOUNT_NET_ACCEPT ||
	    wait.account == ACCOUNT_NET_REQUEST)
		record->idled = record->since;
	end_service(record, record->turned);
	if (knobs.operations)
		begin_operation(record, &blocked->call);
	return 0;
}
