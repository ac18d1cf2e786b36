"""MEM-HIGH-THROTTLE: slowed down over memory.high, and MEM-CGROUP-LIMIT beside it."""

from __future__ import annotations

import math
from typing import Any

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Check, Confidence, RemedyKind, Severity
from perfdiag.facts.host_facts import MemoryGroup
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, knowing, outcomes, silence
from unit.support.known import blank

HIGH, LIMIT = "MEM-HIGH-THROTTLE", "MEM-CGROUP-LIMIT"
MIB = 1 << 20


def group(path: str = "/sys/fs/cgroup/a b", depth: int = 2, soft: float = 400 * MIB, **events: int) -> MemoryGroup:
    return blank(
        MemoryGroup,
        path=path,
        version=2,
        pids=(100,),
        depth=depth,
        limit_bytes=math.inf,
        high_bytes=soft,
        usage_bytes=410 * MIB,
        events=events,
        changes={},
    )


def over(*groups: MemoryGroup, high: str = "3 s", most: str = "", **facts: Any) -> Model:
    builder = Builder().thread(cpu_user="1 s")
    if high:
        builder.row("memory.cgroup", "limit:high", high, count=90)
    if most:
        builder.row("memory.cgroup", "limit:max", most, count=90)
    return knowing(builder.model(), **({"memory_groups": groups, "processes": {}} | facts))


def test_the_soft_limit_is_named_and_can_be_tried() -> None:
    found = finding(over(group(high=70)), HIGH)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "/sys/fs/cgroup/a" in found.claim and "400 MiB" in found.claim and "3.00 s" in found.claim
    assert dict(found.claims) == {("memory.cgroup", "limit:high"): 3_000_000_000}
    assert "memory.max" in found.ruled_out[0]
    trial = found.remedies[0]
    assert trial.kind is RemedyKind.TRY and trial.text == f"echo {500 * MIB} > '/sys/fs/cgroup/a b/memory.high'"
    assert trial.undo == f"echo {400 * MIB} > '/sys/fs/cgroup/a b/memory.high'"
    assert "'/sys/fs/cgroup/a b/memory.events'" in found.verify


def test_the_group_whose_own_limit_it_is() -> None:
    """Events count what is below: the group without a limit of its own is not the one."""
    hit = [group("/in", depth=3, soft=math.inf, high=70), group("/out", depth=2, high=70)]
    assert "/out" in finding(over(*hit), HIGH).claim


def test_the_hard_limit_is_not_the_soft_one() -> None:
    model = over(group(max=900), high="", most="3 s")
    assert isinstance(outcomes(model, HIGH)[0], Check)
    assert dict(finding(model, LIMIT).claims) == {"memory.cgroup": 3_000_000_000}


def test_each_limit_has_its_own_time() -> None:
    model = over(group(high=70, max=900), high="1 s", most="3 s")
    assert dict(finding(model, HIGH).claims) == {("memory.cgroup", "limit:high"): 1_000_000_000}
    assert dict(finding(model, LIMIT).claims) == {"memory.cgroup": 3_000_000_000}
    assert [found.id for found in diagnose(model).findings][:2] == [LIMIT, HIGH]


def test_without_names_of_functions_the_events_tell_if_they_can() -> None:
    builder = Builder().thread(cpu_user="1 s", memory_cgroup=("3 s", 90))
    found = finding(knowing(builder.model(), memory_groups=[group(high=70)]), HIGH)
    assert found.confidence is Confidence.MEDIUM and any("have no names" in limit for limit in found.limits)
    both = knowing(builder.model(), memory_groups=[group(high=70, max=1)])
    assert isinstance(outcomes(both, HIGH)[0], Check)


def test_a_group_that_grazes_its_soft_limit_is_fine() -> None:
    assert "exceeded 7 times" in check(over(group(high=7), high="5 ms"), HIGH).text


def test_reclaim_in_a_cgroup_not_measured_is_not_fine() -> None:
    model = knowing(Builder().thread(cpu_user="1 s").without("reclaim").model(), memory_groups=[])
    assert "not measured" in silence(model, HIGH).reason


def test_a_group_that_cannot_be_read_is_not_named() -> None:
    found = finding(over(), HIGH)
    assert "of its cgroup" in found.claim and all(remedy.kind is RemedyKind.FIX for remedy in found.remedies)
