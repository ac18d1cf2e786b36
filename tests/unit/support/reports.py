"""Models and diagnoses that reports are drawn from; findings are made by hand, so that no rule's words matter here."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfdiag.common.config import Config
from perfdiag.diagnosis import claims
from perfdiag.diagnosis.engine import Diagnosis, diagnose
from perfdiag.diagnosis.evidence.locks.database_locks import database_locks
from perfdiag.diagnosis.rule import (
    Check,
    Claims,
    Confidence,
    Evidence,
    EvidenceKind,
    Finding,
    Mechanism,
    Remedy,
    RemedyKind,
    Severity,
    Silence,
)
from perfdiag.diagnosis.rules import RULES
from perfdiag.model import builder as ledger
from perfdiag.model.model import Model
from perfdiag.recording import reader
from perfdiag.report.assembly import Report, make

from conftest import ROOT
from unit.support.recording import Builder

ON_IDLE_TIME = ("TARGET-STOPPED", "TARGET-SLEEPS", "TARGET-IDLE", "TARGET-BLOCKED-OR-IDLE", "ANSWER-OWED")
RECORDINGS = ROOT / "tests/data/recordings"
RUNBOOKS = Config(runbook_url="https://wiki.example/perfdiag/{id}")


def finding(
    id: str,
    claimed: Claims,
    claim: str = "Something takes time.",
    *,
    severity: Severity = Severity.WARNING,
    confidence: Confidence = Confidence.HIGH,
    evidence: Sequence[str] = (),
    remedies: Sequence[Remedy] | None = None,
    limits: Sequence[str] = (),
    functions: str = "",
    headline: str = "",
    mechanism: Mechanism = Mechanism.SLOW,
) -> Finding:
    """Return a finding that claims time, with a remedy of every kind unless told otherwise."""
    if remedies is None:
        remedies = [
            Remedy(RemedyKind.TRY, f"turn {id} off", undo=f"turn {id} on", present_value="on"),
            Remedy(RemedyKind.FIX, f"repair {id}"),
            Remedy(RemedyKind.RISKY, f"remove {id}", risk="what is behind it"),
        ]
    return Finding(
        id=id,
        severity=severity,
        confidence=confidence,
        claim=claim,
        claims=claimed,
        remedies=remedies,
        evidence=[
            *(Evidence(text, 1.0, "count", "ledger") for text in evidence),
            *([Evidence(functions, 0.5, "share", "stack samples", kind=EvidenceKind.FUNCTIONS)] if functions else []),
        ],
        limits=limits,
        ruled_out=["not the network: 0 retransmissions"],
        alternatives=["a snapshot of the volume"],
        verify="perfdiag latency --pid 100",
        headline=headline or claim.partition(". ")[0].rstrip("."),
        mechanism=mechanism,
    )


def diagnosis(
    model: Model, *findings: Finding, checks: Sequence[Check] = (), silences: Sequence[Silence] = ()
) -> Diagnosis:
    """Return findings settled as the rules' own would be, with those on idle time that the rules make."""
    locks = (replace(each, id="LOCK-CONTENTION") for each in database_locks(model))
    idle = (each for id in ON_IDLE_TIME for each in RULES[id].function(model))
    own = [each for each in (*idle, *locks) if isinstance(each, Finding)]
    rules = {id: RULES[id] for id in ("LOCK-CONTENTION", *ON_IDLE_TIME)}
    settled = claims.settle(model, [*findings, *own], rules)
    return Diagnosis(settled.findings, checks, silences, settled.unclaimed_ns, settled.superseded)


def made(model: Model, *findings: Finding, **more: Any) -> Report:
    """Return the report of a model and of findings as the rules would have made them."""
    return make(model, diagnosis(model, *findings, **more), Config())


def verdict(model: Model, *findings: Finding) -> tuple[str, str]:
    """Return kind and text of the verdict of such a report."""
    decided = made(model, *findings).verdict
    return decided.kind, decided.text


def checks(number: int) -> list[Check]:
    """Return so many checks."""
    return [
        Check(f"CHECK-{index}", f"check {index}: {index} % of busy time", index / 100, "share")
        for index in range(number)
    ]


