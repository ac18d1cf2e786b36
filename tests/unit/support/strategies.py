"""Arbitrary but valid recordings and diagnoses, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st
from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.rule import Check, Confidence, Severity, Silence
from perfdiag.model.model import Model
from perfdiag.recording.accounts import ACCOUNTS

from unit.support.recording import Builder
from unit.support.reports import diagnosis, finding

SECOND = 1_000_000_000
KEYWORDS = [account.name.replace(".", "_") for account in ACCOUNTS]
OBJECTS = [
    "",
    "device:254:0",
    "peer:10.0.0.1:80",
    "task:7:cc1",
    "idle:2",
    "inflight",
    "idle",
    "uncounted",
    "mount:0:51",
]
FUTEXES = ["futex:0x1000", "futex:0x2000", "futex:0x3000"]
LOCK_STACK = ["__lll_lock_wait (libc.so.6)", "pthread_mutex_lock (libc.so.6)"]
IDLE_STACK = ["__futex_abstimed_wait_common64 (libc.so.6)", "pthread_cond_wait (libc.so.6)"]
POOL_STACK = [*IDLE_STACK, "uv_cond_wait (node)", "worker (node)"]
SLEEP_STACK = [*IDLE_STACK, "_ZN2os13PlatformEvent4parkEl (libjvm.so)", "_ZN10JavaThread5sleepEl (libjvm.so)"]
STRANGE = ["", "app", "[bold]x", "\x1b[2J", "\u202eevil", "宽" * 16, "a\u0301" * 8]
NAMES = st.text(max_size=16) | st.sampled_from(STRANGE)
COUNTERS = ["ring_buffer", "memory", "names_full"]
TEXTS = st.text(max_size=300) | st.sampled_from(["word " * 60, "x" * 300, "宽" * 150])


@st.composite
def builders(draw: st.DrawFn) -> Builder:
    """Return a recording whose books close."""
    builder = Builder(comm=draw(NAMES), window=10 * SECOND, stacks=draw(st.sampled_from(["sampled", "all"])))
    for _ in range(draw(st.integers(0, 4))):
        builder.target(draw(st.integers(1, 99)), draw(NAMES))
    for _ in range(draw(st.integers(0, 5))):
        chosen = draw(st.lists(st.sampled_from(KEYWORDS), unique=True, max_size=12))
        sums = {name: (draw(st.integers(0, SECOND // 4)), draw(st.integers(1, 10_000))) for name in chosen}
        builder.thread(
            draw(NAMES),
            pid=draw(st.sampled_from([100, 101])),
            exited=draw(st.booleans()),
            rest=draw(st.sampled_from(["wait.events", "wait.parked", "cpu.user", "unexplained"])),
            user=draw(st.integers(0, SECOND)),
            kernel=draw(st.integers(0, SECOND)),
            **sums,
        )
        for futex in draw(st.lists(st.sampled_from(FUTEXES), unique=True)):
            builder.row(
                "wait.parked",
                futex,
                draw(st.integers(1, SECOND)),
                count=draw(st.integers(1, 999)),
                waker_tid=draw(st.sampled_from([0, 100, 101])),
                waker_count=1,
            )
        for account in draw(st.lists(st.sampled_from(KEYWORDS), unique=True, max_size=3)):
            builder.row(
                account, draw(st.sampled_from(OBJECTS)), draw(st.integers(1, SECOND)), count=draw(st.integers(1, 999))
            )
        for futex in draw(st.lists(st.sampled_from(FUTEXES))):
            builder.stack(
                "wait",
                "wait.parked",
                object=futex,
                user=draw(st.sampled_from([LOCK_STACK, IDLE_STACK, POOL_STACK, SLEEP_STACK])),
                kernel=["futex_wait_queue"],
                weight=draw(st.integers(1, SECOND)),
            )
        if draw(st.booleans()):
            builder.stack("cpu", kernel=draw(st.sampled_from([[], ["vfs_read"]])), count=draw(st.integers(1, 500)))
    if draw(st.booleans()):
        builder.exited(draw(NAMES), threads=draw(st.integers(1, 99)), disk_read=draw(st.integers(0, 100_000_000)))
    for feature in draw(st.lists(st.sampled_from(["block", "tcp", "steal", "stacks"]), unique=True)):
        builder.without(feature, draw(TEXTS)[:160])
    if draw(st.booleans()):
        builder.operation(draw(NAMES), durations={"3 ms": draw(st.integers(1, 999))})
    builder.lost(**{name: draw(st.integers(0, 10**6)) for name in draw(st.sets(st.sampled_from(COUNTERS)))})
    if draw(st.booleans()):
        builder.ended(draw(st.sampled_from(["duration", "signal", "command ended", "targets gone", "output closed"])))
    return builder.cut() if draw(st.booleans()) else builder


@st.composite
def diagnoses(draw: st.DrawFn, model: Model) -> Diagnosis:
    """Return findings with arbitrary claims and words, settled."""
    accounts = sorted(model.accounts) or ["cpu.user"]
    keys = [(row.account, row.key) for row in model.rows] or [("cpu.user", "")]
    claims = st.dictionaries(st.sampled_from([*accounts, *keys]), st.integers(0, 10 * SECOND), max_size=4)
    found = [
        finding(
            f"FINDING-{index}" + "-LONG" * draw(st.integers(0, 6)),
            draw(claims),
            draw(TEXTS),
            severity=draw(st.sampled_from(Severity)),
            confidence=draw(st.sampled_from(Confidence)),
            evidence=draw(st.lists(TEXTS, max_size=4)),
            limits=draw(st.lists(TEXTS, max_size=3)),
        )
        for index in range(draw(st.integers(0, 12)))
    ]
    checks = [Check("CHECK", text, 1.0, "count") for text in draw(st.lists(TEXTS, max_size=12))]
    silences = [Silence("SILENT", text, text) for text in draw(st.lists(TEXTS, max_size=12))]
    return diagnosis(model, *found, checks=checks, silences=silences)


__all__ = ["builders", "diagnoses"]
