#!/usr/bin/python3 -I
# SPDX-License-Identifier: GPL-2.0-only
#
# ledger.py - Where did the time of a process's threads go?
#
# Prints a recording, which perfdiag report reads on any other machine. Every nanosecond of each thread counts in
# one account: on a CPU, waiting for one, or asleep for a reason. Only bcc has to be installed: neither BTF nor the
# headers of the kernel are needed. perfdiag's own recorder sees more; this sees more than ledger.bt: threads that
# sleep all along, and what is behind an open file. The report lists the rest under NOT MEASURED.
#
# USAGE
#   ledger.py PID [SECONDS]
#   PID      the process whose threads are recorded
#   SECONDS  how long to trace; without it: until Ctrl-C
#
# REQUIRES
#   bcc for Python 3 (Debian: python3-bpfcc), root, Linux 5.3 or later with the tracepoints of sched and raw_syscalls,
#   task_rename and block_bio_queue. Neither BTF nor kernel headers.
#
# FIELDS
#   header  the first line: when the recording began, and the accounts; perfdiag-recording(5) describes all three
#   thread  a line for each thread: time by account, as [account, nanoseconds, how often, the longest in nanoseconds]
#   footer  the last line: when and why it ended, and storage_failed: switches of threads that found no room
#
# EXAMPLE
#   # ledger.py 10564 2
#   {"type":"header","schema":1,"perfdiag":"ledger.py","engine":"bcc","realtime_ns":1795453032277091853,"start_ns":...
#   {"type":"thread","at_ns":17034045744183,"serial":1,"pid":10564,"tid":10564,"namespace_tid":10564,"state":"alive...
#   {"type":"thread","at_ns":17034045744183,"serial":2,"pid":10564,"tid":10566,"namespace_tid":10566,"state":"alive...
#   {"type":"thread","at_ns":17034045744183,"serial":3,"pid":10564,"tid":10568,"namespace_tid":10568,"state":"alive...
#   {"type":"thread","at_ns":17034045744183,"serial":4,"pid":10564,"tid":10569,"namespace_tid":10569,"state":"alive...
#   {"type":"footer","at_ns":17034045744183,"threads_seen":4,"reason":"duration","lost":{"storage_failed":0},"cost"...
#
#   perfdiag report reads it, here or elsewhere: ledger.py PID 10 >FILE, then perfdiag report FILE. In a line of a
#   thread, accounts has what makes up its wall_ns: [8,1300000000,30,42000000] are 1.3 s in the account at place 8 of
#   the header, counted from 0 (wait.parked), in 30 waits of which the longest took 42 ms.
#
# OVERHEAD
#   Attaches in 0.4 s and takes 124 MiB. Adds 2.5 us to each round trip between two processes on a CPU, which then
#   takes 1.41 times as long (1.33 to 1.53). Measured with bcc 0.26.0 on Linux 6.18.44-fc-v669 and 2 CPUs by make bench
#   ARGS=tools.
#
# CAVEATS
#   A sleep in a system call that does not say what for is kernel.other, unless the thread sent a request to a disk
#   meanwhile, or its first argument is an open pipe or socket, which is looked at once a second. fsync of a file on NFS
#   is disk.flush, too.
#   A sleep to receive from the network is net.receive where the process has sent something there and heard nothing
#   since. Else it is net.request on a connection that the process accepted, or wait.parked: waiting or idle, cannot
#   tell.
#   Of more than 20,000 sockets of the host's some are not told apart: wait.parked.
#   A sleep that ends on a CPU where this program itself looks into a map just then is unexplained: of 1,500 threads
#   that wake up once a second 1 to 16 lost a second to that.
#   System calls of 32-bit programs are told apart by no name: kernel.other.
#   Time in which a thread could run on an idle CPU, but did not for a millisecond, is unexplained: mostly a CPU quota.
#
# SEE ALSO
#   perfdiag-report(8): CPU-CONTENTION CPU-OVERSUBSCRIBED DISK-FLUSH-SLOW DISK-READ-SLOW LOCK-CONTENTION
"""Records which account each nanosecond of a process's threads belongs to; perfdiag report reads it."""

import _signal

if __name__ == "__main__":
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # until there is something to show, Ctrl-C just ends

import argparse
import contextlib
import ctypes
import itertools
import os
import re
import select
import signal
import sys
import tempfile
import time

