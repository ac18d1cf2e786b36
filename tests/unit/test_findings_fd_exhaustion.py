"""FD-EXHAUSTION: refused, nearly full and growing, plenty."""

from __future__ import annotations

import math

from perfdiag.diagnosis.rule import Confidence, RemedyKind, Severity
from perfdiag.facts.host_facts import Descriptors
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, findings, knowing, silence

ID = "FD-EXHAUSTION"


def using(
    *counts: int, soft: float = 1024, hard: float = 4096, pid: int = 100, builder: Builder | None = None
) -> Model:
    used = [(index * 5_000_000_000, count) for index, count in enumerate(counts)]
    known = Descriptors(pid=pid, used=used, soft_limit=soft, hard_limit=hard)
    model = (builder or Builder().thread(cpu_user="1 s")).model()
    return knowing(
        model, processes={}, descriptors={pid: known} if pid else {}, system_descriptors=None if pid else known
    )


def test_a_refusal_is_critical_and_the_limit_can_be_raised() -> None:
    builder = Builder().thread(cpu_user="1 s").event("descriptors refused", "EMFILE")
    found = finding(using(1020, 1024, 1024, builder=builder), ID)
    assert found.severity is Severity.CRITICAL and not found.claims
    assert "descriptors open, and was refused more at least 1 time: it is at its limit." in found.claim
    assert "at most one a second" in found.evidence[-1].text
    trial = found.remedies[0]
    assert trial.kind is RemedyKind.TRY
    assert trial.text == "prlimit --pid 100 --nofile=2048:4096"
    assert trial.undo == "prlimit --pid 100 --nofile=1024:4096"
    assert "1024" in trial.present_value


def test_a_refusal_without_counts_is_still_said() -> None:
    builder = Builder().thread(cpu_user="1 s").event("descriptors refused", "EMFILE")
    found = finding(knowing(builder.model(), descriptors={}, system_descriptors=None, processes={}), ID)
    assert found.severity is Severity.CRITICAL and found.confidence is Confidence.MEDIUM


def test_who_ended_right_after_the_refusal_is_told_though_another_is_judged() -> None:
    """Its limit and its descriptors are gone with it: the refusal is what is left."""
    builder = Builder().thread(cpu_user="1 s").thread("worker", pid=300, cpu_user="1 s", wall="2 s", exited=True)
    builder.event("EMFILE", "EMFILE", pid=300).event("EMFILE", "EMFILE", pid=301)
    near, gone = findings(using(900, 900, builder=builder), ID)
    assert "900 of 1,024" in near.claim and near.severity is Severity.INFO
    assert gone.severity is Severity.CRITICAL and "2 times: worker (300), process 301" in gone.claim
    (alone,) = findings(using(5, 5, builder=builder), ID)
    assert alone.claim == gone.claim


def test_a_refusal_between_two_counts_is_not_hidden_by_them() -> None:
    builder = Builder().thread(cpu_user="1 s").event("EMFILE", "EMFILE")
    found = finding(using(5, 5, builder=builder), ID)
    assert (
        found.severity is Severity.CRITICAL
        and "was refused a descriptor at least 1 time, though it had only 5 of 1,024 open" in found.claim
    )
    assert any("inotify" in other for other in found.alternatives)


def test_the_limit_of_a_process_that_has_ended_is_raised_where_it_is_started() -> None:
    builder = Builder().thread("app", cpu_user="1 s", exited=True).event("EMFILE", "EMFILE")
    found = finding(using(5, 5, builder=builder), ID)
    assert [remedy.kind for remedy in found.remedies] == [RemedyKind.FIX] and "has ended" in found.remedies[0].text


def test_counts_alone_do_not_say_that_nobody_was_refused_one() -> None:
    builder = Builder().thread(cpu_user="1 s")
    assert "--slo" not in check(using(100, 100, builder=builder), ID).text
    blind = builder.without("operations", "measured only with --slo")
    assert "when last counted; refusals are seen only with --slo" in check(using(100, 100, builder=blind), ID).text


def test_near_the_limit_and_growing_is_a_fault_with_its_time_left() -> None:
    found = finding(using(800, 850, 900), ID)  # 10 a second, 124 left
    assert found.severity is Severity.WARNING and "12.4 s" in found.claim


def test_who_is_at_its_limit_does_not_reach_it_in_no_time() -> None:
    assert finding(using(1000, 1024), ID).claim.endswith("has 1,024 of 1,024 descriptors open: it is at its limit.")
    assert "reaches the limit in 210 ms" in finding(using(900, 1019), ID).claim


def test_near_the_limit_and_steady_is_profile() -> None:
    assert finding(using(900, 900, 900), ID).severity is Severity.INFO


def test_growing_far_from_the_limit_is_fine() -> None:
    assert "descriptors 300 of 1,024" in check(using(100, 200, 300), ID).text


def test_no_limit_is_never_reached() -> None:
    assert not findings(using(9000, 90_000, soft=math.inf, hard=math.inf), ID)


def test_the_system_limit_is_judged_too() -> None:
    found = finding(using(95_000, 98_500, soft=100_000, hard=100_000, pid=0), ID)
    assert found.severity is Severity.CRITICAL and "whole system" in found.claim
    assert found.remedies[0].undo == "sysctl -w fs.file-max=100000"


def test_one_count_says_nothing_of_growth() -> None:
    found = finding(using(900), ID)
    assert found.confidence is Confidence.MEDIUM and any("growth" in limit for limit in found.limits)


def test_uncounted_descriptors_are_not_fine() -> None:
    model = knowing(Builder().thread(cpu_user="1 s").model(), descriptors={}, system_descriptors=None)
    assert "root" in silence(model, ID).fix
