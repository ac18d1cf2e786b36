"""CPU-CONTENTION: which process goes first, by nice value, policy, control group or session, and what helps."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from perfdiag.diagnosis.evidence.runqueue.going_behind import go_behind
from perfdiag.diagnosis.rule import Finding, RemedyKind
from perfdiag.facts.host_facts import CpuGroup
from perfdiag.facts.network_settings import NetworkNamespace

from unit.support import Builder
from unit.support.judging import finding, knowing
from unit.support.known import blank
from unit.test_findings_runqueue import contended, process, waiting

S = 1_000_000_000
GROUP = "/sys/fs/cgroup/invoices"


def group(**fields: Any) -> CpuGroup:
    known: dict[str, Any] = dict(path="/sys/fs/cgroup/web $x", version=2, pids=(100,), inode=42, depth=1, weight=100)
    return blank(CpuGroup, **(known | fields))


def test_a_target_that_yields_by_its_own_nice_value_is_told_so() -> None:
    model = knowing(waiting("task:7:x").model(), processes={100: replace(process("0-3"), nice=10)})
    found = finding(model, "CPU-CONTENTION")
    assert any(item.unit == "nice" and item.value == 10 for item in found.evidence)
    first = found.remedies[0]
    assert (first.text, first.undo, first.present_value) == ("renice -n 0 -p 100", "renice -n 10 -p 100", "nice 10")
    several = waiting("task:7:x").thread("other", cpu_user="1 ms").model()
    first = finding(knowing(several, processes={100: replace(process("0-3"), nice=10)}), "CPU-CONTENTION").remedies[0]
    assert first.kind is RemedyKind.FIX and first.text.startswith("renice -n 0 -p $(ls /proc/100/task)")
    model = knowing(waiting("task:7:x").model(), processes={100: replace(process("0-3"), nice=-5)})
    assert not any(item.unit == "nice" for item in finding(model, "CPU-CONTENTION").evidence)


def test_a_control_group_that_runs_only_while_no_other_wants_to_is_told_so() -> None:
    """The cgroup of a batch of invoices had cpu.idle, and the one CPU that it may use was blamed."""
    model = waiting("task:7:x").fact(f"{GROUP}/cpu.idle", "1").model()
    groups = [group(path=GROUP)]
    known = knowing(model, processes={100: process("0-3")}, cpu_groups=groups, texts=model.facts.texts)
    found = finding(known, "CPU-CONTENTION")
    assert found.headline.endswith(f", as cpu.idle of {GROUP} is 1"), found.headline
    assert (found.remedies[0].text, found.remedies[0].undo) == (
        f"echo 0 > {GROUP}/cpu.idle",
        f"echo 1 > {GROUP}/cpu.idle",
    )


def test_a_target_that_runs_only_while_nobody_else_wants_to_is_told_so() -> None:
    """SCHED_IDLE behind two others: the neighbours were named, and not why they come first."""
    idle = replace(process("0-3"), policy=5)
    found = finding(knowing(waiting("task:7:x").model(), processes={100: idle}), "CPU-CONTENTION")
    assert "SCHED_IDLE" in found.claim
    assert any(item.unit == "policy" for item in found.evidence)
    first = found.remedies[0]
    assert (first.text, first.undo) == ("chrt -a -o -p 0 100", "chrt -a -i -p 0 100")
    alone = knowing(waiting("task:7:x").model(), processes={100: idle}, cpu_groups=[group(usage_ns=S)])
    within = finding(alone, "CPU-CONTENTION")
    assert "SCHED_IDLE" not in within.claim and not any("-p 0 100" in remedy.text for remedy in within.remedies)
    assert any(item.unit == "policy" for item in within.evidence)


def nice_in(groups: list[CpuGroup], autogroup: str = "", nice: int = 10) -> Finding:
    """Return what is found of a target at nice 10 in these control groups, with this sched_autogroup_enabled."""
    known = replace(process("0-3"), nice=nice, session=82 if autogroup else None)
    known = replace(known, session_nice=0 if autogroup else None)
    settings = {"kernel/sched_autogroup_enabled": autogroup} if autogroup else {}
    model = knowing(waiting("task:7:x").model(), processes={100: known}, cpu_groups=groups, sysctl=settings)
    return finding(model, "CPU-CONTENTION")


@pytest.mark.parametrize(
    ("groups", "autogroup", "where"),
    [
        ([], "1", "session, of nice 0 itself (/proc/100/autogroup)"),
        ([group(usage_ns=S)], "1", "control group /sys/fs/cgroup/web"),
    ],
)
def test_a_nice_value_that_counts_only_in_a_group_of_its_own_explains_nothing(
    groups: list[CpuGroup], autogroup: str, where: str
) -> None:
    found = nice_in(groups, autogroup)
    assert any(item.unit == "nice" and where in item.text for item in found.evidence)
    assert "runs at nice" not in found.claim and not any("renice -n 0" in remedy.text for remedy in found.remedies)


@pytest.mark.parametrize(
    ("groups", "autogroup"),
    [([], "0"), ([], ""), ([group(depth=0)], ""), ([group(weight=None)], "0"), ([group(pids=(101,))], "0")],
)
def test_a_nice_value_counts_against_all_where_no_group_is_between(groups: list[CpuGroup], autogroup: str) -> None:
    found = nice_in(groups, autogroup)
    assert "10" in found.claim
    assert any("renice -n 0" in remedy.text for remedy in found.remedies)


def test_within_one_group_the_nice_value_decides_and_not_its_weight() -> None:
    """A service at nice 10 beside a batch job in its own control group, whose weight was to be raised."""
    shared = nice_in([group(usage_ns=20 * S)])
    assert "It runs at nice 10, so others go first" in shared.claim and shared.remedies[0].text == "renice -n 0 -p 100"
    assert not any("cpu.weight'" in remedy.text for remedy in shared.remedies)
    unknown = nice_in([group()])
    assert [each.text.split()[0] for each in unknown.remedies[:2]] == ["renice", "echo"], "either may help"


def test_who_has_the_cpu_is_let_go_behind_by_a_command_with_its_pid() -> None:
    alone = knowing(waiting("task:7:x").model(), processes={100: process("0-3")})
    text = finding(alone, "CPU-CONTENTION").remedies[-1].text
    assert "lower the priority of x (7): renice -n 10 -p $(ls /proc/7/task)" in text and "-p 7,100 " in text
    several = contended(sh_7="3 s", tar_8="1 s").remedies[-1].text
    assert "for pid in 7 8; do renice -n 10 -p $(ls /proc/$pid/task); done" in several


def test_who_may_answer_the_targets_calls_on_this_host_is_told_apart() -> None:
    """An application and its backend on a host of two CPUs: the backend was to go behind."""
    for peer, here in (("peer:127.0.0.1:23212", True), ("unix:/run/x.sock", True), ("peer:10.0.0.1:80", False)):
        builder = waiting("task:7:x").exchange(peer, "connected", {"2 ms": 20})
        text = finding(knowing(builder.model(), processes={100: process("0-3")}), "CPU-CONTENTION").remedies[-1].text
        assert text.startswith(f"lower the priority of x (7){', unless it answers' if here else ': renice'}"), text


def test_who_answers_the_target_is_never_lowered() -> None:
    """The server of a unix socket was told to yield, "unless it answers": its client lost most of its answers."""

    def advice(*keys: str, **waker: Any) -> str:
        builder = Builder().thread("client", cpu_user="1 s").row("runq.busy", keys[0], durations={"3 ms": 400})
        for key in keys[1:]:
            builder.row("runq.busy", key, durations={"3 ms": 200})
        builder.row("ipc.unix", "unix:7:server", durations={"5 ms": 100}, **waker)
        return finding(knowing(builder.model(), processes={100: process("0-3")}), "CPU-CONTENTION").remedies[-1].text

    assert advice("task:7:server").startswith("give the target and who answers it, server (7), more CPUs")
    woken = {"waker_tid": 9, "waker_count": 90, "waker_comm": "worker", "waker_pid": 8}
    assert "worker (8)" in advice("task:8:worker", **woken) and "renice" not in advice("task:8:worker", **woken)
    other = advice("task:8:worker", "task:6:hog", **woken)
    assert other.startswith("lower the priority of hog (6)") and "worker" not in other
    assert "lower" not in advice("task:1:systemd"), "init goes behind nobody"


def test_a_command_passes_over_who_listens_where_the_target_calls() -> None:
    builder = waiting("task:7:x").exchange("peer:127.0.0.1:23212", "connected", {"2 ms": 20})
    text = finding(knowing(builder.model(), processes={100: process("0-3")}), "CPU-CONTENTION").remedies[-1].text
    assert "ss -Hltnp 'sport = :23212' | grep -q pid=7, || { renice -n 10" in text


@pytest.mark.parametrize(
    ("pids", "looks"),
    [
        ([100], "nsenter -t 100 -n ss -Hltnp 'sport = :80'"),
        ([100, 200], "for target in 100 200; do nsenter -t $target -n ss -Hltnp 'sport = :80'; done"),
    ],
)
def test_the_command_looks_for_listeners_in_the_network_namespace_of_the_target(pids: list[int], looks: str) -> None:
    """In a pod with its server, ss of the host saw nobody listen: the server was to go behind."""
    builder = waiting("task:7:x").exchange("peer:127.0.0.1:80", "connected", {"2 ms": 20})
    namespaces = [NetworkNamespace(pid, own=False, settings={}, error="") for pid in pids]
    model = knowing(builder.model(), processes={100: process("0-3")}, network_namespaces=namespaces)
    assert f": {looks} | grep -q pid=7, || {{ renice" in finding(model, "CPU-CONTENTION").remedies[-1].text


def test_who_is_in_the_session_of_the_target_is_not_lowered_together_with_it() -> None:
    """Three hogs beside a worker of one shell: `echo 10 >/proc/PID/autogroup` of theirs was also the worker's."""
    text = nice_in([], "1").remedies[-1].text
    same, other = "renice -n 10 -p $(ls /proc/7/task)", "echo 10 >/proc/7/autogroup"
    assert f"if grep -qv -e '/autogroup-82 ' /proc/7/autogroup; then {other}; else {same}; fi;" in text


