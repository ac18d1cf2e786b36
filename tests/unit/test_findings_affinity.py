"""CPU-OVERSUBSCRIBED of threads that an affinity binds to few CPUs."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.evidence.cpu_affinity import widened_affinity
from perfdiag.diagnosis.rule import RemedyKind, Severity
from perfdiag.facts.cgroup import CpusetGroup
from perfdiag.facts.host_facts import Process

from unit.support import Builder
from unit.support.amounts import nanoseconds
from unit.support.judging import check, finding, knowing
from unit.support.known import blank


@pytest.mark.parametrize(
    ("cpus", "wait", "warns"), [("0", "1.4 ms", True), ("0-1", "1.4 ms", False), ("0", "300 us", False)]
)
def test_bursts_wait_on_the_cpus_that_an_affinity_allows(cpus: str, wait: str, warns: bool) -> None:
    """Four workers compute for 0.4 s each and wait 0.4 s for each other: on average 0.3 are runnable."""
    builder = Builder(cpus=2)
    for number in range(4):
        builder.thread("worker", tid=100 + number, cpu_user="400 ms")
        builder.row("runq.busy", "own:100:worker", durations={wait: 400_000_000 // nanoseconds(wait)})
    model = knowing(builder.model(), processes={100: blank(Process, pid=100, cpus_allowed=cpus, thread_cpus={})})
    if not warns:
        assert check(model, "CPU-OVERSUBSCRIBED").number == pytest.approx(0.5, abs=0.01)
        return
    found = finding(model, "CPU-OVERSUBSCRIBED")
    assert found.severity is Severity.WARNING and "1 of 2 CPUs" in found.headline
    assert found.remedies[0].text == "taskset -acp 0-1 100" and found.remedies[0].present_value.startswith(
        "CPUs 0 of 2"
    )


@pytest.mark.parametrize(("children", "which"), [(3, "100 200 201 202"), (9, "100 $(pgrep -P 100)")])
def test_children_that_inherited_it_are_widened_too(children: int, which: str) -> None:
    """A change of the parent's affinity does not reach children that run."""
    builder = Builder(cpus=2).thread("master", tid=100, rest="wait.events")
    for number in range(children):
        builder.thread("worker", pid=200 + number, tid=200 + number, cpu_user="400 ms")
        builder.row("runq.busy", "own:200:worker", durations={"1.4 ms": 300})
    model = knowing(builder.model(), processes={100: blank(Process, pid=100, cpus_allowed="0", thread_cpus={})})
    remedy = finding(model, "CPU-OVERSUBSCRIBED").remedies[0]
    assert remedy.text == f"for pid in {which}; do taskset -acp 0-1 $pid; done"
    assert remedy.undo == f"for pid in {which}; do taskset -acp 0 $pid; done"


def test_who_has_ended_is_started_with_more_cpus() -> None:
    builder = Builder(cpus=2).ended(reason="command ended").thread("job", tid=100, cpu_user="400 ms")
    remedy = widened_affinity(
        knowing(builder.model(), processes={100: blank(Process, pid=100, cpus_allowed="0", thread_cpus={})})
    )
    assert remedy and remedy.text == "start it with more CPUs than 0 (of 2): taskset -c 0-1 COMMAND"


def test_described_children_are_widened_if_they_are_held_alike() -> None:
    builder = Builder(cpus=2).thread("master", tid=100, rest="wait.events")
    for pid in (200, 201, 202):
        builder.thread("worker", pid=pid, tid=pid, cpu_user="400 ms")
    cpus = {100: "0", 200: "0", 201: "0", 202: "1"}
    known = {pid: blank(Process, pid=pid, cpus_allowed=own, thread_cpus={}) for pid, own in cpus.items()}
    remedy = widened_affinity(knowing(builder.model(), processes=known))
    assert remedy and remedy.text == "for pid in 100 200 201; do taskset -acp 0-1 $pid; done"


@pytest.mark.parametrize(
    ("allowed", "sets", "text", "undo"),
    [
        ("1", ["1"], "echo 0-3 >/sys/fs/cgroup/a/cpuset.cpus", "echo 1 >/sys/fs/cgroup/a/cpuset.cpus"),
        (
            "1",
            ["0-1", "1"],
            "echo 0-3 >/sys/fs/cgroup/a/cpuset.cpus; echo 0-3 >/sys/fs/cgroup/a/a/cpuset.cpus",
            "echo 1 >/sys/fs/cgroup/a/a/cpuset.cpus; echo 0-1 >/sys/fs/cgroup/a/cpuset.cpus",
        ),
        ("1", ["0-3", "1", "1"], "echo 0-3 >/sys/fs/cgroup/a/a/cpuset.cpus", "echo 1 >/sys/fs/cgroup/a/a/cpuset.cpus"),
        ("1", ["0-2"], "taskset -acp 0-2 100", "taskset -acp 1 100"),
        ("1", ["0-3"], "taskset -acp 0-3 100", "taskset -acp 1 100"),
        ("1", ["garbage"], "taskset -acp 0-3 100", "taskset -acp 1 100"),
    ],
)
def test_no_affinity_reaches_beyond_the_cpuset_of_a_group(allowed: str, sets: list[str], text: str, undo: str) -> None:
    """taskset was advised in a container of few CPUs, and changed nothing."""
    builder = Builder(cpus=4).thread("worker", tid=100, cpu_user="400 ms")
    groups = [
        CpusetGroup("/sys/fs/cgroup" + "/a" * depth, 2, (100,), depth, depth, cpus)
        for depth, cpus in enumerate(sets, 1)
    ]
    known = {100: blank(Process, pid=100, cpus_allowed=allowed, thread_cpus={})}
    remedy = widened_affinity(knowing(builder.model(), processes=known, cpuset_groups=groups))
    assert remedy and (remedy.text, remedy.undo) == (text, undo)
    assert remedy.present_value.startswith("CPUs 1 of 4, by the cpuset of /sys/fs/cgroup/a") == text.startswith("echo")


def test_a_container_cannot_widen_its_own_cpuset() -> None:
    builder = Builder(cpus=4).thread("worker", tid=100, cpu_user="400 ms")
    known = {100: blank(Process, pid=100, cpus_allowed="1", thread_cpus={})}
    groups = [CpusetGroup("/sys/fs/cgroup", 2, (100,), 1, 0, "1")]
    remedy = widened_affinity(knowing(builder.model(), processes=known, cpuset_groups=groups))
    assert remedy and remedy.kind is RemedyKind.FIX and "--cpuset-cpus=0-3" in remedy.text


def test_a_thread_is_widened_as_far_as_its_group_allows() -> None:
    builder = Builder(cpus=4).thread("worker", tid=100, cpu_user="400 ms")
    known = {100: blank(Process, pid=100, cpus_allowed="0-1", thread_cpus={100: "1"})}
    model = knowing(
        builder.model(), processes=known, cpuset_groups=[CpusetGroup("/sys/fs/cgroup/a", 2, (100,), 1, 1, "0-1")]
    )
    remedy = widened_affinity(model, model.threads[0])
    assert remedy and remedy.text == "taskset -cp 0-1 100"
