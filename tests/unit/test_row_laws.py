"""What each line must obey by itself: no number of a recording can be changed unseen but those that stand here."""

from __future__ import annotations

import gzip
import io
import json
from functools import cache
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.common.config import Config
from perfdiag.diagnosis import engine
from perfdiag.model import builder as ledger
from perfdiag.recording import reader, schema
from perfdiag.recording.distribution import edges_ns
from perfdiag.recording.laws import contradictions
from perfdiag.recording.laws.bucket_laws import DISTRIBUTIONS
from perfdiag.recording.recording import PLACES
from perfdiag.report import assembly

from conftest import ROOT
from unit.support import Builder

Lines = list[dict[str, Any]]
FLUSH, NFS, GUEST, LOSS = "slow-flush.flush-500ms", "nfs-commit.flush-500ms", "emulated-device.ide", "network-loss"


@cache
def recordings() -> dict[str, Lines]:
    """Return sound recordings by name; some have what none of the others has."""
    paths = sorted((ROOT / "tests/data").glob("*/*.jsonl.gz"))
    found = {path.name: gzip.decompress(path.read_bytes()) for path in paths if path.name != "rows-read-late.jsonl.gz"}
    builder = Builder(slo="1 ms").thread("app", cpu_user="1 s", disk_read="4 s", wait_parked="2 s")
    builder.because("wait.parked", "", "disk.read", "1 s", root_tid=100)
    operation: dict[str, Any] = {"durations": {"3 ms": 900, "400 ms": 3}, "over_slo": 3, "errors": 2}
    found["operations"] = builder.operation("read", disk_read="3900 ms", **operation).bytes()
    return {name: [json.loads(line) for line in data.splitlines()] for name, data in found.items()}


def said(lines: Lines) -> list[str]:
    return contradictions.find(reader.read(io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines))))


def named(name: str) -> Lines:
    return next(lines for key, lines in recordings().items() if key.startswith(name))


@pytest.mark.parametrize(
    ("name", "kind", "change", "expected"),
    [
        (FLUSH, "device", {"errors": 10**6}, "errors of a line 'device' is 1,000,000, its count "),
        (FLUSH, "device", {"queue_ns": 0}, "queue_ns of a line 'device' is 0 ns, by its queue_buckets "),
        (FLUSH, "device", {"service_ns": 10**14}, "service_ns of a line 'device' is 27.8 h, by its service_buckets "),
        (FLUSH, "device", {"service_buckets": []}, "service_ns of a line 'device' is "),
        (FLUSH, "device", {"max_ns": 0}, "max_ns of a line 'device' is 0 ns, by its service_buckets over "),
        (FLUSH, "detail", {"count": 10**6}, "buckets of a line 'detail' hold "),
        (FLUSH, "detail", {"buckets": [[20, 1], [20, 1]]}, "buckets of a line 'detail' have a bucket twice"),
        (FLUSH, "detail", {"max_ns": 0}, "max_ns of a line 'detail' is 0 ns, by its buckets over "),
        (FLUSH, "detail", {"waker_count": 10**6}, "waker_count of a line 'detail' is 1,000,000, its count "),
        (FLUSH, "thread", {"start_ns": 0}, "a thread lasted "),
        (FLUSH, "cpu", {"ran_ns": 10**12}, " ran or slept "),
        (NFS, "rpc", {"wire_ns": 0}, "wire_ns of a line 'rpc' is 0 ns, by its wire_buckets "),
        (NFS, "rpc", {"queue_ns": 10**13}, "queue_ns of a line 'rpc' is 2.78 h, by its queue_buckets "),
        (NFS, "rpc", {"errors": 10**6}, "errors of a line 'rpc' is 1,000,000, its count "),
        (NFS, "nfs_flush", {"sum_ns": 1}, "sum_ns of a line 'nfs_flush' is 1 ns, by its buckets "),
        (NFS, "nfs_flush", {"stable_writes": 10**6}, "stable_writes of a line 'nfs_flush' is 1,000,000, its writes "),
        (NFS, "nfs_server", {"sum_ns": 1}, "sum_ns of a line 'nfs_server' is 1 ns, by its buckets "),
        (GUEST, "vm_exit", {"sum_ns": 1}, "sum_ns of a line 'vm_exit' is 1 ns, by its buckets "),
        (GUEST, "vm_exit", {"polled_ns": 10**13}, "polled_ns of a line 'vm_exit' is 2.78 h, its sum_ns "),
        ("proxy", "latency", {"max_ns": 1}, "max_ns of a line 'latency' is 1 ns, by its buckets over "),
        ("proxy", "exchange", {"over_slo": 0}, "over_slo_ns of a line 'exchange' is "),
        ("operations", "because", {"sum_ns": 10**13}, "waits for others in wait.parked are 2.78 h, the account 2.00 s"),
        (
            "operations",
            "because",
            {"root_tid_ns": 10**13},
            "root_tid_ns of a line 'because' is 2.78 h, its sum_ns 1.00",
        ),
        ("cache-misses.too", "file_read", {"sum_ns": 10**13}, "reads of files took 2.78 h, of "),
        ("operations", "operation", {"accounts": []}, "sum_ns of a line 'operation' are "),
    ],
)
def test_a_number_that_contradicts_its_own_line_acquits_nobody(
    name: str, kind: str, change: dict[str, Any], expected: str
) -> None:
    lines = named(name)
    assert not said(lines)
    changed = [line | change if line["type"] == kind else line for line in lines]
    assert any(expected in text for text in said(changed)), said(changed)
    model = ledger.build(reader.read(io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in changed))))
    assert "contradicts itself" in assembly.make(model, engine.diagnose(model), Config()).verdict.text