@pytest.fixture
def sleepers() -> Iterator[tuple[int, int, int]]:
    """Two processes of a session and one of another, by their pids."""
    script = ["sh", "-c", "sleep 60 & echo $!; exec sleep 60"]
    alike = subprocess.Popen(script, start_new_session=True, stdout=subprocess.PIPE)
    apart = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        assert alike.stdout
        yield alike.pid, int(alike.stdout.readline()), apart.pid
    finally:
        os.killpg(alike.pid, signal.SIGKILL)
        for ended in (alike, apart):
            ended.kill()
            ended.wait()


@pytest.mark.skipif(
    not Path("/proc/self/autogroup").exists()
    or Path("/proc/sys/kernel/sched_autogroup_enabled").read_text(encoding="ascii") != "1\n",
    reason="sessions do not count here",
)
def test_the_command_lowers_the_session_of_others_and_else_the_nice_value(sleepers: tuple[int, int, int]) -> None:
    target, alike, apart = sleepers
    own = Path(f"/proc/{target}/autogroup").read_text(encoding="ascii")
    known = replace(process("0-3"), session=int(own.split()[0].rpartition("-")[2]), session_nice=0)
    settings = {"kernel/sched_autogroup_enabled": "1"}
    model = knowing(waiting("task:7:x").model(), processes={target: known}, sysctl=settings)
    nice = os.getpriority(os.PRIO_PROCESS, apart)  # that of who runs this test
    command = go_behind(model, [("sleep", alike), ("sleep", apart)]).partition(": ")[2].partition("; note")[0]
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)
    assert Path(f"/proc/{target}/autogroup").read_text(encoding="ascii") == own
    assert [os.getpriority(os.PRIO_PROCESS, pid) for pid in (alike, apart)] == [10, nice]
    assert Path(f"/proc/{apart}/autogroup").read_text(encoding="ascii").endswith("nice 10\n")


