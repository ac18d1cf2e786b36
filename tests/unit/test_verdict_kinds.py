"""The five kinds of a verdict, and which of them a recording gets."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Finding, Mechanism, Severity
from perfdiag.model.model import Model
from perfdiag.report import assembly
from perfdiag.report.verdict.sentences import Kind, lost_share, told, uncertain_ns
from perfdiag.report.verdict.verdict import decide

from unit.support import Builder
from unit.support.reports import CASES, diagnosis, finding, made

S = 1_000_000_000


def two_causes(first: int, second: int, unexplained: int = 0, parked: int = 0) -> tuple[Model, assembly.Report]:
    """A model of two findings and of time that is not known, all in ms."""
    sums = {"disk_flush": first, "net_receive": second, "unexplained": unexplained}
    builder = Builder().thread("a", **{name: f"{ms} ms" for name, ms in sums.items()})
    if parked:
        builder.row("wait.parked", "futex:0x10", f"{parked} ms", count=9)
    model = builder.model()
    return model, made(
        model,
        finding("DISK-FLUSH-SLOW", {"disk.flush": first * 1_000_000}, "Flushes are slow."),
        finding("DISK-READ-SLOW", {"net.receive": second * 1_000_000}, "Reads are slow."),
    )


@pytest.mark.parametrize(
    ("first", "second", "unexplained", "parked", "kind"),
    [
        (3000, 100, 0, 0, Kind.CAUSE),
        (3000, 100, 2900, 0, Kind.CAUSE),
        (3000, 100, 2901, 0, Kind.CANNOT_TELL),
        (3000, 100, 0, 2901, Kind.CANNOT_TELL),
        (3000, 100, 1500, 1401, Kind.CANNOT_TELL),
        (3000, 1000, 0, 0, Kind.CAUSES),
        (3000, 2990, 500, 0, Kind.CAUSES),  # both are sure, their order is not
        (3000, 2990, 2995, 0, Kind.CANNOT_TELL),
        (3000, 2990, 0, 2991, Kind.CANNOT_TELL),
    ],
)
def test_law_honest_a_cause_only_when_the_unknown_could_not_be_it(
    first: int, second: int, unexplained: int, parked: int, kind: Kind
) -> None:
    _, made_report = two_causes(first, second, unexplained, parked)
    assert made_report.verdict.kind == kind.value


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(0, 2000), st.integers(0, 2000))
def test_law_honest_for_all_numbers(first: int, second: int, unexplained: int, parked: int) -> None:
    model, made_report = two_causes(first, second, unexplained, parked)
    if made_report.verdict.kind == Kind.CAUSE.value:
        assert uncertain_ns(model) <= abs(first - second) * 1_000_000


def test_lost_records_count_as_not_known() -> None:
    def kind(**lost: int) -> str:
        model = Builder().thread("a", disk_flush=("3 s", 1000), net_receive=("2.5 s", 1000)).lost(**lost).model()
        flush = finding("DISK-FLUSH-SLOW", {"disk.flush": 3 * S})
        return decide(model, diagnosis(model, flush, finding("DISK-READ-SLOW", {"net.receive": 5 * S // 2}))).kind

    assert kind() == Kind.CAUSES.value
    assert kind(ring_buffer=10**6) == Kind.CANNOT_TELL.value
    assert kind(names_full=10**6, stacks_failed=10**6) == Kind.CAUSES.value  # no time went with them
    assert lost_share(Builder().thread("a").model()) == 0


def test_a_thread_parked_through_the_whole_window_hides_no_cause() -> None:
    builder = Builder().thread("a", disk_flush="3 s").thread("pool", rest="wait.parked")
    model = builder.model()
    cause = finding("DISK-FLUSH-SLOW", {"disk.flush": 3 * S}, "Flushes are slow.")
    assert made(model, cause).verdict.kind == Kind.CAUSE.value
    part_time = builder.thread("pool", cpu_user="1 s", rest="wait.parked").model()
    assert made(part_time, cause).verdict.kind == Kind.CANNOT_TELL.value


def test_the_five_kinds() -> None:
    kinds = {name: case().verdict.kind for name, case in CASES.items()}
    assert kinds["flush"] == Kind.CAUSE.value
    assert kinds["causes"] == Kind.CAUSES.value
    assert kinds["elsewhere"] == Kind.ELSEWHERE.value
    assert kinds["profile"] == Kind.PROFILE.value
    assert kinds["cannot_tell"] == kinds["empty"] == Kind.CANNOT_TELL.value
    assert set(kinds.values()) == {kind.value for kind in Kind}


def test_a_slow_peer_means_that_this_process_is_not_the_slow_part() -> None:
    model = Builder().thread("a", net_receive="3 s").model()
    peer = finding("NET-PEER-SLOW", {"net.receive": 3 * S}, "10.0.0.7:80 answers after 50 ms.")
    verdict = made(model, peer).verdict
    assert verdict.kind == Kind.ELSEWHERE.value and "10.0.0.7:80" in verdict.text and verdict.ids == ["NET-PEER-SLOW"]


def test_a_slow_peer_among_other_time_is_a_cause_like_others() -> None:
    def kind(model: Model, *others: Finding) -> str:
        peer = finding("NET-PEER-SLOW", {"net.receive": 3 * S}, "10.0.0.7:80 answers after 50 ms.")
        return made(model, peer, *others).verdict.kind

    assert kind(Builder().thread("a", net_receive="3 s", cpu_user="6 s").model()) == Kind.CAUSE.value
    flush = finding("DISK-FLUSH-SLOW", {"disk.flush": 2 * S}, "Flushes are slow.")
    assert kind(Builder().thread("a", net_receive="3 s", disk_flush="2 s").model(), flush) == Kind.CAUSES.value


def test_a_stopped_target_did_not_wait_for_work() -> None:
    text = made(Builder().thread("a", rest="wait.stopped").model()).verdict.text
    assert "stopped" in text and "waited for work" not in text


def test_parked_threads_are_not_said_to_wait_for_work() -> None:
    text = made(Builder().thread("a").thread("pool", rest="wait.parked").model()).verdict.text
    assert "1 thread (pool) stayed blocked or idle" in text and "not the slow part" not in text


def test_all_threads_parked_may_be_idle_or_deadlocked() -> None:
    model = Builder().thread("a", rest="wait.parked").thread("b", rest="wait.parked").model()
    verdict = made(model).verdict
    assert verdict.kind == Kind.CANNOT_TELL.value and "deadlocked" in verdict.text


def test_a_critical_finding_without_time_is_named() -> None:
    model = Builder().thread("a", disk_flush="3 s").model()
    full = finding("FD-EXHAUSTION", {}, "1,024 of 1,024 files are open.", severity=Severity.CRITICAL)
    assert "1,024 files" in made(model, full).verdict.text
    flush = finding("DISK-FLUSH-SLOW", {"disk.flush": 3 * S}, "Flushes are slow.")
    both = made(model, full, flush).verdict
    assert both.text.startswith("1,024 of 1,024 files are open. Flushes are slow.")
    assert both.ids == ["FD-EXHAUSTION", "DISK-FLUSH-SLOW"]
    peer = finding("NET-PEER-SLOW", {"disk.flush": 3 * S}, "db answers slowly.")
    assert made(model, peer).verdict.kind == Kind.ELSEWHERE.value
    assert "not the slow part" not in made(model, full, peer).verdict.text


def test_what_was_killed_is_named_however_little_time_it_took() -> None:
    model = Builder().thread("a", disk_flush="3 s", memory_cgroup="20 ms", cpu_user="1 s").model()
    kill = finding("OOM-KILL", {"memory.cgroup": S // 50}, "It was killed.", severity=Severity.CRITICAL)
    flush = finding("DISK-FLUSH-SLOW", {"disk.flush": 3 * S}, "Flushes are slow.")
    assert made(model, flush, kill).verdict.text.startswith("It was killed. Flushes are slow.")
    computing = Builder().thread("a", disk_flush="300 ms", memory_cgroup="20 ms", cpu_user="6 s").model()
    profile = finding("CPU-BOUND", {"cpu.user": 6 * S}, "It computes.", severity=Severity.INFO)
    small = finding("DISK-FLUSH-SLOW", {"disk.flush": 3 * S // 10}, "Flushes are slow.")
    assert made(computing, profile, small, kill).verdict.text.startswith("It was killed. It computes")
    assert "(OOM-KILL)" not in made(model, kill).verdict.text  # it is the cause that is named


def test_profile_never_stands_in_front_of_a_fault() -> None:
    model = Builder().thread("a", cpu_user="8 s", disk_read="1 s").model()
    profile = finding("CPU-BOUND", {"cpu.user": 8 * S}, "It computes.", severity=Severity.INFO)
    verdict = made(model, profile, finding("DISK-READ-SLOW", {"disk.read": S}, "Reads are slow.")).verdict
    assert verdict.ids == ["DISK-READ-SLOW", "CPU-BOUND"]


def test_low_confidence_shows_in_the_verdict() -> None:
    model = Builder().thread("a", disk_read="1 s").model()
    unsure = finding("DISK-READ-SLOW", {"disk.read": S}, "Reads are slow.", confidence=Confidence.LOW)
    assert made(model, unsure).verdict.text.startswith("Probably")


def test_a_profile_of_little_stands_behind_what_nobody_claims() -> None:
    model = Builder().thread("a", runq_busy="6 s", net_receive="150 ms").model()
    peer = finding("NET-PEER-SLOW", {"net.receive": 150_000_000}, "It waits for clients.", severity=Severity.INFO)
    text = made(model, peer).verdict.text
    most = "Most time: waiting for a CPU (runq.busy 98 %; no finding explains it)."
    assert text.startswith(f"{most} It waits for clients (2 % of busy time).")
    model = Builder().thread("a", runq_busy="100 ms", net_receive="6 s").model()
    much = finding("NET-PEER-SLOW", {"net.receive": 6 * S}, "It waits for clients.", severity=Severity.INFO)
    assert made(model, much).verdict.text.startswith("It waits for clients")


def breaching(over: int, *faults: Finding) -> str:
    """Return the verdict of a target of which so many of 300 reads took longer than 1 ms."""
    builder = Builder(slo="1 ms").thread("a", disk_read="900 ms")
    builder.operation("syscall:read", durations={"3 ms": 300}, over_slo=over, disk_read="900 ms")
    model = builder.model()
    missed = [each for each in diagnose(model).findings if each.id == "SLO-BREACH"]
    assert bool(missed) == bool(over)
    return decide(model, diagnosis(model, *faults, *missed)).text


def test_an_objective_that_was_missed_is_told_behind_the_cause() -> None:
    slow = finding("DISK-READ-SLOW", {"disk.read": 900_000_000}, "Reads are slow.")
    missed = "12 of 300 read took over 1.00 ms."
    assert breaching(12, slow).startswith(f"Reads are slow. {missed} 100 % of busy time")
    assert "took over" not in breaching(0, slow)
    assert breaching(12).count("12 of 300") == 1  # the only fault: told once


def test_a_finding_is_told_by_its_headline_and_its_share() -> None:
    slow = replace(finding("DISK-READ-SLOW", {}, "A long claim: 1 %.", headline="Reads are slow"), share=0.63)
    assert told(slow) == "Reads are slow (63 %)."
    root = replace(slow, is_root=True)
    assert told(root) == "Reads are slow (63 % of it, with the threads that wait behind it)."
    assert told(replace(root, of="request time")) == (
        "Reads are slow (63 % of request time, with requests queued behind it)."
    )


def test_a_second_cause_is_told_as_the_first() -> None:
    model = Builder().thread("a", disk_flush="3 s", cpu_kernel="2 s").model()
    first = finding("DISK-FLUSH-SLOW", {"disk.flush": 3_000_000_000}, "Flushes are slow.")
    second = finding("DIR-HUGE", {"cpu.kernel": 2_000_000_000}, "Directories are large.")
    assert made(model, first, second).verdict.sentences == [
        "Flushes are slow (60 % of busy time).",
        "Directories are large (40 %).",
    ]


@pytest.mark.parametrize("mechanism", Mechanism)
@pytest.mark.parametrize("words", ["It is so", "cannot tell", "sleeps on a timer"])
def test_words_decide_nothing(words: str, mechanism: Mechanism) -> None:
    model = Builder().thread("a", lock_file="9 s", cpu_user="500 ms", rest="wait.timer").model()

    def decided(claim: str) -> tuple[str, list[str]]:
        held = finding(
            "LOCK-CONTENTION",
            {"lock.file": 9_000_000_000},
            claim,
            severity=Severity.INFO,
            mechanism=mechanism,
            headline="A lock is held",
        )
        text = made(model, held).verdict
        return text.kind, text.sentences

    assert decided(words) == decided("Another claim; 95 % of its busy time.")


def test_what_failed_is_told_first_whatever_time_it_took() -> None:
    model = Builder().thread("a", runq_busy="4 s", memory_cgroup="2 s").model()
    crowd = finding("CPU-CONTENTION", {"runq.busy": 4 * S}, "Threads wait for a CPU.")
    critical = {"severity": Severity.CRITICAL, "mechanism": Mechanism.FAILED}
    kill = finding("OOM-KILL", {"memory.cgroup": 2 * S}, "It was killed.", **critical)
    assert made(model, crowd, kill).verdict.text.startswith("It was killed. Threads wait for a CPU")