# What can be made more, or nothing, unseen: nothing else in a recording depends on it.
NAMES = "who or what it is about, not how much"
FREE = "its kernel counts it apart from everything else"
LAST_SEEN = "as last seen by one of its connections, at any time"
MAY_BE_LITTLE = "a part, and any part can be nothing"
FREELY_LONG = "the longest call: only words come of it"
BESIDE = "counted beside the requests, which several can share"
UNREAD = "in a recording with its end nothing comes of it"
SPLIT = "ticks of the kernel: they divide what the books say, in whatever parts"
UNTOLD: dict[str, tuple[str, ...]] = {
    "because.count": ("a wait with several roots counts for each", ""),
    "because.pid": (NAMES, NAMES),
    "because.root_tid": (NAMES, NAMES),
    "because.root_tid_ns": ("", MAY_BE_LITTLE),
    "cpu.cpu": (NAMES, NAMES),
    "cpu.ran_ns": ("", MAY_BE_LITTLE),
    "detail.pid": (NAMES, NAMES),
    "detail.waker_tid": (NAMES, NAMES),
    "detail.waker_count": ("", MAY_BE_LITTLE),
    "device.bytes": (FREE, FREE),
    "device.count": ("requests that nobody timed are counted, too", ""),
    "device.max_ns": (FREELY_LONG, ""),
    "exchange.busy_ns": ("", MAY_BE_LITTLE),
    "exchange.bytes_in": (FREE, FREE),
    "exchange.bytes_out": (FREE, FREE),
    "exchange.oldest_ns": (BESIDE, BESIDE),
    "exchange.open": (BESIDE, ""),
    "exchange.peers_ns": (BESIDE, ""),
    "exchange.over_slo_peers_ns": ("", MAY_BE_LITTLE),
    "exchange.over_slo_whole_ns": ("", MAY_BE_LITTLE),
    "exchange.turns": ("", MAY_BE_LITTLE),
    "file_flush.sum_ns": ("", MAY_BE_LITTLE),
    "file_flush.waits": ("short ones", ""),
    "file_read.bytes": (FREE, FREE),
    "file_read.size_bytes": (FREE, FREE),
    "file_read.sum_ns": ("", MAY_BE_LITTLE),
    "file_read.waits": ("short ones", ""),
    "interval.threads": (UNREAD, UNREAD),
    "interval.wall_ns": (UNREAD, UNREAD),
    "nfs_flush.bytes": (FREE, FREE),
    "nfs_flush.stable_writes": ("", MAY_BE_LITTLE),
    "nfs_flush.writes": (FREE, FREE),
    "nfs_server.max_ns": (FREELY_LONG, ""),
    "nfs_server.version": (NAMES, NAMES),
    "operation.errors": ("", MAY_BE_LITTLE),
    "operation.over_slo": ("", MAY_BE_LITTLE),
    "request_unread.sum_ns": ("", MAY_BE_LITTLE),
    "rpc.errors": ("", MAY_BE_LITTLE),
    "rpc.bytes_received": (FREE, FREE),
    "rpc.bytes_sent": (FREE, FREE),
    "rpc.max_ns": (FREELY_LONG, ""),
    "rpc.reply_ns": (FREE, FREE),
    "rpc.version": (NAMES, NAMES),
    "thread.kernel_ns": (SPLIT, SPLIT),
    "thread.requests_turned": ("", MAY_BE_LITTLE),
    "thread.user_ns": (SPLIT, SPLIT),
    "thread.namespace_tid": (NAMES, NAMES),
    "thread.pid": (NAMES, NAMES),
    "thread.serial": (NAMES, NAMES),
    "thread.tid": (NAMES, NAMES),
    "vm_exit.code": (NAMES, NAMES),
    "vm_exit.pid": (NAMES, NAMES),
    "vm_exit.running_ns": ("", "an exit that goes on when the window ends is in no line: the verdict heeds that"),
    **{f"dirtier.{name}": (FREE, FREE) for name in ("bytes", "pid", "rounds", "tid")},
    **{
        f"socket.{name}": (LAST_SEEN, LAST_SEEN)
        for name in (
            *("congestion_window", "in_flight", "minimum_rtt_us", "receive_window_bytes", "retransmits"),
            *("retransmits_seen", "rtt_us", "send_window_bytes", "waits_buffer", "waits_receiver"),
        )
    },
    **{f"writeback.{name}": (FREE, FREE) for name in ("cgroup", "dirty_bytes", "rounds", "span_ns", "written_bytes")},
}
OF_THE_WINDOW = frozenset({"header", "fact", "footer", "event", "calibration", "stack", "unnamed"})