def test_the_weight_of_its_own_group_is_raised_from_what_it_is_and_quoted() -> None:
    root = group(path="/sys/fs/cgroup", depth=0)
    model = knowing(waiting("task:7:x").model(), cpu_groups=[group(), root])
    first = finding(model, "CPU-CONTENTION").remedies[0]
    assert first.text == "echo 400 > '/sys/fs/cgroup/web $x/cpu.weight'"
    assert first.undo == "echo 100 > '/sys/fs/cgroup/web $x/cpu.weight'" and "100" in first.present_value


def test_a_weight_at_its_maximum_is_not_raised() -> None:
    model = knowing(waiting("task:7:x").model(), cpu_groups=[group(weight=10_000)])
    assert {remedy.kind for remedy in finding(model, "CPU-CONTENTION").remedies} == {RemedyKind.FIX}


def nested(*usage_s: float | None, weights: tuple[int, ...] = (100, 200)) -> Finding:
    """Return what is found of a target that ran 2 s in slice/pod, which used so much (pod, then slice), where host-wide
    20 s of CPU time were used."""
    paths = ("/sys/fs/cgroup/slice/pod", "/sys/fs/cgroup/slice")
    groups = [
        group(path=path, depth=depth, weight=weight, usage_ns=None if used is None else int(used * S))
        for path, depth, weight, used in zip(paths, (2, 1), weights, usage_s, strict=True)
    ]
    times = {"user": 20 * S, "idle": 20 * S}
    model = knowing(waiting("task:7:x").model(), cpu_groups=groups, cpu_times_ns=times)
    return finding(model, "CPU-CONTENTION")