ACCOUNTS = [
    "cpu.user",
    "cpu.kernel",
    "runq.busy",
    "runq.waking",
    "disk.read",
    "disk.write",
    "disk.flush",
    "memory.major_fault",
    "wait.parked",
    "net.connect",
    "net.receive",
    "net.send",
    "net.accept",
    "net.request",
    "ipc.pipe",
    "ipc.unix",
    "lock.file",
    "wait.io_uring",
    "wait.events",
    "wait.timer",
    "wait.child",
    "wait.signal",
    "wait.stopped",
    "kernel.other",
    "unexplained",
]

# System calls that say what they wait for: those of lib/recorder/program/syscall_table.c, by account.
CALLS = {
    "disk.flush": "fsync fdatasync sync_file_range syncfs sync msync",
    "wait.events": "poll ppoll ppoll_time64 select _newselect pselect6 pselect6_time64"
    " epoll_wait epoll_pwait epoll_pwait2",
    "wait.parked": "futex futex_time64 futex_wait futex_waitv",
    "wait.timer": "nanosleep clock_nanosleep clock_nanosleep_time64",
    "wait.child": "wait4 waitid waitpid fork vfork clone clone3",
    "wait.signal": "pause sigsuspend rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64",
    "wait.io_uring": "io_uring_enter io_getevents io_pgetevents io_pgetevents_time64 io_submit",
    "net.connect": "connect",
    "net.accept": "accept accept4",
    "lock.file": "flock fcntl fcntl64",
}
# Those that wait for the other side of the file that is their first argument.
READS = (
    "read pread64 readv preadv preadv2 readahead lseek _llseek fstatfs fstatfs64 fchdir fgetxattr flistxattr cachestat"
    " recvfrom recvmsg recvmmsg recvmmsg_time64"
)
WRITES = "write pwrite64 writev pwritev pwritev2 vmsplice sendto sendmsg sendmmsg"
READ, WRITE = 0x40, 0x41  # no account has these numbers
SENT, RECEIVED, CONNECTED, ACCEPTED = 1, 2, 4, 8  # what was last done with a file, and which end of a connection it is
REPLACED = 1 << 31  # in the key of the leader that a thread has replaced by exec
THREADS = 10240
SOCKETS = 20000  # of a table of /proc/PID/net; more are not looked at

# All that bcc's own headers want of the kernel's: with these it needs none that are installed.
HEADERS = {
    "linux/kconfig.h": "#define CONFIG_BPF_SYSCALL 1\n#define CONFIG_64BIT 1\n",
    "linux/types.h": """#pragma once
typedef unsigned char __u8; typedef unsigned short __u16; typedef unsigned int __u32; typedef unsigned long long __u64;
typedef signed char __s8; typedef short __s16; typedef int __s32; typedef long long __s64;
typedef __u8 u8; typedef __u16 u16; typedef __u32 u32; typedef __u64 u64;
typedef __s8 s8; typedef __s16 s16; typedef __s32 s32; typedef __s64 s64;
typedef __u16 __be16; typedef __u32 __be32; typedef __u64 __be64; typedef __u16 __sum16; typedef __u32 __wsum;
typedef __u64 __aligned_u64 __attribute__((aligned(8)));
typedef int pid_t; typedef unsigned long size_t; typedef unsigned long uintptr_t; typedef _Bool bool;
typedef __u32 dev_t; typedef __u64 sector_t;
enum { false, true };
#define NULL ((void *)0)
""",
    "linux/version.h": "#define LINUX_VERSION_CODE 0\n#define KERNEL_VERSION(a, b, c) ((a) << 16 | (b) << 8 | (c))\n",
    "uapi/linux/bpf.h": "#include <linux/types.h>\n#include <bcc/bpf.h>\n",
}
EMPTY = "linux/bpf_common.h linux/log2.h asm/page.h uapi/linux/if_ether.h uapi/linux/if_packet.h uapi/linux/ptrace.h"

