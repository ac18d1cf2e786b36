"""OOM-KILL: kills of the window explained, kills before it left alone, what was not recorded said."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Check, Confidence, Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, findings, outcomes, silence
from unit.support.oom import KERNELS, only, records
from unit.support.threads import START_NS

ID = "OOM-KILL"
SECOND = 1_000_000_000
QUIET = "6,900,999000000,-;clocksource: tsc\n"
GROUP = "/sys/fs/cgroup/tight"
MOUNTINFO = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"


def killed(name: str, *, pid: int = 100, begin: str | None = QUIET, **accounts: object) -> Builder:
    """Return a recording of a target in whose window a saved log was written."""
    builder = Builder(pid=pid).thread(cpu_user="2 s", **accounts)  # type: ignore[arg-type]  # accounts by name
    log = records(name, START_NS + 3 * SECOND, 1000)
    if begin is None:
        return builder.fact("/dev/kmsg", None, QUIET + log)
    return builder.fact("/dev/kmsg", begin, begin + log)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_target_is_the_victim(kernel: str) -> None:
    pid = only(f"{kernel}/cgroup").victims[0].pid
    found = finding(killed(f"{kernel}/cgroup", pid=pid, memory_cgroup=("400 ms", 50)).model(), ID)
    assert found.severity is Severity.CRITICAL and found.confidence is Confidence.HIGH
    assert "Cause: cgroup limit. /tight" in found.claim and "It was part of the target." in found.claim
    assert dict(found.claims) == {"memory.cgroup": 400_000_000}


def at_its_limit(kills: int, waits: str) -> Model:
    """Return a target that waits so long at the limit of its group, where one process was killed whose report there is,
    and further ones."""
    pid = only("6.1/cgroup").victims[0].pid
    return (
        killed("6.1/cgroup", pid=pid, memory_cgroup=(waits, 50))
        .fact(f"/proc/{pid}/cgroup", "0::/tight\n")
        .fact(f"/proc/{pid}/mountinfo", MOUNTINFO)
        .fact("/proc/self/mountinfo", MOUNTINFO)
        .fact(f"{GROUP}/memory.max", "33554432\n")
        .fact(f"{GROUP}/memory.events", "max 1\noom 0\noom_kill 0\n", f"max 90\noom 1\noom_kill {kills}\n")
        .model()
    )


def test_it_is_told_instead_of_the_limit() -> None:
    """One cause, one finding: the time lost at the limit is returned by what ends the kills."""
    told = diagnose(at_its_limit(1, "400 ms"))
    assert told.findings[0].id == ID and "MEM-CGROUP-LIMIT" in {each.id for each in told.superseded}


def test_a_kill_is_told_once_also_where_the_limit_takes_no_time() -> None:
    once = [each.id for each in diagnose(at_its_limit(1, "1 ms")).findings if each.severity is Severity.CRITICAL]
    assert once == [ID]
    another = finding(at_its_limit(2, "1 ms"), "MEM-CGROUP-LIMIT")
    assert another.severity is Severity.CRITICAL and "ended 1 process" in another.claim, "one has no report"


def test_a_neighbour_is_the_victim() -> None:
    found = finding(killed("6.1/host", memory_reclaim=("700 ms", 9)).model(), ID)
    assert found.severity is Severity.WARNING and "part of the target" not in found.claim
    assert dict(found.claims) == {"memory.reclaim": 700_000_000}


def test_a_neighbours_group_costs_the_target_nothing() -> None:
    found = finding(killed("6.1/cgroup", memory_cgroup="400 ms").model(), ID)
    assert found.severity is Severity.INFO and not found.claims


def test_another_victim_in_the_targets_own_group() -> None:
    model = (
        killed("6.1/cgroup", memory_cgroup="400 ms")
        .fact("/proc/100/cgroup", "0::/tight\n")
        .fact("/proc/100/mountinfo", MOUNTINFO)
        .fact("/proc/self/mountinfo", MOUNTINFO)
        .fact(f"{GROUP}/memory.max", "33554432\n")
        .model()
    )
    found = finding(model, ID)
    assert found.severity is Severity.CRITICAL and "memory.cgroup" in found.claims


def test_two_reports_of_one_cause_are_one_finding() -> None:
    found = finding(killed("6.1/shared").model(), ID)
    assert "Cause: unreclaimable cache." in found.claim and "2 such kills" in found.claim


def test_causes_are_told_apart() -> None:
    log = records("6.1/cgroup", START_NS + SECOND, 1000) + records("7.2/fragmented", START_NS + 2 * SECOND, 2000)
    found = findings(Builder().thread(cpu_user="1 s").fact("/dev/kmsg", QUIET, QUIET + log).model(), ID)
    assert sorted(each.claim.split("Cause: ")[1].split(".")[0] for each in found) == ["cgroup limit", "fragmentation"]


def test_a_kill_before_the_window_is_none_of_it() -> None:
    log = records("6.1/cgroup", START_NS - 5 * SECOND, 10)
    model = Builder().thread(cpu_user="1 s").fact("/dev/kmsg", log, log).model()
    assert check(model, ID)


def test_without_the_log_of_the_begin_the_clock_tells() -> None:
    found = finding(killed("6.1/host", begin=None).model(), ID)
    assert found.confidence is Confidence.MEDIUM
    log = records("6.1/host", START_NS - 5 * SECOND, 10)
    before = Builder().thread(cpu_user="1 s").fact("/dev/kmsg", None, log).model()
    assert isinstance(outcomes(before, ID)[0], Check)


def marked(pid: int) -> Builder:
    return Builder().thread(cpu_user="1 s").event("oom_kill", "mysqld", pid=pid, at="2 s")


def test_a_mark_without_a_log_is_all_that_is_known() -> None:
    found = finding(marked(4711).model(), ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.LOW
    assert "4711" in found.claim
    assert finding(marked(100).model(), ID).severity is Severity.CRITICAL


def test_a_mark_that_the_log_says_nothing_of_was_no_kill() -> None:
    model = marked(4711).fact("/dev/kmsg", QUIET, QUIET).model()
    assert isinstance(outcomes(model, ID)[0], Check)


def test_a_kill_before_the_log_was_first_read_is_of_the_window_by_its_mark() -> None:
    """The log of the begin is read when programs are attached already."""
    pid, log = only("6.1/host").victims[0].pid, records("6.1/host", START_NS + SECOND, 1000)
    builder = Builder().thread(cpu_user="1 s").fact("/dev/kmsg", log, log)
    assert isinstance(outcomes(builder.model(), ID)[0], Check)
    assert "Cause: host memory." in finding(builder.event("oom_kill", "devour", pid=pid, at="1 s").model(), ID).claim
    again = Builder().thread(cpu_user="1 s").fact("/dev/kmsg", log, log).event("oom_kill", "x", pid=pid, at="600 s")
    assert isinstance(outcomes(again.model(), ID)[0], Check)


def test_a_mark_and_its_report_are_one_kill() -> None:
    pid = only("6.1/host").victims[0].pid
    found = finding(killed("6.1/host").event("oom_kill", "devour", pid=pid, at="3 s").model(), ID)
    assert found.confidence is Confidence.HIGH


def test_what_was_not_recorded_is_not_fine() -> None:
    blind = Builder().thread(cpu_user="1 s").without("oom").fact("/dev/kmsg", None, error="Operation not permitted")
    assert silence(blind.model(), ID)
    seen = Builder().thread(cpu_user="1 s").fact("/dev/kmsg", None, error="Operation not permitted").model()
    assert "marked no victim" in check(seen, ID).text
    lossy = Builder().thread(cpu_user="1 s").lost(ring_buffer=3).fact("/dev/kmsg", None, error="not permitted")
    assert "were lost" in silence(lossy.model(), ID).reason
    read = Builder().thread(cpu_user="1 s").without("oom").fact("/dev/kmsg", QUIET, QUIET).model()
    assert check(read, ID)


def test_a_log_of_which_only_the_newest_lines_were_kept_proves_nothing() -> None:
    log = "3,950,999000009,-;Buffer I/O error on dev sda\n"
    seen = Builder().thread(cpu_user="1 s").fact("/dev/kmsg", QUIET, log, truncated=True)
    assert "marked no victim" in check(seen.model(), ID).text
    assert silence(seen.without("oom").model(), ID)
    assert finding(marked(4711).fact("/dev/kmsg", QUIET, log, truncated=True).model(), ID)


def test_a_log_read_at_the_begin_only_knows_nothing_of_the_window() -> None:
    builder = Builder().thread(cpu_user="1 s").without("oom").fact("/dev/kmsg", QUIET)
    builder._lines[:] = [line for line in builder._lines if getattr(line, "phase", "") != "end"]
    assert silence(builder.model(), ID)
