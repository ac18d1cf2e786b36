"""A report takes a second of CPU time, another one for each 10 MB of the recording, and 300 MB of memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from perfdiag.recording.accounts import ACCOUNTS
from perfdiag.recording.schema.limits import UNREAD_LINES

from unit.support import Builder
from unit.support.bound import report
from unit.support.full import Full
from unit.support.joined import guest_builder, host
from unit.support.shapes import SHAPES

S = 1_000_000_000
pytestmark = pytest.mark.quiet


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("share", "option"), [(1.0, "--full"), (0.2, "--json"), (0.0, "--full")])
def test_a_recording_at_every_limit_at_once(share: float, option: str, tmp_path: Path) -> None:
    path = tmp_path / "full.rec"
    with path.open("wb") as file:
        Full(share).write(file)
    reported = report(path, option)
    assert reported.status == 0, reported.errors
    reported.assert_within_bound()
    reported.assert_clean()


@pytest.mark.parametrize("shape", SHAPES)
def test_no_shape_takes_more_than_its_size_allows(shape: str, tmp_path: Path) -> None:
    builder = Builder(slo="1 ms").thread("app", cpu_user="5 s", disk_read="1 s")
    head, *body, footer = builder.bytes().splitlines(keepends=True)
    path = tmp_path / "shape.rec"
    path.write_bytes(b"".join([head, *body, *(msgspec.json.encode(each) + b"\n" for each in SHAPES[shape]()), footer]))
    reported = report(path, "--full")
    reported.assert_clean()
    reported.assert_within_bound()


def test_a_join_takes_no_more_than_its_size_allows(tmp_path: Path) -> None:
    """Of a host with thousands of virtual CPUs, half of which slept all along."""
    outside = host()
    for number in range(6000):
        outside.thread(f"CPU {number}/KVM", **({"vm_guest": "1 s"} if number % 2 else {"wait_parked": "1 s"}))
    inside = guest_builder().fact("/cpuid/hypervisor", "KVMKVMKVM").fact("/proc/cpuinfo", "flags : hypervisor\n")
    path, beside = tmp_path / "host.rec", tmp_path / "guest.rec"
    path.write_bytes(outside.bytes())
    beside.write_bytes(inside.bytes())
    reported = report(path, "--full", str(beside))
    assert reported.status == 0, reported.errors
    reported.assert_clean()
    reported.assert_within_bound()


def script(threads: int, accounts: Sequence[str], pids: int) -> Iterator[bytes]:
    """Yield the lines of a recording by a script: each thread has been in all of `accounts`."""
    header = {
        "type": "header",
        "schema": 1,
        "perfdiag": "ledger.py",
        "engine": "bcc",
        "realtime_ns": 1_700_000_000 * S,
        "start_ns": 1,
        "options": {"duration_ns": 0, "interval_ns": 0, "descendants": False, "stacks": "none"},
        "targets": [{"pid": 7, "namespace_pid": 7}],
        "accounts": accounts,
    }
    yield msgspec.json.encode(header) + b"\n"
    books = {"start_ns": 1, "wall_ns": 2 * S * len(accounts), "user_ns": 0, "kernel_ns": 0}
    for number in range(threads):
        tids = {"serial": number, "pid": 7 + number % pids, "tid": 7 + number, "namespace_tid": 7 + number}
        sums = [[place, 2 * S + number, 1, 1000 + number] for place in range(len(accounts))]
        line = {"type": "thread", "at_ns": S, **tids, "state": "alive", **books, "accounts": sums, "comm": "a"}
        yield msgspec.json.encode(line) + b"\n"
    footer = {"type": "footer", "at_ns": 99 * S, "reason": "signal", "threads_seen": threads, "lost": {}}
    yield msgspec.json.encode({**footer, "cost": {"programs": []}}) + b"\n"


@pytest.mark.parametrize(
    ("threads", "accounts", "pids", "status"),
    [(10_240, 24, 1, 0), (10_240, 24, 10_240, 1), (11_000, 45, 11_000, 1)],
)
def test_what_a_script_can_write_takes_no_more_than_its_size_allows(
    threads: int, accounts: int, pids: int, status: int, tmp_path: Path
) -> None:
    path = tmp_path / "script.rec"
    names = [account.name for account in ACCOUNTS][:accounts]
    path.write_bytes(b"".join(script(threads, names, pids)))
    reported = report(path, "--full")
    assert reported.status == status, reported.errors
    reported.assert_clean()
    reported.assert_within_bound()


@pytest.mark.parametrize("line", [b"1\n", b"{}\n", b"\xff\n", b"\n", b" \n", b'{"type":"newer"}\n'], ids=repr)
@pytest.mark.parametrize("bytes_of_them", [1_000_000, 10_000_000])
def test_lines_that_cannot_be_read_take_no_more_than_their_size_allows(
    line: bytes, bytes_of_them: int, tmp_path: Path
) -> None:
    head, *rest = Builder().thread("app", cpu_user="5 s").bytes().splitlines(keepends=True)
    path = tmp_path / "unread.rec"
    count = bytes_of_them // len(line)
    path.write_bytes(b"".join([head, line * count, *rest]))
    reported = report(path, "--full")
    reported.assert_clean()
    reported.assert_within_bound()
    if count > UNREAD_LINES:
        assert "more than 100,000 of the first 100,002 lines cannot be read" in reported.errors
    else:
        assert reported.status == 0