PROGRAM = r"""
struct sum { u64 ns, count, longest_ns; };
enum { RUNNING, READY, STOPPED, IN_CALL, OUTSIDE };
struct thread {
	u64 since_ns, woken_ns, from_ns, ended_ns;
	u32 off;      /* why it is not on a CPU */
	u32 inside;   /* a system call; 1 + its number */
	u32 account;  /* that the call stands for; 0: it does not say */
	u32 proof;    /* the account that shows meanwhile; 0: none */
	u32 file;     /* the call's first argument */
	u32 known;    /* whether it is inside a call */
	u32 said;     /* of that file, when the call began: SENT ... */
	u32 tid;      /* that it was met by */
	struct sum untold; /* sleeps in this call that does not say what for */
	struct sum sums[32];
	char comm[16];
};
struct file { u32 tid, number, write, said; };

BPF_HASH(threads, u32, struct thread, THREADS);
BPF_HASH(files, struct file, struct sum, THREADS);
BPF_ARRAY(blank, struct thread, 1);
BPF_ARRAY(calls, u32, 1024);
BPF_ARRAY(ends, u32, 65536); /* by number of an open file: SENT ... */
BPF_ARRAY(begun, u64, 1);
BPF_ARRAY(failed, u64, 1);
BPF_PERCPU_ARRAY(idle_since, u64, 1);

static inline bool is_target(void)
{
	u32 first = 0;
	u64 *on = begun.lookup(&first);

	return on && *on && bpf_get_current_pid_tgid() >> 32 == PID;
}

static inline void add(struct sum *sum, u64 ns, u64 count, u64 longest_ns)
{
	sum->ns += ns;
	sum->count += count;
	if (longest_ns > sum->longest_ns)
		sum->longest_ns = longest_ns;
}

static inline void add_all(struct sum *sum, struct sum *more)
{
	struct sum none = {};

	add(sum, more->ns, more->count, more->longest_ns);
	*more = none;
}

static inline void book(struct thread *thread, u32 account, u64 ns)
{
	add(&thread->sums[account & 31], ns, 1, ns);
}

/* Of the target: known, or from now on. */
static inline struct thread *meet(u32 tid, u64 now)
{
	struct thread *thread = threads.lookup(&tid), *first;
	u32 zero = 0;
	u64 *count;

	if (thread)
		return thread;
	first = blank.lookup(&zero);
	if (first)
		threads.insert(&tid, first);
	thread = threads.lookup(&tid);
	if (!thread) {
		count = failed.lookup(&zero);
		if (count)
			__sync_fetch_and_add(count, 1);
		return 0;
	}
	thread->since_ns = thread->from_ns = now;
	thread->tid = tid;
	bpf_get_current_comm(thread->comm, sizeof(thread->comm));
	return thread;
}

static inline void book_sleep(struct thread *thread, u64 ns)
{
	if (thread->off == STOPPED)
		book(thread, WAIT_STOPPED, ns);
	else if (thread->off == OUTSIDE && thread->known) {
		book(thread, thread->proof ? MEMORY_MAJOR_FAULT : KERNEL_OTHER, ns);
		thread->proof = 0;
	} else if (thread->account && thread->account < READ)
		book(thread, thread->account, ns);
	else
		add(&thread->untold, ns, 1, ns);
}

static inline void stop_running(struct thread *thread, u64 now)
{
	u32 account = thread->inside ? CPU_KERNEL : CPU_USER;

	/* The kernel leaves programs out while a map is in use on their CPU: a switch to this thread was not seen. */
	if (thread->off) {
		account = UNEXPLAINED;
		if (thread->off != READY && thread->woken_ns > thread->since_ns) {
			book_sleep(thread, thread->woken_ns - thread->since_ns);
			thread->since_ns = thread->woken_ns;
		}
		thread->off = RUNNING;
	}
	book(thread, account, now - thread->since_ns);
	thread->since_ns = now;
}

static inline void take_cpu(struct thread *thread, u64 idle_since_ns, u64 now)
{
	u64 ready = thread->since_ns, busy_until;

	if (thread->off != READY) {
		ready = thread->woken_ns > thread->since_ns ? thread->woken_ns : now;
		book_sleep(thread, ready - thread->since_ns);
	}
	/* Others ran until its CPU was idle, then that woke up. No CPU takes a millisecond for that. */
	busy_until = idle_since_ns > ready ? idle_since_ns : ready;
	if (busy_until > ready)
		book(thread, RUNQ_BUSY, busy_until - ready);
	if (now > busy_until)
		book(thread, now - busy_until < 1000000 ? RUNQ_WAKING : UNEXPLAINED, now - busy_until);
	thread->since_ns = now;
	thread->off = RUNNING;
}

TRACEPOINT_PROBE(sched, sched_switch)
{
	u32 zero = 0, tid = args->prev_pid, next = args->next_pid;
	u64 now = bpf_ktime_get_ns(), *idle = idle_since.lookup(&zero), *on = begun.lookup(&zero);
	struct thread *thread;

	if (!idle || !on || !*on)
		return 0;
	thread = tid && is_target() ? meet(tid, now) : 0;
	if (thread && !thread->ended_ns) {
		stop_running(thread, now);
		if (!(args->prev_state & 0xff))
			thread->off = READY;
		else if (args->prev_state & 0xc)
			thread->off = STOPPED;
		else
			thread->off = thread->inside ? IN_CALL : OUTSIDE;
	}
	thread = next ? threads.lookup(&next) : 0;
	if (thread && thread->off)
		take_cpu(thread, tid ? now : *idle, now);
	if (!next)
		*idle = now;
	return 0;
}

TRACEPOINT_PROBE(sched, sched_waking)
{
	u32 tid = args->pid;
	struct thread *thread = threads.lookup(&tid);

	if (thread)
		thread->woken_ns = bpf_ktime_get_ns();
	return 0;
}

TRACEPOINT_PROBE(raw_syscalls, sys_enter)
{
	u64 now = bpf_ktime_get_ns();
	u32 number = args->id, file = args->args[0], *account, *end;
	struct thread *thread = is_target() ? meet(bpf_get_current_pid_tgid(), now) : 0;

	if (!thread)
		return 0;
	stop_running(thread, now);
	if (thread->untold.count) /* before its first call that was seen */
		add_all(&thread->sums[UNEXPLAINED], &thread->untold);
	account = calls.lookup(&number);
	thread->account = account ? *account : 0;
	thread->file = file;
	end = thread->account == READ ? ends.lookup(&file) : 0;
	thread->said = end ? *end : 0;
	thread->inside = 1 + number;
	thread->proof = 0;
	thread->known = 1;
	return 0;
}

static inline void tell(struct thread *thread)
{
	struct sum *untold = &thread->untold, none = {}, *sum;
	struct file file = { thread->tid, thread->file, thread->account == WRITE, thread->said };
	u32 account = thread->account && thread->account < READ ? thread->account : KERNEL_OTHER;

	sum = &thread->sums[(thread->proof ? thread->proof : account) & 31];
	if (!thread->proof && (thread->account == READ || thread->account == WRITE)) {
		struct sum *of_file = files.lookup_or_try_init(&file, &none);

		sum = of_file ? of_file : sum;
	}
	add_all(sum, untold);
}

/* Whether something was asked there before somebody sleeps to receive, and by which side. */
static inline void note_end(struct thread *thread, long result)
{
	u32 file = thread->account == NET_ACCEPT ? result : thread->file, *end;

	if (thread->account < READ && thread->account != NET_ACCEPT && thread->account != NET_CONNECT)
		return;
	end = ends.lookup(&file);
	if (!end)
		return;
	if (thread->account == NET_ACCEPT)
		*end = ACCEPTED;
	else if (thread->account == NET_CONNECT)
		*end = CONNECTED;
	else if (result > 0)
		*end = (*end & (CONNECTED | ACCEPTED)) | (thread->account == READ ? RECEIVED : SENT);
}

TRACEPOINT_PROBE(raw_syscalls, sys_exit)
{
	u64 now = bpf_ktime_get_ns();
	u32 number = args->id, *account;
	struct thread *thread = is_target() ? meet(bpf_get_current_pid_tgid(), now) : 0;

	if (!thread)
		return 0;
	if (!thread->known) { /* it was in this call when the window began */
		thread->inside = 1;
		account = calls.lookup(&number);
		thread->account = account && *account < READ ? *account : 0;
	}
	stop_running(thread, now);
	if (thread->untold.count)
		tell(thread);
	note_end(thread, args->ret);
	thread->inside = thread->account = thread->proof = 0;
	thread->known = 1;
	return 0;
}

TRACEPOINT_PROBE(sched, sched_process_exit)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct thread *thread = is_target() ? threads.lookup(&tid) : 0;

	if (!thread || thread->ended_ns)
		return 0;
	stop_running(thread, bpf_ktime_get_ns());
	thread->ended_ns = thread->since_ns;
	thread->off = RUNNING;
	return 0;
}

/* The leader, whose number a thread takes over by exec, has ended for that and keeps its books under another key. */
TRACEPOINT_PROBE(sched, sched_process_exec)
{
	u32 zero = 0, tid = args->pid, before = args->old_pid, ended = before | REPLACED;
	struct thread *thread = is_target() ? threads.lookup(&tid) : 0;
	u64 *count = failed.lookup(&zero);

	if (before != tid && is_target()) {
		if (thread && threads.update(&ended, thread) && count)
			__sync_fetch_and_add(count, 1);
		threads.delete(&tid);
		thread = threads.lookup(&before);
		if (thread && threads.update(&tid, thread) && count)
			__sync_fetch_and_add(count, 1);
		threads.delete(&before);
		thread = threads.lookup(&tid);
	}
	if (thread)
		bpf_get_current_comm(thread->comm, sizeof(thread->comm));
	return 0;
}

TRACEPOINT_PROBE(task, task_rename)
{
	u32 tid = args->pid;
	struct thread *thread = threads.lookup(&tid);

	if (thread && !thread->ended_ns)
		__builtin_memcpy(thread->comm, args->newcomm, sizeof(thread->comm));
	return 0;
}

/* A request to a disk shows what a thread sleeps for, in a call that does not say it or outside of one. */
TRACEPOINT_PROBE(block, block_bio_queue)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct thread *thread = is_target() ? threads.lookup(&tid) : 0;

	if (thread)
		thread->proof = args->rwbs[0] == 'R' ? DISK_READ : DISK_WRITE;
	return 0;
}
"""
RUNNING, READY, STOPPED, IN_CALL, OUTSIDE = range(5)


