/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a thread that blocks is waiting for.  The order of the questions matters; each was settled by experiment
 * (a wait in jbd2 has in_iowait 0, a fault inside write(pipe) has it 1, restart_syscall hides the call, ...).
 */
#pragma once
#include "call.bpf.h"
#include "file.bpf.h"
#include "ledger.bpf.h"
#include "marker.bpf.h"
#include "nfs_wait.bpf.h"
#include "socket.bpf.h"
#include "vcpu.bpf.h"

/* A task that blocks, as far as the classification needs it; scalars, so that global functions can take it. */
struct blocked {
	struct task_struct *task;
	__u32 state, flags;
	__s32 marker; /* innermost marker on its stack, -1: none, MARKER_UNKNOWN: not asked yet */
	bool in_iowait;
	bool other_task;  /* not the current one */
	bool needs_stack; /* out: the answer would be better with a marker */
	__u64 read_inode; /* out: struct inode of the file that a wait for a disk reads, 0: none */
	struct call call;
};

#define MARKER_UNKNOWN -2

struct wait {
	__u32 account;
	__u64 object;
};

#define WAIT(a, o) ((struct wait){ .account = (a), .object = (o) })

/* Asks the stack; `otherwise` is what the call alone suggests. */
static __always_inline struct wait ask_stack(struct blocked *blocked, struct wait otherwise)
{
	int marker = blocked->marker;
	__u32 account;

	if (marker == MARKER_UNKNOWN)
		blocked->needs_stack = true;
	if (marker < 0 || marker >= MARKERS)
		return otherwise;
	account = knobs.markers[marker].account;
	if (account == ACCOUNT_LOCK_KERNEL || account == ACCOUNT_KERNEL_OTHER)
		return WAIT(account, OBJECT(OBJECT_FUNCTION, marker));
	if (account == ACCOUNT_MEMORY_CGROUP)
		return WAIT(account, OBJECT(OBJECT_LIMIT, knobs.markers[marker].limit));
	/* The writes of a flush are part of it. */
	if (account == ACCOUNT_DISK_WRITE && otherwise.account == ACCOUNT_DISK_FLUSH)
		return otherwise;
	return WAIT(account, otherwise.object);
}

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

static __always_inline struct wait wait_in_call(struct call *call)
{
	return WAIT(ACCOUNT_KERNEL_OTHER, call_object(call));
}

/* A wait on a file of NFS: the call decides, unless the stack shows a lock of the kernel's own, memory, or a flush. */
static __always_inline struct wait classify_nfs(struct blocked *blocked, struct open_file *open, __u32 class)
{
	struct wait wait = WAIT(nfs_account(open->flags, class), OBJECT(OBJECT_MOUNT, open->device));
	struct wait seen = ask_stack(blocked, wait);

	if (seen.account == ACCOUNT_LOCK_KERNEL || seen.account == ACCOUNT_KERNEL_OTHER || is_memory(seen.account))
		return seen;
	/* Held by a process of this host: the server was not asked. */
	if (seen.account == ACCOUNT_LOCK_FILE)
		return WAIT(ACCOUNT_LOCK_FILE, file_object(LOAD(file, open->file, f_inode)));
	wait.account = nfs_account_seen(wait.account, seen.account);
	return wait;
}

/* A wait on a file of some file system. */
static __always_inline struct wait classify_regular(struct blocked *blocked, struct open_file *open, __u32 class)
{
	struct wait wait;

	if ((__u32)open->magic == NFS_MAGIC)
		return classify_nfs(blocked, open, class);
	if (is_remote(open->magic))
		return WAIT(ACCOUNT_REMOTE_FS, OBJECT(OBJECT_MOUNT, open->device));
	if (class == SYSCALL_FSYNC)
		return WAIT(ACCOUNT_DISK_FLUSH, OBJECT(OBJECT_DEVICE, open->device));
	if (class == SYSCALL_LOCK)
		return WAIT(ACCOUNT_LOCK_FILE, file_object(LOAD(file, open->file, f_inode)));
	wait.object = OBJECT(OBJECT_DEVICE, open->device);
	if (class == SYSCALL_FD_WRITE && (open->flags & O_DSYNC))
		wait.account = ACCOUNT_DISK_FLUSH;
	else if (class == SYSCALL_FD_WRITE || class == SYSCALL_FD_FILE)
		wait.account = ACCOUNT_DISK_WRITE;
	else
		wait.account = ACCOUNT_DISK_READ;
	blocked->read_inode = (__u64)LOAD(file, open->file, f_inode);
	if (blocked->in_iowait && class == SYSCALL_FD_READ)
		return wait;
	return ask_stack(blocked, wait);
}