def changeable() -> dict[str, Lines]:
    """Return the smallest recording that has a number, by the number's line and name."""
    found: dict[str, Lines] = {}
    for lines in sorted(recordings().values(), key=len):
        for line in lines:
            for name, value in line.items():
                if type(value) is int and value and name != "at_ns" and line["type"] not in OF_THE_WINDOW:
                    found.setdefault(f"{line['type']}.{name}", lines)
    return found


@pytest.mark.parametrize("key", sorted(changeable()))
def test_every_number_has_a_law_or_a_reason(key: str) -> None:
    kind, name = key.split(".")
    lines = changeable()[key]
    for factor, why in zip((1000, 0), UNTOLD.get(key, ("", "")), strict=True):
        changed = [
            line | {name: line[name] * factor} if line["type"] == kind and line.get(name) else line for line in lines
        ]
        assert bool(said(changed)) is not bool(why), f"{key} times {factor}: {why or 'nothing is said'}"


def test_every_distribution_of_the_schema_has_laws() -> None:
    for kind in schema.AnyLine.__args__:
        fields = {name for name in get_type_hints(kind) if name.endswith("buckets")}
        assert {each.buckets for each in DISTRIBUTIONS.get(kind, ())} == fields
        assert all(hasattr(kind, each.total) for each in DISTRIBUTIONS.get(kind, ()))
        assert not fields or kind in PLACES


@given(st.lists(st.integers(0, 2**39), min_size=1, max_size=40))
def test_no_lengths_break_them(lengths_ns: list[int]) -> None:
    """Whatever took how long, what a recorder writes of it is sound."""
    buckets: dict[int, int] = {}
    for ns in lengths_ns:
        index = next((i for i in range(31) if ns < edges_ns(i)[1]), 31)
        buckets[index] = buckets.get(index, 0) + 1
    sums: dict[str, Any] = {"count": len(lengths_ns), "sum_ns": sum(lengths_ns), "buckets": sorted(buckets.items())}
    exits = schema.VmExit(
        pid=1,
        vendor="svm",
        code=1,
        user=False,
        device="",
        running_ns=0,
        halted_ns=0,
        polled_ns=0,
        max_ns=max(lengths_ns),
        **sums,
    )
    recording = Builder().thread("app", cpu_user="1 s").line(exits).recording()
    assert not [text for text in contradictions.find(recording) if "vm_exit" in text]


def test_no_more_is_said_than_can_be_read() -> None:
    lines = named(FLUSH)
    detail = next(line for line in lines if line["type"] == "detail" and line["count"] > 1)
    many = [detail | {"object": f"device:1:{number}", "count": 0} for number in range(500)]
    found = said([*lines[:-1], *many, lines[-1]])
    assert len(found) == 201 and found[-1] == "further contradictions"


def test_rows_that_are_made_of_a_scripts_sums_have_no_buckets() -> None:
    header, *rest = named(FLUSH)
    names = sorted({name for line in rest if line["type"] == "thread" for name, *_ in line["accounts"]})
    lines = [
        header | {"engine": "bpftrace", "accounts": names},
        *(x for x in rest if x["type"] in ("thread", "footer")),
    ]
    lines[-1] = {key: value for key, value in lines[-1].items() if key != "lines"}
    assert not said(lines)