def flush() -> Report:
    """One clear cause."""
    model = (
        Builder(comm="mysqld")
        .fact("/proc/diskstats", " 254       0 vda 1 0 8 1 1 0 8 1 0 2 2\n")
        .thread("mysqld", cpu_user="1.2 s", cpu_kernel="300 ms", runq_busy=("110 ms", 900))
        .row("disk.flush", "device:254:0", durations={"3 ms": 1300, "19 ms": 31})
        .row("disk.read", "device:254:0", "120 ms", count=211)
        .thread("cleaner", disk_write=("700 ms", 77))
        .stack("wait", "disk.flush", kernel=["io_schedule", "jbd2_log_wait_commit", "do_fsync"], count=41, weight="2 s")
        .cost("40 ms", programs={"sched_switch": (61_204, 9_000_000)})
        .model()
    )
    return make(
        model,
        diagnosis(
            model,
            finding(
                "DISK-FLUSH-SLOW",
                {"disk.flush": model.ns("disk.flush")},
                "1,331 flushes on vda (254:0) take 3.0 ms each, 30 times what the device needs.",
                evidence=["4.49 s in 1,331 flushes, p50 3.0 ms, p99 19 ms", "the journal waits for its commit record"],
            ),
            finding("CPU-BOUND", {"cpu.user": model.ns("cpu.user")}, "It runs its own code.", severity=Severity.INFO),
            checks=checks(23),
            silences=[Silence("CPU-FREQUENCY-LOW", "no rated clock is known", "turbostat on the host")],
        ),
        RUNBOOKS,
    )


def causes() -> Report:
    """Two causes, several processes, a restart, an end before its time."""
    model = (
        Builder(comm="postgres", namespace_pid=1)
        .ended("signal", "5 s")
        .target(101, "postgres")
        .target(102, "walwriter")
        .thread("postgres")
        .row("disk.flush", "device:254:0", "2 s", count=500)
        .thread("postgres", pid=101, namespace_tid=7)
        .row("net.receive", "peer:10.0.0.7:5432", "1.5 s", count=30)
        .thread("walwriter", pid=102, cpu_user="500 ms", unexplained="100 ms")
        .event("exec", "postgres\x1b[31m", at="3 s")
        .lost(ring_buffer=7, switches_missing=2)
        .model()
    )
    return make(
        model,
        diagnosis(
            model,
            finding("DISK-FLUSH-SLOW", {"disk.flush": model.ns("disk.flush")}, "Flushes are slow."),
            finding("NET-PEER-SLOW", {"net.receive": model.ns("net.receive")}, "10.0.0.7:5432 answers after 50 ms."),
        ),
        Config(),
    )


def cannot_tell() -> Report:
    """Enough parked time to hide a larger cause."""
    model = (
        Builder(comm="java")
        .thread("pool-1", disk_read="600 ms", rest="wait.timer")
        .row("wait.parked", "futex:0x7f0000001000", "6 s", count=60)
        .thread("pool-2", net_receive="500 ms")
        .without("stacks", "perf_event_open: permission denied")
        .model()
    )
    return make(
        model,
        diagnosis(
            model,
            finding("DISK-READ-SLOW", {"disk.read": model.ns("disk.read")}, "Reads are slow."),
            finding("NET-PEER-SLOW", {"net.receive": model.ns("net.receive")}, "A peer is slow."),
        ),
        Config(),
    )


def elsewhere() -> Report:
    """A process that waits for work, and answers what comes."""
    builder = Builder(comm="nginx").thread("nginx", cpu_user="20 ms").thread("nginx", cpu_user="3 ms")
    model = builder.exchange("port:80", "accepted", {"100 us": 5}).model()
    return make(model, diagnosis(model, checks=checks(2)), Config())


def profile() -> Report:
    """Busy, and nothing departs from a norm; an operation with a limit."""
    model = (
        Builder(comm="ffmpeg", slo="250 ms")
        .thread("ffmpeg", cpu_user="9.7 s", cpu_kernel="200 ms")
        .operation("read", durations={"3 ms": 290, "400 ms": 3}, over_slo=3, disk_read="2 s")
        .operation("write", durations={"1 ms": 1299, "7 ms": 13}, disk_write="1 s")
        .model()
    )
    return make(
        model,
        diagnosis(
            model,
            finding("CPU-BOUND", {"cpu.user": model.ns("cpu.user")}, "It runs its code.", severity=Severity.INFO),
        ),
        Config(),
    )