static __always_inline struct wait classify_open(struct blocked *blocked, struct open_file *open, __u32 class)
{
	struct wait wait = WAIT(ACCOUNT_IPC_PIPE, OBJECT(OBJECT_PIPE, open->inode));

	switch (open->mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFBLK: return classify_regular(blocked, open, class);
	case S_IFSOCK: classify_socket(open, class, &wait.account, &wait.object); break;
	case S_IFIFO: break;
	default:
		/* inotify, signalfd, timerfd and eventfd wait for events, userfaultfd too. */
		if (open->magic == ANON_INODE_MAGIC || (open->mode & S_IFMT) == 0)
			return WAIT(ACCOUNT_WAIT_EVENTS, 0);
		return wait_in_call(&blocked->call);
	}
	/* Sockets and pipes sleep interruptibly; in_iowait here is a fault or the file side of a transfer. */
	return blocked->in_iowait ? ask_stack(blocked, wait) : wait;
}

/* What is closed is not open any longer while the kernel still works on it. */
static __always_inline struct wait classify_closed(struct blocked *blocked)
{
	struct wait wait = wait_in_call(&blocked->call);

	return blocked->state & TASK_UNINTERRUPTIBLE ? ask_stack(blocked, wait) : wait;
}

/* A wait on an open file: pipe, socket, device, or a file of some file system.  Global: it is called from all over. */
__weak __noinline int classify_file(struct blocked *blocked, struct wait *wait, __u32 fd, __u32 class)
{
	struct open_file open;

	if (!blocked || !wait)
		return 0;
	*wait = read_open_file(blocked->task, fd, &open) ? classify_closed(blocked)
							 : classify_open(blocked, &open, class);
	return 0;
}

static __always_inline struct wait wait_for_file(struct blocked *blocked, __u32 fd, __u32 class)
{
	struct wait wait = {};

	classify_file(blocked, &wait, fd, class);
	return wait;
}

/* Blocks on either side: a deep sleep is that of a file, read or written; a light one waits for a socket or pipe. */
static __always_inline struct wait classify_transfer(struct blocked *blocked, __u32 from, __u32 to)
{
	bool deep = blocked->in_iowait || (blocked->state & TASK_UNINTERRUPTIBLE);
	struct open_file source;

	if (!deep || read_open_file(blocked->task, from, &source) || (source.mode & S_IFMT) == S_IFIFO ||
	    (source.mode & S_IFMT) == S_IFSOCK)
		return wait_for_file(blocked, to, SYSCALL_FD_WRITE);
	return wait_for_file(blocked, from, SYSCALL_FD_READ);
}

/*
 * A flush of the file that is mapped there; but for the mappings' own lock, which a flush takes, too.  Looked up once,
 * when the marker is there: what is locked for it comes free when interrupts are on again.
 */
static __always_inline struct wait classify_msync(struct blocked *blocked)
{
	struct wait wait = WAIT(ACCOUNT_DISK_FLUSH, 0), seen;
	struct open_file open;

	if (!blocked->other_task && blocked->marker != MARKER_UNKNOWN &&
	    !read_mapped_file(blocked->call.arguments[0], &open))
		wait = classify_regular(blocked, &open, SYSCALL_FSYNC);
	seen = ask_stack(blocked, wait);
	return (wait.account == ACCOUNT_REMOTE_FS || is_nfs(wait.account)) && seen.account != ACCOUNT_LOCK_KERNEL
		       ? wait
		       : seen;
}

struct pollfd {
	__s32 fd;
	__s16 events, returned;
};

#define POLLOUT 0x0004

/*
 * poll() of a single descriptor is a read or write of it: libpq, curl and many others wait for an answer so.  Only
 * the current task's memory can be read.
 */
