#!/usr/bin/python3 -I
# SPDX-License-Identifier: GPL-2.0-only
#
# wakerchain.py - Which threads wake sleeping threads, and which had to be woken for that?
#
# A thread that waits is woken by what it waits for: a peer, the holder of a lock, a device, a timer. What
# the waker itself waited for meanwhile is often the cause. The chain is followed to its end.
#
# Why bcc: wakerchain.bt follows two links, and cannot tell whether the second one came in time. Here up to six are
# followed, as C has arrays and loops, and a link counts only if it came while the sleep lasted: who was not woken
# meanwhile, ran, and is the end of the chain. Rows are sorted and say how much of all sleep they are.
#
# USAGE
#   wakerchain.py [PID [SECONDS]]
#   PID      the process whose threads are traced; without it, or 0: all threads of the host
#   SECONDS  how long to trace; without it: until Ctrl-C
#
# REQUIRES
#   bcc for Python 3 (Debian: python3-bpfcc), root, Linux 5.8; neither BTF nor kernel headers; tracepoints sched_switch,
#   sched_waking, sched_process_exit, hrtimer_expire_entry and _exit, softirq_entry and _exit, irq_handler_entry and
#   _exit.
#
# FIELDS
#   COUNT     sleeps that ended
#   SLEPT_ms  sum of their lengths until the wake-up, in milliseconds: the rows are sorted by that
#   SHARE     of all sleep that ended, in percent
#   CHAIN     who slept, then who woke it, then who had woken that one meanwhile, and so on, each with its thread id.
#             (timer), (interrupt) and (softirq) are no threads, and end it
#   lost      sleeps that are in no row, because more threads slept or more chains were there than there is room for
#
# EXAMPLE
#   # wakerchain.py 28251
#   Tracing wake-ups. Ctrl-C ends.
#      COUNT    SLEPT_ms  SHARE  CHAIN
#         23     468.410   99.9  chain <- chain/28257 <- chain/28258 <- chain/28259 <- chain/28260 <- (timer)
#          1       0.209    0.0  chain <- chain/28258
#          1       0.193    0.0  chain <- chain/28257
#   lost: 0
#
#   The traced thread slept 0.47 s, nearly all of it in one chain: 28257 woke it 23 times, but had to be woken by 28258
#   itself, and so on to 28260, which slept for a timer. That thread is where the time went: it sleeps on purpose.
#
# OVERHEAD
#   Attaches in 0.3 s and takes 123 MiB. Adds 1.4 us to each round trip between two processes on a CPU, which then
#   takes 1.27 times as long (1.22 to 1.30). Measured with bcc 0.26.0 on Linux 6.18.44-fc-v595 and 2 CPUs by make bench
#   ARGS=tools.
#
# CAVEATS
#   Packets, also those over loopback, are received in a softirq, which is named instead of the sender.
#   A chain has at most six links. Threads that sleep are one row if they have the same name and chain.
#   A sleep that began before the start is not counted. Time from the wake-up until a thread runs is runqlat.bt's.
#   There is room for 10,240 threads that sleep, and as many chains; names are kept of the last 16,384 wakers, of others
#   only the thread id is shown.
#
# SEE ALSO
#   perfdiag-latency(8): IPC-PEER-SLOW LOCK-CONTENTION WAIT-THREAD-IN-REQUEST WAIT-TIMER-IN-REQUEST
"""Adds up sleeps by who ended them, and who had ended those of the wakers meanwhile."""

import _signal

if __name__ == "__main__":
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # until there is something to show, Ctrl-C just ends

import argparse
import collections
import contextlib
import ctypes
import math
import os
import re
import signal
import sys
import tempfile
import time

NAME = "wakerchain.py"

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
    "asm/page.h": "#define PAGE_SIZE 4096\n",
    "uapi/linux/ptrace.h": """#pragma once
#if defined(__aarch64__)
struct user_pt_regs { __u64 regs[31], sp, pc, pstate; };
#define pt_regs user_pt_regs
#else
struct pt_regs { unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags,
	sp, ss; };
#endif
""",
    "uapi/linux/bpf.h": "#include <linux/types.h>\n#include <bcc/bpf.h>\n",
}
EMPTY = "linux/bpf_common.h linux/log2.h uapi/linux/if_ether.h uapi/linux/if_packet.h"