@pytest.mark.parametrize(
    ("usage_s", "wanted"),
    [
        ((2.0, 2.1), "echo 800 > /sys/fs/cgroup/slice/cpu.weight"),
        ((2.0, 18.0), "echo 400 > /sys/fs/cgroup/slice/pod/cpu.weight"),
        ((2.1, 4.0), "echo 800 > /sys/fs/cgroup/slice/cpu.weight"),
    ],
)
def test_the_weight_that_is_raised_is_of_the_group_beside_which_others_use_cpus(
    usage_s: tuple[float, float], wanted: str
) -> None:
    """A container alone in its pod, with the competitors outside: raising its own weight changed nothing."""
    assert nested(*usage_s).remedies[0].text == wanted


def test_where_the_use_of_groups_is_unknown_the_command_finds_the_one_that_competes() -> None:
    text = nested(None, None).remedies[0].text
    assert "for group in /sys/fs/cgroup/slice /sys/fs/cgroup/slice/pod; do grep -rqx 7 " in text
    assert "grep . /sys/fs/cgroup/slice/cpu.weight /sys/fs/cgroup/slice/pod/cpu.weight" in text


@pytest.mark.parametrize(("weight", "raised"), [(100, 400), (5000, 10_000)])
def test_the_command_raises_the_highest_group_without_the_competitor(tmp_path: Path, weight: int, raised: int) -> None:
    paths = [tmp_path / name for name in ("my pods", "my pods/one", "my pods/one/app")]
    for path, inside in zip(paths, ("7", "", "42"), strict=True):
        path.mkdir()
        (path / "cpu.weight").write_text(f"{weight}\n", encoding="ascii")
        (path / "cgroup.procs").write_text(f"{inside}\n", encoding="ascii")
    groups = [group(path=str(path), depth=depth) for depth, path in enumerate(paths, 1)]
    found = finding(knowing(waiting("task:7:x").model(), cpu_groups=groups), "CPU-CONTENTION")
    command = found.remedies[0].text.partition(": ")[2].partition("; note")[0]
    subprocess.run(["sh", "-c", command], check=True)
    weights = [int((path / "cpu.weight").read_text(encoding="ascii")) for path in paths]
    assert weights == [weight, raised, weight]