def fail(message, hint=None, status=1):
    """End with one line that says why."""
    print(f"error: {message}" + (f"\nHINT: {hint}" if hint else ""), file=sys.stderr)
    sys.exit(status)


def number(word):
    if not re.fullmatch("[0-9]{1,9}", word):
        raise argparse.ArgumentTypeError(f"{word!r} is no number")
    return int(word)


def arguments():
    """Return the process and how long, 0 for ever."""
    parser = argparse.ArgumentParser(prog="ledger.py", description=__doc__)
    parser.add_argument("pid", metavar="PID", type=number)
    parser.add_argument("seconds", metavar="SECONDS", type=number, nargs="?", default=0)
    parser.error = lambda message: fail(message, "ledger.py PID [SECONDS]", 2)
    pid, seconds = vars(parser.parse_args()).values()
    if os.geteuid() != 0:
        fail("only root may trace", "sudo ledger.py PID", 3)
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
            group = int(re.search(r"^Tgid:\t(\d+)", status.read(), re.MULTILINE)[1])
    except OSError:
        fail(f"there is no process {pid}", "ps -e shows what runs", 4)
    if group != pid:
        fail(f"{pid} is a thread of process {group}", f"ledger.py {group}", 2)
    return pid, seconds


@contextlib.contextmanager
def folder():
    """A folder in memory, of a file system that is mounted nowhere: it goes with this process, however that ends."""
    kernel = ctypes.CDLL(None).syscall  # fsopen(), fsconfig() to make it, fsmount(): Linux 5.2; alike everywhere
    context = kernel(430, b"tmpfs", 1)
    mounted = kernel(432, context, 1, 0) if kernel(431, context, 6, None, None, 0) == 0 else -1
    if context >= 0:
        os.close(context)
    if mounted >= 0:
        yield f"/proc/self/fd/{mounted}"
        os.close(mounted)
    else:  # never in the directory that it was called in, which may be anybody's
        with tempfile.TemporaryDirectory(dir="/tmp") as path:
            yield path


