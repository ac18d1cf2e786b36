"""Whatever a recording holds, every rule answers, soundly, and twice the same."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Finding
from perfdiag.diagnosis.rules import RULES
from perfdiag.model.model import Model
from perfdiag.recording.accounts import ACCOUNTS, Kind

from unit.support import Builder
from unit.support.judging import assert_sound

OBJECTS = (
    "",
    "device:254:0",
    "device:0:52",
    "peer:10.0.0.1:5432",
    "peer:[fe80::1]:443",
    "peer:0.0.0.0:0",
    "peer:",
    "peer:x:y",
    "unix:700:cupsd",
    "unix::",
    "abstract:bus\0",
    "task:9:co\x1b[31mmm\n",
    "own:100:app",
    "cgroup:77",
    "idle:2",
    "limit:high",
    "order:9",
    "order:x",
    "idle:x",
    "syscall:ioctl",
    "futex:0x7f00",
    "pipe:12",
    "file:254:0:99",
    "function:rwsem_down_read_slowpath",
    "port:80",
    "inflight",
    "idle",
    "mount:0:52",
    "mount:[bold]:60",
    "exit",
    "kernel worker",
    "file:unknown",
    "idle:awake",
    "idle:2:left",
    "nonsense",
    ":::",
)
BUSY = [account.name for account in ACCOUNTS if account.kind is Kind.LATENCY]
FEATURES = ("block", "reclaim", "compaction", "dirty_throttle", "stacks", "operations", "tcp", "steal", "irq")
times = st.integers(min_value=0, max_value=400_000_000)


@st.composite
def models(draw: st.DrawFn) -> Model:
    builder = Builder(window="10 s", slo=draw(st.sampled_from([None, "10 ms"])), descendants=draw(st.booleans()))
    for _ in range(draw(st.integers(0, 3))):
        builder.thread(
            draw(st.sampled_from(["app", "a\x1b]0;\x07b", "[red]", ""])),
            cpu_user=draw(times),
            cpu_kernel=draw(times),
            rest=draw(st.sampled_from(["wait.events", "wait.parked", "wait.child"])),
        )
        for _ in range(draw(st.integers(0, 6))):
            account, object = draw(st.sampled_from(BUSY)), draw(st.sampled_from(OBJECTS))
            builder.row(
                account,
                object,
                draw(times) + 1,
                count=draw(st.integers(1, 5000)),
                waker_tid=draw(st.sampled_from([0, 100, 101, 4711])),
                waker_count=draw(st.integers(0, 5000)),
            )
            if draw(st.booleans()):
                builder.stack(
                    draw(st.sampled_from(["cpu", "wait"])),
                    account,
                    object=object,
                    kernel=draw(
                        st.lists(st.sampled_from(["iterate_dir", "schedule", "mmap_read_lock", "\x07"]), max_size=3)
                    ),
                )
        if draw(st.booleans()):
            builder.socket(
                draw(st.sampled_from(OBJECTS)),
                retransmits_seen=draw(st.integers(0, 50)),
                waits_congestion=draw(st.integers(0, 9)),
                waits_receiver=draw(st.integers(0, 9)),
                waits_buffer=draw(st.integers(0, 9)),
                waits_unasked=draw(st.none() | st.integers(0, 9)),
                rtt_us=draw(st.integers(0, 2**32 - 1)),
                minimum_rtt_us=draw(st.integers(0, 2**32 - 1)),
                local=draw(st.sampled_from(["10.0.0.2:80", "10.0.0.2:40000", "[]:5", "", ":"])),
            )
        if draw(st.booleans()):
            builder.operation(
                "getdents64",
                durations={"20 ms": draw(st.integers(1, 400))},
                disk_read=draw(times),
                over_slo=draw(st.integers(0, 3)),
            )
    for feature in draw(st.sets(st.sampled_from(FEATURES), max_size=3)):
        builder.without(feature)
    if draw(st.booleans()):
        builder.cut()
    return builder.lost(ring_buffer=draw(st.sampled_from([0, 0, 1, 10**6]))).model()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(models())
@pytest.mark.timeout(120)
def test_every_rule_answers_soundly(model: Model) -> None:
    for id, rule in RULES.items():
        said = list(rule.function(model))
        assert all(outcome.id == id for outcome in said)
        assert said == list(rule.function(model)), "a rule is a pure function"
        for outcome in said:
            if isinstance(outcome, Finding):
                assert_sound(model, outcome)
            else:
                words = outcome.text if hasattr(outcome, "text") else outcome.reason
                assert words and words.isprintable(), f"{id}: {words!r}"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(models())
@pytest.mark.timeout(120)
def test_no_nanosecond_is_claimed_twice(model: Model) -> None:
    diagnosis = diagnose(model)
    assert sum(each.claimed_ns for each in diagnosis.findings) + diagnosis.unclaimed_ns == model.busy_ns
    assert not [silence.reason for silence in diagnosis.silences if "the rule itself failed" in silence.reason]
