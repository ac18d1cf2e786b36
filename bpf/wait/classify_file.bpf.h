/* SPDX-License-Identifier: GPL-2.0-only */
/* What a thread that blocks in a call on an open file is waiting for. */
#pragma once
#include "wait/blocked.bpf.h"
#include "wait/file.bpf.h"
#include "nfs/nfs_wait.bpf.h"
#include "network/socket.bpf.h"

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
	/* Disks are waited for in deep sleep: whoever sleeps lightly waits for what a pseudo file tells (pidfd, /proc). */
	if (class != SYSCALL_LOCK && !blocked->in_iowait && !(blocked->state & TASK_UNINTERRUPTIBLE))
		return WAIT(ACCOUNT_WAIT_EVENTS, 0);
	blocked->file_inode = (__u64)LOAD(file, open->file, f_inode);
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
	case S_IFSOCK:
		blocked->awaited = classify_socket(open, class, &wait.account, &wait.object);
		if (wait.account == ACCOUNT_KERNEL_OTHER && !sends(class))
			return wait_in_call(&blocked->call);
		break;
	case S_IFIFO: blocked->awaited = sends(class) ? 0 : AWAITED_PIPE; break;
	default:
		/* inotify, signalfd, timerfd and eventfd wait for events, userfaultfd too. */
		if (open->magic == ANON_INODE_MAGIC || (open->mode & S_IFMT) == 0)
			return WAIT(ACCOUNT_WAIT_EVENTS, 0);
		return wait_in_call(&blocked->call);
	}
	/* Sockets and pipes sleep interruptibly; in_iowait here is a fault or the file side of a transfer. */
	return blocked->in_iowait ? ask_stack(blocked, wait) : wait;
}

/*
 * What is closed is not open any longer while the kernel still works on it.  A server of FUSE is waited for in light
 * sleep.
 */
static __always_inline struct wait classify_closed(struct blocked *blocked)
{
	return ask_stack(blocked, wait_in_call(&blocked->call));
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

static __always_inline bool is_empty_pipe(struct file *file)
{
	struct pipe_inode_info *pipe = LOAD(file, file, private_data);

	return LOAD(pipe_inode_info, pipe, head) == LOAD(pipe_inode_info, pipe, tail);
}

static __always_inline bool is_full_pipe(struct file *file)
{
	struct pipe_inode_info *pipe = LOAD(file, file, private_data);

	return LOAD(pipe_inode_info, pipe, head) - LOAD(pipe_inode_info, pipe, tail) >=
	       LOAD(pipe_inode_info, pipe, max_usage);
}

static __always_inline __u32 type_of(struct file *file)
{
	return file ? LOAD(inode, LOAD(file, file, f_inode), i_mode) & S_IFMT : 0;
}

/*
 * Whether data is waited for, of the two sides that a call blocks on.  A deep sleep is that of a file, read or written.
 * A light one is for what an empty pipe gets, or for room in a full one; otherwise for what is at the other side of the
 * pipe.  Global, for its own stack: in classify()'s it would be one with that of look_at_set().
 */
__weak __noinline int waits_for_source(struct blocked *blocked, __u32 from, __u32 to)
{
	struct file *source, *target;
	__u32 type;

	if (!blocked)
		return 0;
	source = file_of(blocked->task, from);
	target = file_of(blocked->task, to);
	type = type_of(source);
	if (blocked->in_iowait || (blocked->state & TASK_UNINTERRUPTIBLE))
		return type && type != S_IFIFO && type != S_IFSOCK;
	if (type == S_IFIFO)
		return is_empty_pipe(source);
	return type && type_of(target) == S_IFIFO && !is_full_pipe(target);
}

static __always_inline struct wait classify_transfer(struct blocked *blocked, __u32 from, __u32 to)
{
	if (waits_for_source(blocked, from, to))
		return wait_for_file(blocked, from, SYSCALL_FD_READ);
	return wait_for_file(blocked, to, SYSCALL_FD_WRITE);
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
