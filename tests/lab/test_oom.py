"""Memory that runs out for real: limits of control groups, files in memory, memory in pieces; live and afterwards."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

import pytest
from perfdiag.diagnosis.evidence.memory.oom_causes import Cause, Holder, cause_of, group_holdings
from perfdiag.diagnosis.rule import Confidence, Finding, Severity
from perfdiag.diagnosis.rules.memory.oom_kill import oom_kill
from perfdiag.facts import oom_log
from perfdiag.facts.kernel_log_clock import Clocks
from perfdiag.model import builder
from perfdiag.model.model import Model
from perfdiag.recording import reader, schema
from perfdiag.report.past_oom_kills import look_back

from lab.support.guest import Guest
from lab.support.processes import GuestWorkload
from live.support.fixtures import Attach, Cleanup, Start
from live.support.recording import Recording

MIB = 1 << 20
LIMIT_MIB = 31


@contextlib.contextmanager
def limited(guest: Guest, name: str, mebibytes: int) -> Iterator[str]:
    """A control group with so much memory and no swap; its name in the guest."""
    path = f"/sys/fs/cgroup/{name}"
    guest.run(f"mkdir {path}; echo {mebibytes}M >{path}/memory.max; echo 0 >{path}/memory.swap.max || true")
    try:
        yield path
    finally:
        guest.run(f"for i in 1 2 3 4 5 6 7 8 9; do rmdir {path} 2>/dev/null && break; sleep 0.2; done; [ ! -e {path} ]")


def counted(guest: Guest) -> int:
    return int(guest.run("sed -n 's/^oom_kill //p' /proc/vmstat"))


def model_of(recording: Recording) -> Model:
    return builder.build(reader.read(io.BytesIO(recording.path.read_bytes())))


def only_finding(recording: Recording) -> Finding:
    found = [outcome for outcome in oom_kill(model_of(recording)) if isinstance(outcome, Finding)]
    assert len(found) == 1, found
    return found[0]


def log_was_read(recording: Recording) -> bool:
    """Whether the kernel log is in the recording; on a busy host it may not be read in time, which is said then."""
    texts = [fact for fact in recording.of(schema.Fact) if fact.path == "/dev/kmsg" and fact.phase == "end"]
    if any(fact.text is not None for fact in texts):
        return True
    assert any(fact.error == "timeout" for fact in recording.of(schema.Fact)), "neither the log nor why not"
    found = only_finding(recording)
    assert found.confidence is Confidence.LOW and found.limits, found
    return False


def protect(guest: Guest, score: int) -> None:
    """Give all processes of the guest one oom_score_adj."""
    each = f"[ ! -e /proc/$pid/oom_score_adj ] || echo {score} >/proc/$pid/oom_score_adj || true"
    guest.run(f"for pid in $(ps -eo pid=); do {each}; done 2>/dev/null")


def test_the_target_is_killed_at_its_limit(guest: Guest, start: Start, attach: Attach, cleanup: Cleanup) -> None:
    """The recording survives, with the mark as an event and the kernel's report as a fact, and names the cause."""
    group = cleanup.enter_context(limited(guest, "tight", LIMIT_MIB))
    before = counted(guest)
    target = start("devour", "--mebibytes", 2 * LIMIT_MIB, prepare=f"echo $pid >{group}/cgroup.procs")
    recorder = attach(target)
    target.start()
    assert isinstance(target, GuestWorkload) and target.end() == 137
    recording = recorder.wait("targets gone")
    assert counted(guest) == before + 1
    (event,) = [event for event in recording.of(schema.Event) if event.name == "oom_kill"]
    assert (event.pid, event.text, event.by_pid, event.by_comm) == (target.pid, "devour", target.pid, "devour")
    found = only_finding(recording)
    assert found.severity is Severity.CRITICAL and "target" in found.claim
    if not log_was_read(recording):
        return
    assert found.confidence is not Confidence.LOW and f"devour (pid {target.pid})" in found.claim
    assert "/tight" in found.claim and f" {LIMIT_MIB}.0 MiB" in found.claim, found
    log = model_of(recording).facts.kernel_log
    assert log is not None
    report = log.oom_reports[-1].report
    assert report.group and report.group.limit_bytes == LIMIT_MIB * MIB
    anonymous = {each.holder: each.bytes for each in group_holdings(report.group)}[Holder.ANONYMOUS]
    assert 0.9 * LIMIT_MIB * MIB < anonymous <= LIMIT_MIB * MIB
    assert [task.pid for task in report.tasks] == [target.pid] and report.asker_pid == target.pid