PROGRAM = r"""
#define LINKS 6
#define TIMER 0xffffffff // no thread has such ids
#define INTERRUPT 0xfffffffe
#define SOFTIRQ 0xfffffffd

struct comm {
	char text[16];
};
struct wakers { // of a thread: who woke it last and when, who had woken that one last, ...
	u64 ns[LINKS];
	u32 tid[LINKS];
};
struct chain {
	struct comm sleeper;
	u32 waker[LINKS];
};
struct slept {
	u64 count, ns;
};
struct context { // of a CPU: what runs there instead of its thread
	u8 timer, interrupt, softirq;
};
BPF_HASH(asleep, u32, u64);
BPF_TABLE("lru_hash", u32, struct wakers, woken, 16384);
BPF_TABLE("lru_hash", u32, struct comm, names, 16384);
BPF_HASH(slept, struct chain, struct slept);
BPF_PERCPU_ARRAY(contexts, struct context, 1);
BPF_ARRAY(lost, u64, 1);

// While one of these runs on a CPU, the thread there is not the one that wakes.
static int note(int timer, int interrupt, int softirq) // -1: as it was
{
	int zero = 0;
	struct context *at = contexts.lookup(&zero);

	if (at && timer >= 0)
		at->timer = timer;
	if (at && interrupt >= 0)
		at->interrupt = interrupt;
	if (at && softirq >= 0)
		at->softirq = softirq;
	return 0;
}

TRACEPOINT_PROBE(timer, hrtimer_expire_entry) { return note(1, -1, -1); }
TRACEPOINT_PROBE(timer, hrtimer_expire_exit) { return note(0, -1, -1); }
TRACEPOINT_PROBE(irq, irq_handler_entry) { return note(-1, 1, -1); }
TRACEPOINT_PROBE(irq, irq_handler_exit) { return note(-1, 0, -1); }
TRACEPOINT_PROBE(irq, softirq_entry) { return note(-1, -1, args->vec + 1); }
TRACEPOINT_PROBE(irq, softirq_exit) { return note(-1, -1, 0); }

TRACEPOINT_PROBE(sched, sched_switch)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32, tid = args->prev_pid;
	u64 now = bpf_ktime_get_ns();

	// It sleeps, unless it could go on (0) or has ended (0x30).
	if ((args->prev_state & 0xcf) && (TRACED == 0 || TRACED == pid) && asleep.update(&tid, &now))
		lost.increment(0);
	return 0;
}

static u32 waker(void)
{
	u32 tid = bpf_get_current_pid_tgid();
	int zero = 0;
	struct context *at = contexts.lookup(&zero);
	struct comm comm;

	if (at && (at->timer || at->softirq == 2)) // the softirq of timers, as those of TCP
		return TIMER;
	if (at && at->interrupt)
		return INTERRUPT;
	if (at && at->softirq)
		return SOFTIRQ;
	if (!names.lookup(&tid)) {
		bpf_get_current_comm(&comm, sizeof(comm));
		names.update(&tid, &comm);
	}
	return tid;
}

TRACEPOINT_PROBE(sched, sched_waking)
{
	u32 tid = args->pid;
	struct wakers new = { .ns = { bpf_ktime_get_ns() }, .tid = { waker() } };
	struct wakers *before = woken.lookup(&new.tid[0]);
	u64 *since = asleep.lookup(&tid);
	struct chain chain = { .waker = { new.tid[0] } };
	struct slept none = {}, *sum;
	int link;

	if (before) {
		for (link = 1; link < LINKS; link++) {
			new.ns[link] = before->ns[link - 1];
			new.tid[link] = before->tid[link - 1];
		}
	}
	woken.update(&tid, &new);
	if (!since)
		return 0;
	for (link = 1; link < LINKS && new.ns[link] > *since; link++)
		chain.waker[link] = new.tid[link];
	bpf_probe_read_kernel_str(chain.sleeper.text, sizeof(chain.sleeper.text), args->comm);
	sum = slept.lookup_or_try_init(&chain, &none);
	if (sum) {
		__sync_fetch_and_add(&sum->count, 1);
		__sync_fetch_and_add(&sum->ns, new.ns[0] - *since);
	} else {
		lost.increment(0);
	}
	asleep.delete(&tid);
	return 0;
}

TRACEPOINT_PROBE(sched, sched_process_exit)
{
	u32 tid = bpf_get_current_pid_tgid();

	woken.delete(&tid);
	asleep.delete(&tid);
	return 0;
}
"""
TRACEPOINTS = re.findall(r"TRACEPOINT_PROBE\((\w+), (\w+)\)", PROGRAM)
NO_THREADS = {0xFFFFFFFF: "(timer)", 0xFFFFFFFE: "(interrupt)", 0xFFFFFFFD: "(softirq)"}


