#!/usr/bin/python3 -I
# SPDX-License-Identifier: GPL-2.0-only
#
# sqlq.py - Which statements of a PostgreSQL, MariaDB or MySQL server are slow?
#
# From when a session has a statement until it is ready for the next: parsing, planning, locks, input and output.
#
# Why bcc: sqlq.bt and sqlqmaria.bt can only cut a statement off at its first literal, as literals are secrets. Here
# each is read as a whole and its literals are replaced, so what differs behind them stands in rows of its own. Rows are
# sorted and have percentiles, which tell more than a mean. PostgreSQL needs no USDT probes.
#
# USAGE
#   sqlq.py PID [SECONDS]
#   PID      the first process of the server: all its sessions; or the process of a session of PostgreSQL: that one
#   SECONDS  how long to trace; without it: until Ctrl-C
#
# REQUIRES
#   bcc for Python 3 (Debian: python3-bpfcc), root, Linux 5.8; neither BTF nor kernel headers; tracepoints
#   sched_process_fork and sched_process_exit; a server that exports pgstat_report_activity(), or dispatch_command() and
#   general_log_write(), as those of Debian do. Tested with PostgreSQL 15 and MariaDB 10.11, tried with MySQL 9.7.
#
# FIELDS
#   COUNT      statements that ended
#   TOTAL_ms   sum of their lengths in milliseconds: the rows are sorted by that
#   MEDIAN_ms  half of them took no longer, within 3 %
#   P99_ms     99 of 100 took no longer, within 3 %
#   MAX_ms     the longest one, in milliseconds
#   STATEMENT  its text, with ? for each literal and ... for what was left out
#   lost       statements that came faster than they could be read: they are in no row
#
# EXAMPLE
#   # sqlq.py 21961
#   Tracing statements of MariaDB. Ctrl-C ends.
#      COUNT    TOTAL_ms  MEDIAN_ms     P99_ms     MAX_ms  STATEMENT
#         20    1033.759     50.389     56.914     56.914  SELECT SLEEP(?), ? AS `x`
#        200       5.927      0.007      0.032      2.619  DO ?, SHA2(?, ...)
#        200       3.905      0.015      0.041      1.352  DO ? + ?, SHA2(?, ...)
#        200       3.419      0.007      0.246      0.998  DO ?, (SELECT ?)
#   lost: 0
#
#   Nearly all of the time went into the statement of the first row, which took 50 ms each time. The other three differ
#   only behind their first literal and have rows of their own; the longest took 2.6 ms, hundreds of times the usual.
#
# OVERHEAD
#   Attaches in 0.5 s and takes 132 MiB. Adds 7.5 us to each statement that does nothing, which then takes 1.41 times
#   as long (1.27 to 1.57). Measured with bcc 0.26.0 on Linux 6.18.44-fc-v595 and 2 CPUs by make bench ARGS=tools.
#
# CAVEATS
#   Of a statement 383 bytes are read. It ends with ... where it is longer, and where dialects differ on what is a
#   literal: a backslash in quotes, a comment that begins with #, is code (/*! */) or stands inside another. A value
#   without quotes (SET x = y) is shown. Kinds beyond 4000 share a row.
#   PostgreSQL: what a client sends at once (several statements, or to parse, bind and execute) counts as one: the last
#   is named. MariaDB, MySQL: likewise; to prepare a statement does not count, each time that it is run does.
#   A statement that has not ended is missing: pg_stat_activity and SHOW PROCESSLIST show it.
#
# SEE ALSO
#   perfdiag-latency(8): DISK-FLUSH-SLOW LOCK-CONTENTION SLO-BREACH
"""Times statements with uprobes in the server, and adds them up by what they are without their literals."""

import _signal

if __name__ == "__main__":
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # until there is something to show, Ctrl-C just ends

import argparse
import collections
import contextlib
import ctypes
import functools
import math
import os
import re
import signal
import sys
import tempfile
import time

