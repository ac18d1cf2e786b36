"""Reports of the OOM killer in kernel logs: what three kernels print, and what no log may do to the reader."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.diagnosis.evidence.memory.oom_explanation import explain
from perfdiag.facts.oom.log_lines import entries
from perfdiag.facts.oom.parser import parse

from unit.support.oom import KERNELS, LOGS, NOW_NS, log, only, reports

MIB = 1 << 20
REAL = sorted(path.relative_to(LOGS).as_posix().removesuffix(".txt") for path in LOGS.rglob("*.txt"))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_limit_of_a_control_group(kernel: str) -> None:
    found = only(f"{kernel}/cgroup")
    assert (found.asker, found.order, found.gfp, found.of_group) == ("devour", 0, "GFP_KERNEL", True)
    assert found.constraint == "CONSTRAINT_MEMCG" and found.begin and not found.mixed
    assert found.group and found.group.path == "/tight" and found.group.limit_bytes == 32 * MIB
    assert found.group.usage_bytes == 32 * MIB and found.group.stat["anon"] > 30 * MIB
    (victim,) = found.victims
    assert victim.comm == "devour" and victim.pid == found.chosen_pid == found.asker_pid
    assert victim.resident_bytes and 32 * MIB < victim.resident_bytes < 36 * MIB
    (task,) = found.tasks
    assert (task.pid, task.name, task.oom_score_adj) == (victim.pid, "devour", 0)
    assert abs(task.resident_bytes - victim.resident_bytes) < 2 * MIB
    assert found.host is None


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_whole_group_is_one_report(kernel: str) -> None:
    found = only(f"{kernel}/cgroup_whole")
    assert found.kills == 3  # the one that was chosen is told, and counted, twice
    assert found.whole_group == "/whole" and found.victim and found.victim.comm == "devour"
    assert sorted(victim.comm for victim in found.victims) == ["devour", "sleep"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_memory_of_the_host(kernel: str) -> None:
    found = only(f"{kernel}/host")
    host = found.host
    assert host and not found.of_group and found.constraint == "CONSTRAINT_NONE"
    assert host.pages["inactive_anon"] + host.pages["active_anon"] > 1700 * 256
    assert host.usable_bytes and 1900 * MIB < host.usable_bytes < 2048 * MIB
    assert [(zone.node, zone.name) for zone in host.zones] == [(0, "DMA"), (0, "DMA32")]
    assert host.swap_total_bytes == 0 and host.page_bytes == 4096
    for zone in host.zones:  # both lines of a zone, printed one after the other
        in_blocks = sum(size * number for size, number in zone.blocks.items())
        assert abs(in_blocks - zone.free_bytes) < 2 * MIB
        assert zone.minimum_bytes and zone.free_bytes < 2048 * MIB
    assert host.zones[0].reserved_pages > 1900 and host.zones[1].reserved_pages == 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_report_on_fragmented_memory(kernel: str) -> None:
    found = only(f"{kernel}/fragmented")
    assert found.host and found.order == 2 and found.order_pages == 4


def test_an_asker_that_is_killed() -> None:
    assert only("6.1/allocating").allocating


def test_without_a_table_nothing_is_invented() -> None:
    found = only("6.1/no_table")
    assert not found.tasks and found.victim and found.constraint == "CONSTRAINT_MEMCG"


@pytest.mark.parametrize("name", ["6.1/hostile_name", "6.1/hostile_name.kmsg"])
def test_a_name_with_a_newline_and_an_escape(name: str) -> None:
    """dmesg breaks its line and escapes; /dev/kmsg escapes all."""
    found = only(name)
    assert found.victim and found.victim.comm in ("a) x\n\\x1b[31m", "a) x\n\x1b[31m")
    assert found.asker == found.victim.comm and found.asker_pid == found.victim.pid == found.tasks[0].pid
    assert found.tasks[0].name == found.victim.comm


def test_a_console_that_kept_warnings_only() -> None:
    first, second, third = reports(log("6.1/panic"))
    assert first.victims and second.victims and not first.constraint and not first.tasks
    assert third.panic and not third.killable and not third.victims and third.asker == "sh"


# Forms


def test_every_form_of_a_log_says_the_same() -> None:
    """What dmesg, journalctl and a syslog daemon make of one log: with a clock, with a date, or with both."""
    plain = log("6.1/shared")
    forms = {
        "dmesg -x": re.sub(r"^\[", "kern  :warn  : [", plain, flags=re.MULTILINE),
        "dmesg -r": re.sub(r"^\[", "<4>[", plain, flags=re.MULTILINE),
        "with callers": re.sub(r"^(\[ *[0-9.]+\]) ", r"\1[  T174] ", plain, flags=re.MULTILINE),
        "syslog": re.sub(r"^\[", "Nov 22 01:59:59 db1 kernel: [", plain, flags=re.MULTILINE),
        "dmesg -T": re.sub(r"^\[ *[0-9.]+\]", "[Sun Nov 22 01:59:59 2026]", plain, flags=re.MULTILINE),
        "journalctl -k": re.sub(r"^\[ *[0-9.]+\]", "Nov 22 01:59:59 db1 kernel:", plain, flags=re.MULTILINE),
        "short-precise": re.sub(r"^\[ *[0-9.]+\]", "Nov 22 01:59:59.123456 db1 kernel:", plain, flags=re.MULTILINE),
        "short-iso": re.sub(r"^\[ *[0-9.]+\]", "2026-11-22T01:59:59+0000 db1 kernel:", plain, flags=re.MULTILINE),
        "iso": re.sub(r"^\[ *[0-9.]+\]", "2026-11-22T01:59:59,123456+00:00", plain, flags=re.MULTILINE),
        "short-monotonic": re.sub(r"^(\[ *[0-9.]+\])", r"\1 db1 kernel:", plain, flags=re.MULTILINE),
    }
    wanted = reports(plain)
    assert len(wanted) == 2
    for form, text in forms.items():
        found = reports(text)
        dated = form not in ("dmesg -x", "dmesg -r", "with callers", "short-monotonic")
        assert len(found) == 2, form
        for one, other in zip(found, wanted, strict=True):
            assert (one.realtime_ns is not None) == dated, form
            assert one.host == other.host and one.tasks == other.tasks and one.asker_pid == other.asker_pid, form
            assert [v.pid for v in one.victims] == [v.pid for v in other.victims], form
            assert explain(one).claim == explain(other).claim


def test_dates_are_understood() -> None:
    line = "x invoked oom-killer: gfp_mask=0x0, order=0, oom_score_adj=0"
    second = 1_000_000_000
    for prefix, wanted_ns in (
        ("2026-11-22T01:59:59+0000 db1 kernel: ", NOW_NS - second),
        ("2026-11-22T02:59:59+01:00 db1 kernel: ", NOW_NS - second),
        ("2026-11-22T01:59:59,500000Z ", NOW_NS - second // 2),
    ):
        (found,) = entries([prefix + line], NOW_NS)
        assert found.realtime_ns == wanted_ns and found.text == line, prefix
    (old,) = entries(["Dec 24 18:00:00 db1 kernel: " + line], NOW_NS)
    assert old.realtime_ns and NOW_NS - 366 * 86_400 * second < old.realtime_ns < NOW_NS  # last year's
    assert not list(entries(["Feb 30 18:00:00 db1 kernel: " + line, "2026-13-01T00:00:00Z x"], NOW_NS))


def test_only_the_kernel_speaks() -> None:
    """Root can write into /dev/kmsg, what it writes has another facility; a daemon's line is not the kernel's."""
    killed = "Out of memory: Killed process 7 (x) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB"
    assert not reports(f"12,1,5,-;{killed}")  # facility 1, user
    assert not reports(f"Nov 22 01:00:00 db1 app[12]: {killed}")
    assert len(reports(f"4,1,5,-;{killed}")) == 1
    for stamp in ("[    1.000000] ", "[Mon Nov 23 09:36:00 2026] "):
        for others in ("user  :warn  : ", "local0:err   : ", "<12>"):
            assert not reports(f"{others}{stamp}{killed}"), others
        for kernel in ("kern  :warn  : ", "<4>", ""):
            assert len(reports(f"{kernel}{stamp}{killed}")) == 1, kernel
    assert not reports(f"4,1,5,-;prefix\n {killed}")  # below a record stand its keys


# Cut, mixed, old


def test_a_log_that_begins_inside_a_report() -> None:
    text = log("6.1/host")
    (found,) = reports(text[text.index("[   17.", text.index("Mem-Info:") + 10) :])
    assert not found.begin and found.victim and found.host is None
    assert explain(found).confidence.value != "high"


def test_a_log_that_ends_inside_a_report() -> None:
    text = log("6.1/host")
    (found,) = reports(text[: text.index("Tasks state")])
    assert found.victim is None and found.host


def test_two_reports_whose_lines_are_mixed() -> None:
    """Without callers nobody can tell whose lines are whose, and nobody does; with callers all is told."""
    first, second = log("6.1/cgroup").split("\n"), log("6.1/cgroup_shared").split("\n")
    stamp = re.compile(r"^\[ *[0-9.]+\] ")
    sides = [[(name, line) for line in text if stamp.match(line)] for name, text in (("T1", first), ("T2", second))]
    woven = [line for pair in zip(*sides, strict=False) for line in pair]
    woven += sides[0][len(sides[1]) :] + sides[1][len(sides[0]) :]
    mixed = reports("\n".join(f"[    9.000000] {stamp.sub('', line)}" for _, line in woven))
    assert sum(len(each.victims) for each in mixed) == 2 and all(each.mixed for each in mixed if each.begin)
    assert all(explain(each).limits for each in mixed)
    named = reports("\n".join(f"[    9.000000][ {caller:>5}] {stamp.sub('', line)}" for caller, line in woven))
    assert [each.victim and each.victim.pid for each in named] == [156, 170]
    assert [each.group and each.group.path for each in named] == ["/tight", "/shm"]
    assert not any(each.mixed for each in named)


def test_lines_of_others_between() -> None:
    text = re.sub(r"^(\[ *[0-9.]+\]) ", r"\1 eth0: link down\n\1 ", log("6.12/host"), flags=re.MULTILINE)
    (found,) = reports(text)
    assert found.victim and len(found.tasks) == len(only("6.12/host").tasks)


def test_old_kernels_words() -> None:
    found = reports(
        "[1.000000] Out of memory: Kill process 99 (mysqld) score 905 or sacrifice child\n"
        "[1.000001] Killed process 99 (mysqld) total-vm:200kB, anon-rss:100kB, file-rss:8kB\n"
    )
    assert [each.victims[0].pid for each in found] == [99] and found[0].victims[0].shared_bytes is None


def test_reapers_words() -> None:
    text = log("6.1/host")
    pid = only("6.1/host").victims[0].pid
    (found,) = reports(
        text + f"\n[   17.900000] oom_reaper: reaped process {pid} (devour), now anon-rss:0kB, file-rss:0kB"
    )
    assert list(found.reaped) == [pid] and not found.unreaped
    (found,) = reports(text + f"\n[   19.900000] oom_reaper: unable to reap pid:{pid} (devour)")
    assert list(found.unreaped) == [pid]


# Properties

PIECES = sorted({line for name in REAL for line in log(name).split("\n")})


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=120), max_size=60))
def test_no_log_makes_it_raise_or_invent(lines: list[str]) -> None:
    """Any lines in any order: every victim was in a line that says "Killed process", and texts are printable."""
    told = "\n".join(lines)
    found = reports(told)
    for index, report in enumerate(found):
        for victim in report.victims:
            assert f"process {victim.pid} (" in told
        assert report.begin == (report.order is not None)
        said = explain(report, found[:index])
        for text in (said.claim, *said.ruled_out, *said.limits, *(each.text for each in said.evidence)):
            assert text.isprintable(), text
        for number in (*(task.held_bytes for task in report.tasks),):
            assert number >= 0


@given(st.binary(max_size=400))
def test_bytes_are_no_reports(data: bytes) -> None:
    lines = data.decode("utf-8", "backslashreplace").split("\n")
    assert parse(entries(lines, NOW_NS)) == []


@given(st.sampled_from(REAL), st.integers(0, 30_000), st.integers(0, 30_000))
def test_any_part_of_a_real_log(name: str, begin: int, end: int) -> None:
    whole = reports(log(name))
    known = {(victim.pid, victim.comm) for report in whole for victim in report.victims}
    for report in reports(log(name)[begin:end]):
        assert {victim.pid for victim in report.victims} <= {pid for pid, _ in known}
        explain(report)


@given(st.lists(st.sampled_from(["4,1,5,-;", "[    1.000000] ", "Nov 22 01:00:00 h kernel: "]), min_size=1), st.text())
def test_forms_may_change_inside_a_log(prefixes: list[str], text: str) -> None:
    for entry in entries([prefix + text for prefix in prefixes], NOW_NS):
        assert entry.clock_ns is not None or entry.realtime_ns is not None