def refuse(reason, status=1):
    print(f"{NAME}: {reason}", file=sys.stderr)
    sys.exit(status)


def number(word):
    if not re.fullmatch(r"[0-9]{1,9}", word):
        raise argparse.ArgumentTypeError(f"{word!r} is no number")
    return int(word)


def arguments():
    parser = argparse.ArgumentParser(prog=NAME, description=__doc__)
    parser.add_argument("pid", metavar="PID", type=number, nargs="?", default=0)
    parser.add_argument("seconds", metavar="SECONDS", type=number, nargs="?")
    parser.error = lambda message: refuse(f"{message}: {NAME} [PID [SECONDS]]", 2)
    return parser.parse_args()


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


def compiled(bcc, text):
    """Compile; what is said where that fails, on standard output too, becomes one line."""
    with folder() as kernel, open(os.memfd_create("said"), "w+b") as said:
        for name, content in (HEADERS | dict.fromkeys(EMPTY.split(), "")).items():
            path = os.path.join(kernel, "include", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as header:
                header.write(content)
        os.environ["BCC_KERNEL_SOURCE"] = kernel
        own = {number: os.dup(number) for number in (1, 2)}
        for number in own:
            os.dup2(said.fileno(), number)
        try:
            programs = bcc.BPF(text=text)
            programs.load_funcs(bcc.BPF.KPROBE)
            return programs
        except Exception as error:  # bcc raises nothing more special
            why = str(error)
        finally:
            ctypes.CDLL(None).fflush(None)
            for number, kept in own.items():
                os.dup2(kept, number)
                os.close(kept)
        said.seek(0)
        found = re.search(r"error: [^.\n]*", said.read().decode(errors="replace"))
    return refuse(f"bcc cannot trace here: {found[0] if found else why}")


def printable(name):
    """Return a name that a process has given itself."""
    return re.sub(r"[^!-~]", "?", name.text.decode(errors="replace"))


def show(programs):
    """Print a row for each chain of names and thread ids."""
    names = {tid.value: f"{printable(name)}/{tid.value}" for tid, name in programs["names"].items()} | NO_THREADS
    rows = collections.defaultdict(lambda: [0, 0])
    for chain, slept in programs["slept"].items():
        wakers = [names.get(tid, f"?/{tid}") for tid in chain.waker if tid]
        row = rows[" <- ".join([printable(chain.sleeper), *wakers])]
        row[0] += slept.count
        row[1] += slept.ns
    whole_ns = sum(ns for _, ns in rows.values())
    print(f"{'COUNT':>8} {'SLEPT_ms':>11} {'SHARE':>6}  CHAIN")
    for chain, (count, ns) in sorted(rows.items(), key=lambda row: -row[1][1]):
        print(f"{count:>8} {ns / 1e6:>11.3f} {100 * ns / whole_ns:>6.1f}  {chain}")
    print(f"lost: {programs['lost'][0].value}")


def main():
    if not sys.stdout:
        refuse("standard output is closed")
    given = arguments()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if os.geteuid() != 0:
        refuse("needs root", 3)
    if given.pid and not os.path.exists(f"/proc/{given.pid}/task/{given.pid}"):
        refuse(f"there is no process {given.pid}", 4)
    try:
        import bcc
    except ImportError:
        refuse("needs bcc for Python 3: apt install python3-bpfcc")
    for group, event in TRACEPOINTS:
        if not bcc.BPF.tracepoint_exists(group, event):
            refuse(f"this kernel has no tracepoint {group}:{event}, or /sys/kernel/tracing is not mounted")
    programs = compiled(bcc, f"#define TRACED {given.pid}\n{PROGRAM}")
    ending = []
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda *_: ending.append(True))
    print("Tracing wake-ups. Ctrl-C ends.", flush=True)
    end = time.monotonic() + (given.seconds or math.inf)
    while not ending and time.monotonic() < end:
        time.sleep(0.1)
    show(programs)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:  # if it is of the output, what is left of that is not for Python to write
        print(f"{NAME}: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(1)