NAME = "sqlq.py"

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
#include <uapi/linux/ptrace.h>

struct statement {
	u64 ns; // when it began, then how long it took
	char text[384];
};
BPF_HASH(traced, u32, u8, 65536);
BPF_HASH(running, u32, struct statement);
BPF_RINGBUF_OUTPUT(ended, 1024);
BPF_ARRAY(lost, u64, 1);

static u8 *is_traced(void)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;

	return traced.lookup(&pid);
}

static void begin(const char *text)
{
	struct statement statement = { .ns = bpf_ktime_get_ns() };
	u32 tid = bpf_get_current_pid_tgid();

	if (text)
		bpf_probe_read_user_str(statement.text, sizeof(statement.text), text);
	if (running.update(&tid, &statement))
		lost.increment(0);
}

static void end(void)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct statement *statement = running.lookup(&tid);

	if (!statement)
		return;
	statement->ns = bpf_ktime_get_ns() - statement->ns;
	if (ended.ringbuf_output(statement, sizeof(*statement), BPF_RB_NO_WAKEUP))
		lost.increment(0);
	running.delete(&tid);
}

// PostgreSQL: pgstat_report_activity(state, text): the text of a statement, or nothing when it is done.
int on_activity(struct pt_regs *ctx)
{
	u32 tid = bpf_get_current_pid_tgid();
	const char *text = (void *)PT_REGS_PARM2(ctx);
	struct statement *before = running.lookup(&tid);

	if (!is_traced())
		return 0;
	if (!text)
		end();
	else if (before)
		bpf_probe_read_user_str(before->text, sizeof(before->text), text);
	else
		begin(text);
	return 0;
}

// MariaDB: dispatch_command(command, session, text, ...). MySQL: (session, text, command).
int on_command(struct pt_regs *ctx)
{
	u8 command = COMMAND(ctx);

	if (is_traced() && (command == 3 || command == 23)) // COM_QUERY, COM_STMT_EXECUTE
		begin(0);
	return 0;
}

// general_log_write(session, command, text, length); of MySQL it is the method of an object, which comes first.
int on_text(struct pt_regs *ctx)
{
	u8 command = LOGGED_COMMAND(ctx);
	u32 tid = bpf_get_current_pid_tgid();
	struct statement *statement = running.lookup(&tid);

	// What a procedure runs inside is logged, too: the first text counts. A prepared one is named when it has run.
	if (is_traced() && statement && (command == 23 || (command == 3 && !statement->text[0])))
		bpf_probe_read_user_str(statement->text, sizeof(statement->text), (void *)LOGGED_TEXT(ctx));
	return 0;
}

int on_return(struct pt_regs *ctx)
{
	if (is_traced())
		end();
	return 0;
}

TRACEPOINT_PROBE(sched, sched_process_fork)
{
	u32 parent = bpf_get_current_pid_tgid() >> 32, child = args->child_pid;
	u8 yes = 1;

	if (parent == SERVER)
		traced.update(&child, &yes);
	return 0;
}

