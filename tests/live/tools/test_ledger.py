"""ledger.bt: its recording closes its books, and books what perfdiag's own recorder books, account by account."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from perfdiag.recording import reader, schema

from live.support.bpftrace import Seen
from live.support.fixtures import Attach, Cleanup, Start, Trace
from live.support.host import slow_disk
from live.support.workload import Workload

APART = 0.05  # of the time of all threads
SHARED_CPU = max(os.sched_getaffinity(0))
ALIKE = {"cpu.user": "cpu", "cpu.kernel": "cpu", "cpu.irq": "cpu"} | dict.fromkeys(["disk.write", "disk.flush"], "disk")
NOT_TOLD = ("kernel.other", "unexplained")  # where the script puts what it cannot tell


def recorded(seen: Seen) -> reader.Recording:
    """Return what a script has recorded, whole and lawful."""
    recording = reader.read(io.BytesIO(seen.text.encode()))
    assert recording.footer and not recording.problems, recording.problems
    assert recording.footer.lost == {"storage_failed": 0}
    for thread in recording.threads.values():
        booked_ns = sum(each.sum_ns for each in thread.accounts)
        assert booked_ns == pytest.approx(thread.wall_ns, rel=0.01, abs=1_000_000), seen.text
    return recording


def parts(rows: Iterable[schema.Thread], known: Iterable[str], unseen_ns: int = 0) -> Counter[str]:
    """Return which part of the threads' time each account has; what the script cannot tell apart is one of them.

    A write with O_SYNC is disk.write to it, so the two are held against the recorder's together.  It does not see a
    thread that waits at its start, for somebody to say go; the recorder does, for `unseen_ns`.
    """
    found: Counter[str] = Counter()
    wall_ns = 0
    for row in rows:
        wall_ns += row.wall_ns
        for each in row.accounts:
            name = ALIKE.get(each.account, each.account)
            found[name if name in {*known, *ALIKE.values()} - {*NOT_TOLD} else "not told"] += each.sum_ns
    unseen_ns = min(unseen_ns, found["wait.events"])
    found["wait.events"] -= unseen_ns
    wall_ns -= unseen_ns
    return Counter({name: ns / wall_ns for name, ns in found.items()})


def compare(workload: Workload, attach: Attach, trace: Trace, *, example: bool = False) -> Counter[str]:
    """Let both record a workload; return the parts of the script, which are those of the recorder."""
    script = trace("ledger", workload)
    recorder = attach(workload)  # the last to begin: its window is hardly longer than the work
    workload.run()
    theirs = recorder.wait("targets gone")
    seen = script.stop(example=example)
    ours = recorded(seen)
    by_tid = {row.tid: row for row in ours.threads.values()}
    both = [row for row in theirs.threads if row.tid in by_tid]
    assert both, "no thread was seen by both"
    known = ours.header.accounts
    unseen_ns = sum(max(0, by_tid[row.tid].start_ns - row.start_ns) for row in both)
    told, right = parts([by_tid[row.tid] for row in both], known), parts(both, known, unseen_ns)
    for name in told | right:
        assert told[name] == pytest.approx(right[name], abs=APART), f"{name}: {told} where there are {right}"
    return told


def test_locks_and_sleeps(start: Start, attach: Attach, trace: Trace) -> None:
    told = compare(start("lock", "--duration-ms", 2000), attach, trace, example=True)
    assert told["wait.parked"] > 0.3 and told["wait.timer"] > 0.1, told


def test_threads_share_a_cpu(start: Start, attach: Attach, trace: Trace) -> None:
    told = compare(start("spin", "--threads", 4, "--cpu", SHARED_CPU, "--duration-ms", 2000), attach, trace)
    assert told["runq.busy"] > 0.4 and told["cpu"] > 0, told  # how much depends on who else runs


def test_waits_for_another_process(start: Start, attach: Attach, trace: Trace) -> None:
    """At a pipe, which the script cannot tell from what else a read may wait for."""
    told = compare(start("pingpong", "--think-us", 5000, "--count", 201), attach, trace)
    assert told["not told"] > 0.8, told


@pytest.mark.parametrize("mode", ["fsync", "O_SYNC"])
def test_a_slow_disk(mode: str, tmp_path: Path, cleanup: Cleanup, start: Start, attach: Attach, trace: Trace) -> None:
    """A write that waits for the disk is known by the request that its thread has sent."""
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", flush_us=20_000))
    flush = start("flush", "--mode", mode, "--count", 23, "--file", disk.mountpoint / "data")
    told = compare(flush, attach, trace)
    assert told["disk"] > 0.8, told


def test_a_name_that_is_no_json(trace: Trace) -> None:
    """Names are not escaped by the script, and yet whole."""
    name = 'a"b\\c,"d":1]'
    pid = os.fork()
    if pid == 0:
        Path("/proc/self/comm").write_text(name)
        while True:
            time.sleep(0.001)
    try:
        (thread,) = recorded(trace("ledger", pid).stop()).threads.values()
        assert (thread.comm, thread.pid) == (name, pid)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


@pytest.mark.parametrize(("seconds", "reason"), [((), "signal"), ((1,), "duration")])
def test_why_the_window_ended(seconds: tuple[int, ...], reason: str, start: Start, trace: Trace) -> None:
    spin = start("spin", "--duration-ms", 20_000)
    spin.start()
    script = trace("ledger", spin, *seconds)
    footer = recorded(script.wait() if seconds else script.stop()).footer
    assert footer and footer.reason == reason


def test_data_of_a_connection(start: Start, attach: Attach, trace: Trace) -> None:
    """A read waits for TCP, as the data shows that came meanwhile."""
    told = compare(start("peer", "--count", 23), attach, trace)
    assert told["net.receive"] > 0.8, told


def test_data_that_nobody_asked_for(start: Start, trace: Trace) -> None:
    """The first are an answer. The others are news, and a peer that owes no answer is not slow."""
    peer = start("peer", "--count", 23, "--how", "news")
    script = trace("ledger", peer)
    truth = peer.run()
    seen = recorded(script.stop())
    sums = Counter({each.account: each.sum_ns for row in seen.threads.values() for each in row.accounts})
    assert sums["wait.parked"] > 0.9 * truth["wait_ns"] > 1e9, sums
    assert 50e6 <= sums["net.receive"] < 0.1 * truth["wait_ns"], sums


SERVER = """
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
if not os.fork():
    sys.stdin.readline()
    client = socket.create_connection(listener.getsockname())
    for _ in range(20):
        time.sleep(0.05)
        client.send(b"?")
        client.recv(1)
    os._exit(0)
print("ready", flush=True)
one, _ = listener.accept()
while one.recv(1):
    one.send(b"!")
print("the client has gone", flush=True)
time.sleep(60)
"""


def test_requests_on_a_connection_that_was_accepted(cleanup: Cleanup, trace: Trace) -> None:
    """Between two of them a client owes nothing."""
    words = [sys.executable, "-c", SERVER]
    server = cleanup.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    cleanup.callback(server.kill)
    assert server.stdin and server.stdout and server.stdout.readline()
    script = trace("ledger", server.pid)
    server.stdin.close()
    assert server.stdout.readline()
    seen = recorded(script.stop())
    sums = Counter({each.account: each.sum_ns for row in seen.threads.values() for each in row.accounts})
    assert sums["wait.parked"] > 0.9e9 and not sums["net.receive"], sums