def cut() -> Report:
    """A recording without its end."""
    model = Builder(comm="tar").thread("tar", disk_read="3 s").cut().model()
    return make(model, diagnosis(model), Config())


def empty() -> Report:
    """Nothing but a header and a footer."""
    return make(model := Builder(comm="true").ended("targets gone", "3 ms").model(), diagnosis(model), Config())


def hostile() -> Report:
    """Names that would like to be obeyed."""
    evil = "[bold]\x1b]0;x\x07\u202egnp.exe\u200b\r\n"
    model = (
        Builder(comm=evil)
        .thread(evil[:16], rest="wait.parked")
        .row("ipc.unix", f"unix:7:{evil}", "3 s", count=30)
        .row("runq.busy", f"task:8:{evil}", "1 s", count=10, waker_tid=100, waker_count=3)
        .without("block", evil)
        .event("exec", evil, at="5 s")
        .model()
    )
    return make(
        model,
        diagnosis(
            model,
            finding(
                "IPC-PEER-SLOW",
                {"ipc.unix": model.ns("ipc.unix")},
                f"{evil} is slow.",
                evidence=[evil, evil],
                limits=[evil],
            ),
            checks=[Check("CHECK", evil, 1.0, "count")],
            silences=[Silence("SILENT", evil, evil)],
        ),
        RUNBOOKS,
    )


def crowded() -> Report:
    """More of everything than 45 lines hold."""
    keywords = [
        name
        for name in (
            "cpu_user",
            "cpu_kernel",
            "cpu_irq",
            "cpu_stolen",
            "runq_busy",
            "runq_waking",
            "runq_throttled",
            "disk_read",
            "disk_write",
            "disk_flush",
            "remote_fs",
            "memory_reclaim",
            "memory_compaction",
            "memory_dirty_throttle",
            "memory_swap_in",
            "memory_major_fault",
            "memory_cgroup",
            "lock_file",
            "lock_kernel",
            "net_connect",
            "net_receive",
            "net_send",
            "ipc_pipe",
            "ipc_unix",
            "wait_io_uring",
            "kernel_other",
            "unexplained",
        )
    ]
    builder = Builder(comm="everything")
    for index in range(40):
        builder.target(200 + index, f"worker-{index}")
        builder.thread(f"waiter-{index}", rest="wait.parked", open=("wait.parked", "futex:0x10", "10 s"))
        builder.thread(f"worker-{index}", **{name: ("200 ms", 20) for name in keywords})
        builder.row("disk.read", f"device:254:{index}", "100 ms", count=index + 1)
    model = builder.without("block").without("irq").without("tcp").without("steal").lost(ring_buffer=1).model()
    names = [name for name in model.accounts if name not in ("wait.events", "unexplained")]
    return make(
        model,
        diagnosis(
            model,
            *(
                finding(
                    f"FINDING-{name.upper()}",
                    {name: model.ns(name)},
                    f"A long claim about {name}. " * 9,
                    evidence=["a number with many words around it " * 5] * 4,
                )
                for name in names
            ),
            checks=checks(60),
            silences=[Silence(f"SILENT-{index}", f"reason {index}", "a way") for index in range(30)],
        ),
        RUNBOOKS,
    )


def proxy() -> Report:
    """A recording of nginx, which proxy.sh beside it makes: it is asked for a file and, twice as often, for what an
    upstream answers after 5 ms, each tenth time after 300 ms."""
    return recorded("proxy")


def recorded(name: str, folder: Path = RECORDINGS) -> Report:
    """Return the report of a recording in tests/data/recordings, or in another folder."""
    model = ledger.build(reader.read(io.BytesIO(gzip.decompress((folder / f"{name}.jsonl.gz").read_bytes()))))
    return make(model, diagnose(model), RUNBOOKS)


CASES: Mapping[str, Callable[[], Report]] = {
    case.__name__: case
    for case in (flush, causes, cannot_tell, elsewhere, profile, cut, empty, hostile, crowded, proxy)
}

__all__ = ["CASES", "RUNBOOKS", "checks", "diagnosis", "finding", "made", "recorded"]