TRACEPOINT_PROBE(sched, sched_process_exit)
{
	u32 tid = bpf_get_current_pid_tgid();

	running.delete(&tid);
	if (tid != SERVER)
		traced.delete(&tid);
	return 0;
}
"""

# For each server: where the arguments stand, what is probed at its beginning, and what at its end.
ASKED = {
    "MariaDB": "^_Z16dispatch_command19enum_server_commandP3THDPcj[bj]*b$",
    "MySQL": "^_Z16dispatch_commandP3THDPK8COM_DATA19enum_server_command$",
}
LOGGED = {"MariaDB": "^_Z17general_log_write.*PKcm$", "MySQL": "^_ZN12Query_logger17general_log_write.*PKcm$"}
SERVERS = {
    "PostgreSQL": ((1, 1, 1), {"^pgstat_report_activity$": "on_activity"}, {}),
    "MariaDB": (
        (1, 2, 3),
        {ASKED["MariaDB"]: "on_command", LOGGED["MariaDB"]: "on_text"},
        {ASKED["MariaDB"]: "on_return"},
    ),
    "MySQL": ((3, 3, 4), {ASKED["MySQL"]: "on_command", LOGGED["MySQL"]: "on_text"}, {ASKED["MySQL"]: "on_return"}),
}
TRACEPOINTS = ("sched_process_fork", "sched_process_exit")


# What a statement consists of; the first thing that is none of these, or cut off, ends what is shown of it.
NUMBER = r"\.?\d[\w.]*"
PLAIN = r"[^\W\d][\w$]* | \$\d+ | -(?!-) | /(?!\*) | [+*=<>(),.;:!%&|^~?@\[\]{}]"
DIALECTS = {
    # Text in quotes, and names in quotes; a backslash may make the quote behind it part of the text. Then comments:
    # some are code for MariaDB, and PostgreSQL also ends one at a carriage return.
    "PostgreSQL": (
        r"('[^'\\]*')+ | \$(?P<tag>([^\W\d]\w*)?)\$.*?\$(?P=tag)\$",
        r'("[^"]*")+',
        r"/\*((?!/\*|\*/).)*\*/ | --(?=[ \t-\r])[^\n\r]*",
    ),
    "MariaDB": (
        r"""('[^'\\]*')+ | ("[^"\\]*")+""",
        r"(`([^`]*[\x00-\x5f\x61-\x7f])?`)+",
        r"/\*(?![!M+])((?!/\*|\*/).)*\*/ | --(?=[ \t-\r])[^\n]*",
    ),
}
LISTS = ((re.compile(r"\?(, ?\?)+"), "?, ..."), (re.compile(r"(\([^()]*\))(, ?\1)+"), r"\1, ..."))
MOST_BYTES = 383  # of a statement, as in PROGRAM
MOST_KINDS = 4000
FINER = math.log(1.03)  # lengths are kept within 3 %


@functools.lru_cache(10_000)
def without_literals(text, server):
    """Return a statement with ? for each literal; what may be one, or is not understood, is left out."""
    quoted, name, comment = DIALECTS.get(server, DIALECTS["MariaDB"])
    token = f"(?P<blank>([ \\t-\\r]|{comment})+)|(?P<literal>{quoted}|{NUMBER})|(?P<plain>{name}|{PLAIN})"
    shown, at = [], 0
    while at < len(text):
        match = re.compile(token, re.DOTALL | re.VERBOSE).match(text, at)
        if not match:
            shown.append("...")
            break
        shown.append({"blank": " ", "literal": "?"}.get(match.lastgroup) or match["plain"])
        at = match.end()
    shown = "".join(shown).strip()
    for pattern, instead in LISTS:
        shown = pattern.sub(instead, shown)
    return shown


class Kind:
    """Statements that are alike but for their literals."""

    def __init__(self):
        self.lengths, self.total_ns, self.longest_ns = collections.Counter(), 0, 0

    def add(self, ns):
        self.lengths[int(math.log(max(ns, 1)) / FINER)] += 1
        self.total_ns += ns
        self.longest_ns = max(self.longest_ns, ns)

    def most_ms(self, share):
        """Return what a share of them was done in."""
        left = share * self.lengths.total()
        for length in sorted(self.lengths):
            left -= self.lengths[length]
            if left <= 0:
                return min(math.exp((length + 1) * FINER), self.longest_ns) / 1e6


def refuse(reason, status=1):
    print(f"{NAME}: {reason}", file=sys.stderr)
    sys.exit(status)


def number(word):
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", word):
        raise argparse.ArgumentTypeError(f"{word!r} is no number above 0")
    return int(word)


def arguments():
    parser = argparse.ArgumentParser(prog=NAME, description=__doc__)
    parser.add_argument("pid", metavar="PID", type=number)
    parser.add_argument("seconds", metavar="SECONDS", type=number, nargs="?")
    parser.error = lambda message: refuse(f"{message}: {NAME} PID [SECONDS]", 2)
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