def compiled(pid):
    """Return the library of bcc, and the programs, attached; nothing is booked yet.

    What clang says where they cannot be compiled, on standard output too, becomes one line.
    """
    try:
        from bcc import BPF, lib
    except ImportError:
        fail("bcc for Python 3 is not installed", "apt install python3-bpfcc")
    names = {f"-D{name.upper().replace('.', '_')}={place}" for place, name in enumerate(ACCOUNTS)}
    shared = "READ WRITE SENT RECEIVED CONNECTED ACCEPTED REPLACED THREADS"
    flags = [f"-DPID={pid}", *(f"-D{name}={globals()[name]}" for name in shared.split()), *sorted(names)]
    for group, event in re.findall(r"TRACEPOINT_PROBE\((\w+), (\w+)\)", PROGRAM):
        if not BPF.tracepoint_exists(group, event):
            fail(
                f"this kernel has no tracepoint {group}:{event}, or /sys/kernel/tracing is not mounted",
                "mount -t tracefs tracefs /sys/kernel/tracing",
            )
    with folder() as kernel, open(os.memfd_create("said"), "w+b") as said:
        for name, text in (HEADERS | dict.fromkeys(EMPTY.split(), "")).items():
            path = os.path.join(kernel, "include", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as header:
                header.write(text)
        os.environ["BCC_KERNEL_SOURCE"] = kernel
        own = {number: os.dup(number) for number in (1, 2)}
        for number in own:
            os.dup2(said.fileno(), number)
        try:
            return lib, BPF(text=PROGRAM, cflags=flags)
        except Exception as error:  # bcc raises nothing more special
            why = str(error)
        finally:
            ctypes.CDLL(None).fflush(None)
            for number, kept in own.items():
                os.dup2(kept, number)
                os.close(kept)
        said.seek(0)
        found = re.search(r"error: [^.\n]*", said.read().decode(errors="replace"))
    return fail(f"bcc cannot trace here: {found[0] if found else why}", "it needs what REQUIRES names")


def call_accounts(pid):
    """Return by number of the system call what a sleep in it is for."""
    from bcc.syscall import syscalls

    try:
        with open(f"/proc/{pid}/exe", "rb") as program:
            if program.read(5)[4:] != b"\2":
                return {}  # of 32 bits: its numbers are others
    except OSError:
        pass
    of_name = {name: ACCOUNTS.index(account) for account, names in CALLS.items() for name in names.split()}
    of_name |= dict.fromkeys(READS.split(), READ) | dict.fromkeys(WRITES.split(), WRITE)
    return {number: of_name[name.decode()] for number, name in syscalls.items() if name.decode() in of_name}


class Files:
    """What is behind the open files of a process, by number; looked at again and again, as numbers are used again."""

    def __init__(self, pid):
        self.pid = pid
        self.booked = {}  # by key of the map `files`: what is told already
        self.sums = {}  # by thread and account
        self.known = {}  # by number: what it was when it was last open
        self.sockets = {}  # by inode: which of the tables it is in, and whether it was accepted
        self.other = "socket"  # in none of them; "?": or they were too long
        self.fresh = False  # they were read in this look

    def look(self, table):
        """Tell what has come into the table since the last look."""
        self.know()
        for key, total in table.items():
            name = key.tid, key.number, key.write, key.said
            had = self.booked.get(name, (0, 0))
            if total.count != had[1]:
                account = self.account(key.number, key.write, key.said)
                sum_ = self.sums.setdefault(key.tid, {}).setdefault(account, [0, 0, 0])
                sum_[0] += total.ns - had[0]
                sum_[1] += total.count - had[1]
                sum_[2] = max(sum_[2], total.longest_ns)
                self.booked[name] = total.ns, total.count

    def know(self):
        """Remember what is open: who sleeps there until the process ends is asked about when nothing is."""
        self.fresh = False
        with contextlib.suppress(OSError):
            for number in map(int, os.listdir(f"/proc/{self.pid}/fd")):
                if number not in self.known:
                    self.kind(number)

    def account(self, number, write, said):
        """Return the account of a wait for a file."""
        kind, accepted = self.kind(number)
        if kind not in ("unix", "tcp", "socket", "?"):
            return {"pipe": "ipc.pipe", "anon_inode": "wait.events"}.get(kind, "kernel.other")
        accepted = not said & CONNECTED and (accepted or said & ACCEPTED)
        if kind == "unix":
            return "net.request" if accepted and not write and not said & RECEIVED else "ipc.unix"
        if write:
            return "net.send"
        # Who has heard something since he last said something may wait for more, or for work.
        if said & RECEIVED or (kind == "?" and not said & (CONNECTED | ACCEPTED)):
            return "wait.parked"
        if accepted:
            return "net.request"
        return "net.receive" if said & SENT else "wait.parked"

    def kind(self, number):
        """Return what a file is, and whether it is a connection that was accepted."""
        try:
            kind, _, inode = os.readlink(f"/proc/{self.pid}/fd/{number}").partition(":")
        except OSError:  # closed by now
            return self.known.get(number, ("file", False))
        if kind == "socket" and inode not in self.sockets and not self.fresh:
            self.read_sockets()
        found = self.sockets.setdefault(inode, (self.other, False)) if kind == "socket" else (kind, False)
        self.known[number] = found
        return found

    def read_sockets(self):
        """Read the tables of sockets, at most once for all files of a look."""
        self.sockets, self.fresh, self.other = {}, True, "socket"
        rows = [[line.split() for line in self.table(name)] for name in ("unix", "tcp", "tcp6")]
        # Accepted are those that have name or port of one that listens.
        listening = {row[7] for row in rows[0] if len(row) > 7 and int(row[3], 16) & 0x10000}
        for row in rows[0]:
            accepted = len(row) > 7 and row[7] in listening and not int(row[3], 16) & 0x10000
            self.sockets[f"[{row[6].decode()}]"] = "unix", accepted
        ports = {row[1].rpartition(b":")[2] for row in rows[1] + rows[2] if row[3] == b"0A"}
        for row in rows[1] + rows[2]:
            self.sockets[f"[{row[9].decode()}]"] = "tcp", row[1].rpartition(b":")[2] in ports

    def table(self, name):
        """Return the rows of a table of sockets, not all of a long one."""
        try:
            with open(f"/proc/{self.pid}/net/{name}", "rb") as table:
                rows = list(itertools.islice(table, 1, SOCKETS + 1))
        except OSError:
            return []
        if len(rows) == SOCKETS:
            self.other = "?"
        return rows


def meet_sleepers(lib, bpf, pid, accounts):
    """Begin the books of the threads that sleep now, and may sleep through the whole window."""
    table = bpf["threads"]
    try:
        names = os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        fail(f"process {pid} ended before anything was recorded", "ps -e shows what runs", 4)
    for name in names:
        try:
            with open(f"/proc/{pid}/task/{name}/stat", "rb") as stat:
                comm, _, rest = stat.read().partition(b"(")[2].rpartition(b")")
            with open(f"/proc/{pid}/task/{name}/syscall", encoding="ascii") as call:
                words = call.read().split()
        except OSError:
            continue
        if rest.split()[0] not in (b"S", b"D") or not words or words[0] == "running":
            continue
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        number = int(words[0])
        leaf = table.Leaf(since_ns=now, from_ns=now, known=1, tid=int(name), comm=comm[:15])
        leaf.off = OUTSIDE if number < 0 else IN_CALL
        if number >= 0:
            leaf.inside, leaf.file = 1 + number, int(words[1], 16) & 0xFFFFFFFF
            leaf.account = accounts.get(number, 0)
        # Not over what the programs know better: they run already.
        lib.bpf_update_elem(table.map_fd, ctypes.byref(table.Key(int(name))), ctypes.byref(leaf), 1)


def close_books(thread, files, end_ns):
    """Return what a thread did, by account, with what goes on booked so far."""
    sums = {}
    for place, name in enumerate(ACCOUNTS):
        sum_ = thread.sums[place]
        sums[name] = [sum_.ns, sum_.count, sum_.longest_ns]

    def book(account, ns, count=1, longest_ns=0):
        sums[account] = [sums[account][0] + ns, sums[account][1] + count, max(sums[account][2], longest_ns)]

    for account, sum_ in files.sums.get(thread.tid, {}).items():
        book(account, *sum_)
    if not thread.known:
        asleep = "unexplained"
    elif thread.account in (READ, WRITE):
        asleep = files.account(thread.file, thread.account == WRITE, thread.said)
    else:
        asleep = ACCOUNTS[thread.account] if thread.account else "kernel.other"
    if thread.untold.count:
        book(asleep, thread.untold.ns, thread.untold.count, thread.untold.longest_ns)
    since, ended = thread.since_ns, thread.ended_ns or end_ns
    if thread.ended_ns or since > ended:
        return sums
    if thread.off == RUNNING:
        book("cpu.kernel" if thread.inside else "cpu.user", ended - since)
        return sums
    ready = since if thread.off == READY else thread.woken_ns if since < thread.woken_ns < ended else ended
    if thread.off != READY:
        account = {STOPPED: "wait.stopped", OUTSIDE: "unexplained"}.get(thread.off, asleep)
        book(account, ready - since, 1, ready - since)
    book("runq.busy", ended - ready, 1 if ended > ready else 0, ended - ready)
    return sums


def write_line(text, comm=None):
    """Print a line; a name is its last field, and nothing in that is escaped: perfdiag-recording(5), SCRIPTS."""
    name = b"" if comm is None else b',"comm":"' + bytes(byte if byte >= 32 else 63 for byte in comm) + b'"'
    sys.stdout.buffer.write(text.encode() + name + b"}\n")


def write_header(pid, seconds, start_ns):
    """Print the first line."""
    realtime_ns = time.time_ns() - (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - start_ns)
    accounts = ",".join(f'"{name}"' for name in ACCOUNTS)
    write_line(
        '{"type":"header","schema":1,"perfdiag":"ledger.py","engine":"bcc",'
        f'"realtime_ns":{realtime_ns},"start_ns":{start_ns},'
        f'"options":{{"duration_ns":{seconds * 10**9},"interval_ns":0,"descendants":false,"stacks":"none"}},'
        f'"targets":[{{"pid":{pid},"namespace_pid":{pid}}}],"accounts":[{accounts}]'
    )
    sys.stdout.flush()


def write_threads(bpf, pid, files, start_ns, end_ns):
    """Print a line for each thread, and return how many there are."""
    threads = sorted(bpf["threads"].items(), key=lambda item: item[0].value)
    for serial, (key, thread) in enumerate(threads, 1):
        tid = pid if key.value & REPLACED else key.value
        sums = close_books(thread, files, end_ns)
        wall_ns = max(0, (thread.ended_ns or max(end_ns, thread.since_ns)) - thread.from_ns)
        told = [[place, *sums[name]] for place, name in enumerate(ACCOUNTS) if sums[name][0]]
        write_line(
            f'{{"type":"thread","at_ns":{end_ns},"serial":{serial},"pid":{pid},"tid":{tid},'
            f'"namespace_tid":{tid},"state":"{"exited" if thread.ended_ns else "alive"}",'
            f'"start_ns":{max(start_ns, thread.from_ns)},"wall_ns":{wall_ns},"user_ns":{sums["cpu.user"][0]},'
            f'"kernel_ns":{sums["cpu.kernel"][0]},"accounts":{str(told).replace(" ", "")}',
            thread.comm,
        )
    return len(threads)


def wait(pidfd, seconds, look):
    """Return why the window ends; meanwhile look once a second, or less often where that takes long."""
    end = time.monotonic() + seconds if seconds else float("inf")
    took = 0.0
    while True:
        left = end - time.monotonic()
        if left <= 0:
            return "duration"
        if signal.sigtimedwait((signal.SIGINT, signal.SIGTERM), min(max(1.0, 10 * took), left)):
            return "signal"
        if select.select([pidfd], [], [], 0)[0]:
            return "targets gone"
        begin = time.monotonic()
        if end - begin > 2 * took:
            look()
            took = time.monotonic() - begin


def main():
    """Record a process."""
    if not sys.stdout:
        fail("standard output is closed", "it is for the recording: ledger.py PID >FILE")
    pid, seconds = arguments()
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        fail(f"there is no process {pid}", "ps -e shows what runs", 4)
    lib, bpf = compiled(pid)
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    accounts = call_accounts(pid)
    for number, account in accounts.items():
        bpf["calls"][ctypes.c_int(number)] = ctypes.c_uint(account)
    files = Files(pid)
    files.know()
    start_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    bpf["begun"][ctypes.c_int(0)] = ctypes.c_ulonglong(1)
    meet_sleepers(lib, bpf, pid, accounts)
    write_header(pid, seconds, start_ns)
    reason = wait(pidfd, seconds, lambda: files.look(bpf["files"]))
    bpf["begun"][ctypes.c_int(0)] = ctypes.c_ulonglong(0)
    end_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    files.look(bpf["files"])
    seen = write_threads(bpf, pid, files, start_ns, end_ns)
    failed, cpu_ns = bpf["failed"][ctypes.c_int(0)].value, time.process_time_ns()
    write_line(
        f'{{"type":"footer","at_ns":{end_ns},"threads_seen":{seen},"reason":"{reason}",'
        f'"lost":{{"storage_failed":{failed}}},"cost":{{"cpu_ns":{cpu_ns},"programs":[]}}'
    )
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main()
    except OSError as error:  # if it is of the output, what is left of that is not for Python to write
        print(f"error: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(1)
