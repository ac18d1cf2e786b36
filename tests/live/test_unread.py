"""Requests that lie unread: what their reader was in meanwhile, against what it is known to do."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from perfdiag.recording import schema
from perfdiag.recording.recording import Recording

from live.support import laws
from live.support.fixtures import Attach, Serving, Start
from live.support.recording import ns_of
from live.support.serving import Server, asked, http, served, stopped

S = 1_000_000_000
CLIENTS, EACH, FEW = 11, 5, 4
# Of merged segments one part in 32 may be lost (MERGED_LOST of bpf/wait/timeline.bpf.h); where neighbours have the
# CPU again and again, a thread's last segments do not reach back to the arrival.
KINDS = ("cpu.", "wait.timer", "runq.")
KNOWN, DISTURBED, KNOWN_IF_DISTURBED = 0.94, 0.02, 0.5
LONG_TURNS = 20
# A timer runs from before its thread is switched out: 1.6 to 2.2 us on a slow machine, the probes' time among it.
ARMED_NS = 4000
CASES = {  # what a request meets: the thread's own account, and the root of that
    "sleeps": ("lambda: time.sleep(0.02)", "wait.timer", "wait.timer"),
    "computes": ("computes(0.02)", "cpu.user", "cpu.user"),
    "pipe": ("logs(0.02)", "ipc.pipe", "wait.timer"),
    "lock": ("behind_a_lock(0.02)", "wait.parked", "wait.timer"),
}


def ask(server: Server) -> None:
    """Let all clients ask at the same time."""

    def client(_: int) -> None:
        with server.connect() as connection:
            for _ in range(EACH):
                asked(connection, http("/"))

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(client, range(CLIENTS)))


def in_long_turns(recording: Recording) -> float:
    """Return which part of the CPU samples was taken in turns over 10 ms."""
    samples = [stack for stack in recording.of(schema.Stack) if stack.kind == "cpu"]
    return sum(stack.long_turn_count for stack in samples) / sum(stack.count for stack in samples)


@pytest.mark.parametrize("case", CASES)
def test_what_a_loop_was_in(case: str, serving: Serving, attach: Attach) -> None:
    """One thread serves all: each request waits while it is with ten others.  Neighbours may have its CPU."""
    work, account, root = CASES[case]
    server = serving(f"by_one_loop(listening(), {work})")
    recorder = attach(server.pid)
    ask(server)
    recording = stopped(recorder)
    line = served(recording, "GET /").line
    unread: Counter[tuple[str, str]] = Counter()
    served_ns = 0
    for each in recording.of(schema.RequestUnread):
        assert (each.object, each.name, each.over_slo) == (line.object, line.name, False)
        unread[each.account, each.root] += each.sum_ns
        served_ns += each.sum_ns if each.served else 0
    assert line.count == CLIENTS * EACH and line.read_delay_ns > 0.7 * line.sum_ns, line
    queued_ns = sum(ns for (_, each), ns in unread.items() if each.startswith("runq."))
    known = KNOWN_IF_DISTURBED if queued_ns > DISTURBED * line.read_delay_ns else KNOWN
    assert known * line.read_delay_ns <= sum(unread.values()) <= line.read_delay_ns, (line, unread)
    reads = [(thread.requests_read, thread.requests_turned) for thread in recording.threads if thread.requests_read]
    assert len(reads) == 1 and reads[0][0] == line.count and reads[0][1] > 0.8 * line.count, (
        reads
    )  # who asks last asks alone
    assert served_ns > 0.9 * sum(unread.values()), "the loop was with others"
    assert unread[account, root] > 0.9 * (sum(unread.values()) - queued_ns), (line, unread)
    if case == "computes":  # for 20 ms, half of which is in a long turn; more where it loses its CPU meanwhile
        assert in_long_turns(recording) > 0.25


def test_who_reads_was_made_too_late(serving: Serving, attach: Attach) -> None:
    """A thread for each connection: before there was one, the request waited for who accepts, and that one slept."""
    server = serving("thread_each(Late(listening(), 0.1), sleeps(0))")
    recorder = attach(server.pid)

    def client(_: int) -> None:
        with server.connect() as connection:
            asked(connection, http("/"))

    with ThreadPoolExecutor(FEW) as pool:
        list(pool.map(client, range(FEW)))
    recording = stopped(recorder)
    line = served(recording, "GET /").line
    parts = recording.of(schema.RequestUnread)
    known_ns = sum(each.sum_ns for each in parts)
    # A busy host adds time in a queue for a CPU, and behind locks that the kernel or an interpreter holds too long.
    disturbed_ns = sum(each.sum_ns for each in parts if each.root.startswith(("runq.", "lock.")))
    timer = ("wait.timer", "wait.timer", False)
    slept_ns = sum(each.sum_ns for each in parts if (each.account, each.root, each.served) == timer)
    assert line.count == FEW and line.read_delay_ns > 0.7 * line.sum_ns > 0.7 * S / 10 * FEW, line
    assert known_ns > 0.9 * line.read_delay_ns, (line, parts)
    assert slept_ns > 0.9 * (known_ns - disturbed_ns), (line, parts)


def test_what_a_stopped_server_leaves(serving: Serving, attach: Attach) -> None:
    """All that came is left unread, whoever would read it: on connections that were there before, and on new ones."""
    server = serving("by_one_loop(listening(), lambda: None)")
    with server.connect() as before, server.connect() as silent:
        asked(before, http("/"))
        asked(silent, http("/"))
        os.kill(server.pid, signal.SIGSTOP)
        try:
            before.sendall(http("/left"))
            recorder = attach(server.pid)
            time.sleep(0.02)  # TCP notes the moment of what nobody has accepted by a clock of jiffies
            with server.connect() as after:
                after.sendall(http("/left"))
                time.sleep(1)
                recording = stopped(recorder)
        finally:
            os.kill(server.pid, signal.SIGCONT)
    lines = sorted(recording.of(schema.RequestLeft), key=lambda line: not line.earlier)
    assert [(line.object, line.earlier, line.count) for line in lines] == [
        (f"port:{server.port}", True, 1),
        (f"port:{server.port}", False, 1),
    ]
    for line in lines:
        assert line.oldest_ns >= S and line.sum_ns == pytest.approx(S, rel=0.3), line
        (part,) = line.parts
        assert (part.account, part.root, part.served) == ("wait.stopped", "wait.stopped", False)
        assert part.sum_ns > KNOWN * line.sum_ns


@pytest.mark.parametrize(("compute_us", "sleep_us"), [(60, 15), (40, 20), (5, 40), (400, 100)])
def test_a_loop_of_many_turns(compute_us: int, sleep_us: int, start: Start, attach: Attach) -> None:
    """Each request waits for 46 turns: 5 ms of queue at ten thousand a second, of which a line of time keeps 1 ms
    unless they are merged.  What it met is what the loop does all the time, to 2 % of that."""
    turn_ns = (compute_us + sleep_us + 50) * 1000
    count = 2 * S // turn_ns
    turns = start("turns", "--compute-us", compute_us, "--sleep-us", sleep_us, "--count", count)
    recorder = attach(turns, only=True)
    truth = turns.run()
    recording = recorder.wait("targets gone")
    laws.check(recording)
    line = served(recording, "GET /turn").line
    unread: Counter[str] = Counter()
    for each in recording.of(schema.RequestUnread):
        assert each.account == each.root, each
        unread[each.root] += each.sum_ns
    assert line.count == count and line.read_delay_ns > 45 * truth["elapsed_ns"] * 0.9, (line, truth)
    row = recording.thread(turns.pid)
    queued = next((each for each in row.accounts if each.account == "runq.busy"), None)
    # A wait for a CPU of many turns is merged with short ones: what is cut off there is uncertain by that much.
    disturbed = queued and (queued.sum_ns > 0.1 * truth["elapsed_ns"] or queued.max_ns > LONG_TURNS * turn_ns)
    known = KNOWN_IF_DISTURBED if disturbed else KNOWN
    assert known * line.read_delay_ns <= sum(unread.values()) <= line.read_delay_ns, unread
    assert line.unread_error_ns, "turns are merged, and each request is cut off such a segment"
    assert line.unread_error_ns < 0.2 * line.read_delay_ns or known < KNOWN, "neighbours have the CPU for whole slices"
    does = {kind: ns_of(row, kind) / truth["elapsed_ns"] for kind in KINDS}
    known_ns = sum(unread.values())  # what is cut off is of all kinds alike
    met = {kind: sum(ns for name, ns in unread.items() if name.startswith(kind)) / known_ns for kind in KINDS}
    for kind in KINDS if known == KNOWN else ():
        assert met[kind] == pytest.approx(does[kind], abs=0.02), (kind, met, does)
    assert in_long_turns(recording) < 0.05, "only where it lost its CPU in the middle of one"
    least_ns = count * (sleep_us * 1000 - ARMED_NS)
    assert least_ns <= ns_of(row, "wait.timer") <= truth["slept_ns"], "some are over at once"