def test_a_neighbour_that_fills_files_in_memory(guest: Guest, start: Start, attach: Attach, cleanup: Cleanup) -> None:
    """The target is none of it: no fault of its own, and what counted as cached is told."""
    group = cleanup.enter_context(limited(guest, "shared", LIMIT_MIB))
    target = start("spin", "--duration-ms", 60_000)
    options = ("--mode", "file", "--file", "/dev/shm/devoured", "--mebibytes", 2 * LIMIT_MIB)
    neighbour = start("devour", *options, prepare=f"echo $pid >{group}/cgroup.procs")
    recorder = attach(target)
    neighbour.start()
    assert isinstance(neighbour, GuestWorkload) and neighbour.end() == 137
    recording = recorder.stop()
    found = only_finding(recording)
    assert found.severity is Severity.INFO and not found.claims
    if not log_was_read(recording):
        return
    assert "/shared" in found.claim and Holder.SHARED.value in found.claim


def test_memory_in_pieces(guest: Guest, start: Start, attach: Attach, cleanup: Cleanup) -> None:
    """Half of the memory is free, but nowhere four pages together: the host's own OOM killer, and why."""
    target = start("spin", "--duration-ms", 100_000)
    pipes = start("devour", "--mode", "pipes", "--mebibytes", 1400)
    recorder = attach(target)
    # Of all processes only one may be taken; the others would fail the tests after this one.
    protect(guest, -1000)
    cleanup.callback(protect, guest, 0)
    guest.run(f"echo 0 >/proc/{pipes.pid}/oom_score_adj")
    pipes.start()
    assert isinstance(pipes, GuestWorkload) and pipes.end() == 137
    recording = recorder.stop()
    assert [event.pid for event in recording.of(schema.Event) if event.name == "oom_kill"] == [pipes.pid]
    if not log_was_read(recording):
        return
    found = only_finding(recording)
    assert Cause.FRAGMENTATION.value in found.claim and " 16.0 KiB " in found.claim, found
    log = model_of(recording).facts.kernel_log
    assert log and log.oom_reports[-1].report.order == 2


def test_all_kills_afterwards_from_the_log_alone(guest: Guest, start: Start, cleanup: Cleanup) -> None:
    """Victims are gone, nobody recorded: the kernel's buffer has as many kills as the kernel counts, each explained."""
    group = cleanup.enter_context(limited(guest, "gone", LIMIT_MIB))
    guest.run(f"echo 1 >{group}/memory.oom.group")
    devour = start("devour", "--mebibytes", 2 * LIMIT_MIB, prepare=f"echo $pid >{group}/cgroup.procs")
    other = start("spin", "--duration-ms", 60_000, prepare=f"echo $pid >{group}/cgroup.procs")
    devour.start()
    assert isinstance(devour, GuestWorkload) and isinstance(other, GuestWorkload)
    assert devour.end() == 137 and other.end() == 137
    guest.run("dd if=/dev/kmsg iflag=nonblock bs=16384 >/lab/oom.log 2>/dev/null || true")
    with (guest.folder / "oom.log").open("rb") as stream:
        log = oom_log.saved_log(stream, "oom.log", Clocks.now())
    reports = log.told.reports
    assert sum(report.kills for report in reports) == counted(guest)
    last = reports[-1]
    assert last.whole_group == "/gone" and {victim.pid for victim in last.victims} == {devour.pid, other.pid}
    assert all(cause_of(report) is not Cause.UNKNOWN for report in reports)
    told = look_back(log, None, Clocks.now(), 0, Clocks.now().realtime_ns)
    assert len(told.kills) == len(reports) and "(memory.oom.group)" in told.kills[-1].claim


@pytest.mark.parametrize("setting", ["oom_dump_tasks=0", "oom_kill_allocating_task=1"])
def test_settings_of_the_kernel(guest: Guest, start: Start, cleanup: Cleanup, setting: str) -> None:
    """Without a table of tasks nobody guesses why; a limit of a group does not ask who allocates."""
    name, _, value = setting.partition("=")
    present = guest.run(f"cat /proc/sys/vm/{name}")
    cleanup.callback(guest.run, f"echo {present} >/proc/sys/vm/{name}")
    group = cleanup.enter_context(limited(guest, "settings", LIMIT_MIB))
    guest.run(f"echo {value} >/proc/sys/vm/{name}")
    devour = start("devour", "--mebibytes", 2 * LIMIT_MIB, prepare=f"echo $pid >{group}/cgroup.procs")
    devour.start()
    assert isinstance(devour, GuestWorkload) and devour.end() == 137
    guest.run("dmesg >/lab/settings.log")
    with (guest.folder / "settings.log").open("rb") as stream:
        last = oom_log.saved_log(stream, "settings.log", Clocks.now()).told.reports[-1]
    assert last.victim and last.victim.pid == devour.pid and cause_of(last) is Cause.CGROUP
    assert bool(last.tasks) == (name != "oom_dump_tasks")
