"""dtrace/ledger.d in a guest: its recording closes its books, and books what perfdiag's own recorder books."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.recording import schema

from lab.support import host
from lab.support.guest import CPUS, Guest
from lab.support.processes import Process
from live.support.fixtures import Attach, Cleanup, Start
from live.tools.test_ledger import compare, recorded

pytestmark = pytest.mark.dtrace

NAME = 'a"b,"d":1]'


def rows(seen: Any) -> list[schema.Thread]:
    """Return the threads of a recording; of each one the sums are all of its time, to the nanosecond."""
    threads = list(recorded(seen).threads.values())
    for thread in threads:
        assert sum(each.sum_ns for each in thread.accounts) == thread.wall_ns == thread.at_ns - thread.start_ns
        assert [each for each in thread.accounts if each.max_ns > each.sum_ns] == []
    return threads


def test_locks_and_sleeps(start: Start, attach: Attach, dtrace: Any) -> None:
    told = compare(start("lock", "--duration-ms", 2000), attach, dtrace)
    assert told["wait.parked"] > 0.3 and told["wait.timer"] > 0.1, told


def test_threads_share_a_cpu(start: Start, attach: Attach, dtrace: Any) -> None:
    told = compare(start("spin", "--threads", 4, "--cpu", CPUS - 1, "--duration-ms", 2000), attach, dtrace)
    assert told["runq.busy"] > 0.5 and told["cpu"] > 0.15, told


@pytest.mark.parametrize("mode", ["fsync", "O_SYNC"])
def test_a_slow_disk(
    mode: str, tmp_path: host.GuestPath, cleanup: Cleanup, start: Start, attach: Attach, dtrace: Any
) -> None:
    """A write that waits for the disk is known by the request that its thread has sent."""
    disk = cleanup.enter_context(host.slow_disk(tmp_path, "ext4", flush_us=20_000))
    flush = start("flush", "--mode", mode, "--count", 23, "--file", disk.mountpoint / "data")
    told = compare(flush, attach, dtrace, example=mode == "fsync")
    assert told["disk"] > 0.8, told


def test_data_of_a_connection(start: Start, attach: Attach, dtrace: Any) -> None:
    """A read waits for TCP, as the data shows that came meanwhile."""
    told = compare(start("peer", "--count", 23), attach, dtrace)
    assert told["net.receive"] > 0.8, told


def test_data_that_nobody_asked_for(start: Start, dtrace: Any) -> None:
    """The first are an answer. The others are news, and a peer that owes no answer is not slow."""
    peer = start("peer", "--count", 23, "--how", "news")
    script = dtrace("ledger", peer)
    truth = peer.run()
    (thread,) = rows(script.stop())
    sums = {each.account: each.sum_ns for each in thread.accounts}
    assert sums["wait.parked"] > 0.9 * truth["wait_ns"] > 1e9, sums
    assert 50e6 <= sums["net.receive"] < 0.1 * truth["wait_ns"], sums


def test_waits_for_another_process_until_seconds_are_over(start: Start, dtrace: Any) -> None:
    """At a pipe, which the script cannot tell from what else a read may wait for."""
    workload = start("pingpong", "--think-us", 5000, "--count", 200)
    script = dtrace("ledger", workload, 4)
    truth = workload.run()
    seen = script.wait()
    (thread,) = rows(seen)
    known = {each.account: each.sum_ns for each in thread.accounts}
    assert thread.state == "exited" and '"reason":"duration"' in seen.text
    assert known["kernel.other"] > 0.8 * truth["elapsed_ns"]


def test_a_wait_that_goes_on(guest: Guest, cleanup: Cleanup, dtrace: Any) -> None:
    """Nothing is booked while nothing happens, yet the last wait lasts until the window ends; in a name are quotes."""
    words = f"printf %s '{NAME}' >/proc/$$/comm; read -r go; sleep 1; sleep 60"
    shell = cleanup.enter_context(Process(guest, ["sh", "-c", words], "", "[ -s pid ]"))
    script = dtrace("ledger", shell.process_pid)
    shell.here("echo go >in; sleep 4")
    recording = recorded(script.stop())
    (thread,) = recording.threads.values()
    assert recording.footer and thread.at_ns == recording.footer.at_ns and thread.state == "alive"
    assert thread.open and thread.open.account == "wait.child" and thread.comm == NAME
    (child,) = (each for each in thread.accounts if each.account == "wait.child")
    assert child.sum_ns > 3.5e9 and child.max_ns > 2.5e9 and child.sum_ns > 0.8 * thread.wall_ns


def test_more_threads_than_the_script_for_bpftrace_can_hold(start: Start, dtrace: Any) -> None:
    spin = start("spin", "--threads", 300, "--cpu", CPUS - 1, "--duration-ms", 8000)
    script = dtrace("ledger", spin)
    spin.run()
    threads = rows(script.stop())
    assert len(threads) == 301 and {thread.state for thread in threads} == {"exited"}