static __always_inline struct wait classify_poll(struct blocked *blocked)
{
	struct pollfd one;

	if (!(__u32)blocked->call.arguments[1])
		return WAIT(ACCOUNT_WAIT_TIMER, 0);
	if ((__u32)blocked->call.arguments[1] != 1 || blocked->other_task ||
	    bpf_probe_read_user(&one, sizeof(one), (void *)blocked->call.arguments[0]) || one.fd < 0)
		return WAIT(ACCOUNT_WAIT_EVENTS, 0);
	return wait_for_file(blocked, one.fd, one.events & POLLOUT ? SYSCALL_SEND : SYSCALL_RECEIVE);
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
	case SYSCALL_SYNC: return ask_stack(blocked, WAIT(ACCOUNT_DISK_FLUSH, 0));
	case SYSCALL_MSYNC: return classify_msync(blocked);
	case SYSCALL_POLL: return classify_poll(blocked);
	/* Of no descriptor it is a sleep: Python's time.sleep() before 3.11, and many older programs. */
	case SYSCALL_SELECT: return WAIT((__u32)call->arguments[0] ? ACCOUNT_WAIT_EVENTS : ACCOUNT_WAIT_TIMER, 0);
	case SYSCALL_EVENTS: return WAIT(ACCOUNT_WAIT_EVENTS, 0);
	case SYSCALL_FUTEX:
		if (sleeps_deep || blocked->in_iowait)
			return classify_fault(record, blocked);
		return WAIT(ACCOUNT_WAIT_PARKED, OBJECT(OBJECT_FUTEX, call->arguments[0]));
	case SYSCALL_SLEEP: return WAIT(ACCOUNT_WAIT_TIMER, 0);
	case SYSCALL_CHILD:
		return sleeps_deep ? ask_stack(blocked, WAIT(ACCOUNT_WAIT_CHILD, 0)) : WAIT(ACCOUNT_WAIT_CHILD, 0);
	case SYSCALL_SIGNAL: return WAIT(ACCOUNT_WAIT_SIGNAL, 0);
	case SYSCALL_URING: {
		bool busy = uring_in_flight(blocked->task, call->arguments[0]);

		return WAIT(ACCOUNT_WAIT_IO_URING, OBJECT(OBJECT_IN_FLIGHT, busy));
	}
	case SYSCALL_AIO: return WAIT(ACCOUNT_WAIT_IO_URING, OBJECT(OBJECT_IN_FLIGHT, 1));
	case SYSCALL_EXIT: return WAIT(ACCOUNT_KERNEL_OTHER, OBJECT(OBJECT_EXIT, 0));
	}
	/* Path look-ups read directories; whatever else sleeps deep says so on its stack. */
	if (class == SYSCALL_PATH && blocked->in_iowait)
		return ask_stack(blocked, WAIT(ACCOUNT_DISK_READ, 0));
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

static __always_inline struct wait classify_blocked(struct record *record, struct blocked *blocked)
{
	if (blocked->flags & PF_EXITING)
		return classify_exit(blocked);
	if (blocked->state & (TASK_STOPPED_BIT | TASK_TRACED_BIT | TASK_FROZEN))
		return WAIT(ACCOUNT_WAIT_STOPPED, 0);
	/* A writer that was to be paused and is not goes on: its next wait is for something else. */
	if (record->region != REGION_NONE && (record->region != REGION_DIRTY_THROTTLE || blocked->in_iowait))
		return WAIT(region_account(record->region), region_object(record->region, record->region_detail));
	/* Of workers without work some sleep deep, unloaded. */
	if (!makes_calls(blocked->flags)) {
		if (blocked->in_iowait ||
		    (blocked->state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == TASK_UNINTERRUPTIBLE)
			return ask_stack(blocked, WAIT(blocked->in_iowait ? ACCOUNT_DISK_READ : ACCOUNT_KERNEL_OTHER,
						       OBJECT(OBJECT_WORKER, 0)));
		return blocked->flags & PF_IO_WORKER ? WAIT(ACCOUNT_WAIT_IO_URING, OBJECT(OBJECT_IN_FLIGHT, 0))
						     : WAIT(ACCOUNT_WAIT_EVENTS, 0);
	}
	if (blocked->call.number == -1)
		return classify_fault(record, blocked);
	if (blocked->call.returning)
		return ask_stack(blocked, WAIT(ACCOUNT_KERNEL_OTHER, OBJECT(OBJECT_RETURN, 0)));
	/* restart_syscall continues a sleep, poll or futex wait after a signal. */
	if (class_of(&blocked->call) == SYSCALL_RESTART)
		blocked->call.number = record->last_syscall;
	else
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
	record->read_inode = wait.account == ACCOUNT_DISK_READ ? blocked->read_inode : 0;
	record->place = find_place(record, wait.account, wait.object);
	record->state = STATE_BLOCKED;
	if (knobs.slo_ns)
		begin_operation(record, &blocked->call);
	return 0;
}

static __always_inline void describe(struct task_struct *task, struct blocked *blocked)
{
	blocked->task = task;
	blocked->state = task_state(task);
	blocked->flags = task->flags;
	blocked->in_iowait = BPF_CORE_READ_BITFIELD(task, in_iowait);
	blocked->marker = MARKER_UNKNOWN;
	blocked->needs_stack = false;
	blocked->other_task = task != bpf_get_current_task_btf();
	read_call(task, &blocked->call);
}