def attach(bcc, pid):
    """Trace the sessions of a server, and return the programs and what server it is."""
    path = f"/proc/{pid}/exe"
    functions = functools.partial(bcc.BPF.get_user_functions, path)
    found = (name for name, (_, begins, ends) in SERVERS.items() if all(map(functions, (*begins, *ends))))
    server = next(found, None) or refuse(f"process {pid} is no PostgreSQL, MariaDB or MySQL that exports its functions")
    for event in TRACEPOINTS:
        if not bcc.BPF.tracepoint_exists("sched", event):
            refuse(f"this kernel has no tracepoint sched:{event}, or /sys/kernel/tracing is not mounted")
    (command, logged, text), begins, ends = SERVERS[server]
    places = {"COMMAND": command, "LOGGED_COMMAND": logged, "LOGGED_TEXT": text}
    given = "".join(f"#define {name} PT_REGS_PARM{place}\n" for name, place in places.items())
    programs = compiled(bcc, f"#define SERVER {pid}\n{given}{PROGRAM}")
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        for one in [str(pid), *children.read().split()]:
            programs["traced"][ctypes.c_uint32(int(one))] = ctypes.c_uint8(1)
    for probed, function in begins.items():
        programs.attach_uprobe(name=path, sym_re=probed, fn_name=function)
    for probed, function in ends.items():
        programs.attach_uretprobe(name=path, sym_re=probed, fn_name=function)
    return programs, server


def printable(text):
    """Return a text that a client chose, quoted names with any bytes in it, as a terminal can show it on one line."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def show(kinds, lost):
    print(f"{'COUNT':>8} {'TOTAL_ms':>11} {'MEDIAN_ms':>10} {'P99_ms':>10} {'MAX_ms':>10}  STATEMENT")
    for text, kind in sorted(kinds.items(), key=lambda row: -row[1].total_ns):
        times = f"{kind.most_ms(0.5):>10.3f} {kind.most_ms(0.99):>10.3f} {kind.longest_ns / 1e6:>10.3f}"
        print(f"{kind.lengths.total():>8} {kind.total_ns / 1e6:>11.3f} {times}  {printable(text)}")
    print(f"lost: {lost}")


def main():
    if not sys.stdout:
        refuse("standard output is closed")
    given = arguments()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if os.geteuid() != 0:
        refuse("needs root", 3)
    if not os.path.exists(f"/proc/{given.pid}/exe"):
        refuse(f"there is no process {given.pid}", 4)
    try:
        import bcc
    except ImportError:
        refuse("needs bcc for Python 3: apt install python3-bpfcc")
    try:
        programs, server = attach(bcc, given.pid)
    except Exception:  # bcc raises nothing more special
        if os.path.exists(f"/proc/{given.pid}/exe"):
            raise
        refuse(f"process {given.pid} ended before it was traced", 4)
    ending = []
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda *_: ending.append(True))
    kinds = collections.defaultdict(Kind)

    def on_end(_, data, size):
        statement = programs["ended"].event(data)
        text = without_literals(statement.text.decode(errors="replace"), server)
        text += "..." if len(statement.text) == MOST_BYTES and not text.endswith("...") else ""
        kinds[text if text in kinds or len(kinds) < MOST_KINDS else "..."].add(statement.ns)

    programs["ended"].open_ring_buffer(on_end)
    print(f"Tracing statements of {server}. Ctrl-C ends.", flush=True)
    end = time.monotonic() + (given.seconds or math.inf)
    while not ending and time.monotonic() < end:
        time.sleep(0.1)
        programs.ring_buffer_consume()
    programs.ring_buffer_consume()
    show(kinds, programs["lost"][0].value)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:  # if it is of the output, what is left of that is not for Python to write
        print(f"{NAME}: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(1)
