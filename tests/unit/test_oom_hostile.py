"""Logs made to harm who reads them: endless, of quadratic work, or with names that look like the kernel's words."""

from __future__ import annotations

import gzip
import io
import lzma
import os
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from perfdiag.commands import host
from perfdiag.common.errors import PerfdiagError
from perfdiag.diagnosis.evidence.memory.oom_explanation import explain
from perfdiag.facts import oom_log
from perfdiag.facts.kernel_log_clock import Clocks
from perfdiag.facts.oom import parser as parsing
from perfdiag.facts.oom.log_lines import entries
from perfdiag.recording import bounded_lines
from perfdiag.report.contract.past_oom_kills import PastKills
from perfdiag.report.past_oom_kills import look_back

from unit.support.bound import measured
from unit.support.oom import NOW_NS, log, only, reports
from unit.support.work import function_calls

INVOKED = "x invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0"
KILLED = "Out of memory: Killed process {} (x) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB"
LIMIT = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask="
STAMP = "[    9.000000] "


def clocks() -> Clocks:
    return Clocks(NOW_NS, NOW_NS, NOW_NS, NOW_NS)


def looked(text: str) -> PastKills:
    found = oom_log.saved_log(io.BytesIO(text.encode()), "x", clocks())
    return look_back(found, None, clocks(), 0, NOW_NS)


# What has no end


class Endless(io.RawIOBase):
    """Zeroes, as /dev/zero has them; counts what was taken."""

    taken_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.taken_bytes += len(buffer)
        buffer[:] = bytes(len(buffer))
        return len(buffer)


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_lines, "LONGEST_BYTES", 4 << 20)
    zero = Endless()
    with pytest.raises(PerfdiagError, match="line 1 is longer than 4 MiB"):
        oom_log.saved_log(io.BufferedReader(zero), "/dev/zero", clocks())
    assert zero.taken_bytes < 6 << 20


def test_a_long_line_is_cut_and_the_next_is_whole() -> None:
    found = looked(f"{STAMP}{'x' * 3_000_000}\n{STAMP}{KILLED.format(7)}\n")
    assert [victim.pid for kill in found.kills for victim in kill.victims] == [7]


def test_a_pipe_that_nobody_writes_into_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "PATIENCE_S", 0.05)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PerfdiagError, match="no data for") as told:
        host._opened(str(tmp_path / "pipe"))
    assert told.value.hint
    keeper = os.open(tmp_path / "pipe", os.O_RDWR)
    os.write(keeper, b"a line\n")
    with host._opened(str(tmp_path / "pipe")) as stream:
        assert stream.readline() == b"a line\n" and os.get_blocking(stream.fileno())
    os.close(keeper)


@pytest.mark.parametrize(("pack", "command"), [(gzip.compress, "gunzip"), (lzma.compress, "unxz")])
def test_a_packed_log_is_told_as_such(pack: Callable[[bytes], bytes], command: str) -> None:
    with pytest.raises(PerfdiagError, match="is compressed") as told:
        oom_log.saved_log(io.BytesIO(pack(log("6.1/cgroup").encode())), "x", clocks())
    assert command in str(told.value.hint)


# What would take work without end


def work(text: str) -> int:
    """Return how many functions are called to read a log and to explain it."""
    return function_calls(lambda: looked(text))


def invoked(number: int) -> str:
    return f"{STAMP}{INVOKED}\n" * number


def reaped(number: int) -> str:
    """Reports apart in time, each followed by a word of the reaper on a process that is no victim of any."""
    return "".join(
        f"[{300 * index:6}.000000] {line}\n"
        for index in range(number)
        for line in (INVOKED, KILLED.format(index + 10), "oom_reaper: reaped process 5 (x), now anon-rss:0kB")
    )


def whole(number: int) -> str:
    """One report with ever more victims, each of them reaped."""
    words = [
        "Tasks in /x are going to be killed due to memory.oom.group set",
        *map(KILLED.format, range(10, number + 10)),
    ]
    words += [f"oom_reaper: reaped process {pid} (x), now anon-rss:0kB" for pid in range(10, number + 10)]
    return "".join(f"{STAMP}{line}\n" for line in [INVOKED, *words])


@pytest.mark.parametrize("made", [invoked, reaped, whole])
def test_the_work_grows_as_the_log_does(made: Callable[[int], str]) -> None:
    assert work(made(400)) < 2.5 * work(made(200))


def kills(number: int) -> Iterator[str]:
    """Reports that follow each other by a second, each with a table of tasks."""
    for second in range(number):
        yield INVOKED
        yield "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name"
        yield from (f"[    {pid}]     0   {pid}   999999   {pid * 10}   4096 0 0 app{pid}" for pid in range(10))
        yield f"oom-kill:{LIMIT}(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a,task=x,pid={second},uid=0"
        yield KILLED.format(second)


@pytest.mark.quiet
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "lines", [lambda: kills(12_000), lambda: repeat(INVOKED, 100_000)], ids=["kills", "unfinished"]
)
def test_a_large_log_takes_no_more_than_its_size_allows(lines: Callable[[], Iterator[str]], tmp_path: Path) -> None:
    path, second = tmp_path / "log", 0
    with path.open("w") as file:
        for line in lines():
            second += line == INVOKED
            file.write(f"[{second:6}.000001] {line}\n")
    looked_back = measured(path, "host", "--since", "2000-01-01", "--log", "-")
    assert looked_back.status == 0, looked_back.errors
    assert b"10,000" in looked_back.output
    looked_back.assert_within_bound()


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "line",
    [
        f"{LIMIT}{',cpuset=' * 25}{',mems_allowed=,oom_memcg=a' * 77}{',task_memcg=,task=' * 900}",
        f"{LIMIT}(null),cpuset={',mems_allowed=0,oom_memcg=/,task_memcg=' * 490},task=x,pid=1,uid=x",
        f"{LIMIT}(null),cpuset={',mems_allowed=0,oom_memcg=/,task_memcg=' * 490},task=x,pid=1,uid=0",
        "Memory cgroup stats for /x: " + "a" * 19_000,
        "Memory cgroup stats for " + ": x:" * 4000,
        "Node 0 DMA: " + "1*4kB" * 3000,
        "Node 0 DMA: " + "1*4kB (U) " * 1500,
        "[ pid ] uid tgid total_vm rss " + "oom_score_adj name" * 1000 + "x",
    ],
)
def test_no_line_takes_long(line: str) -> None:
    """Each would be tried in more ways than could ever be, by an expression that can be read in two."""
    assert len(reports(f"{STAMP}{INVOKED}\n{STAMP}{line}\n")) == 1


def test_what_is_too_much_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "MOST_REPORTS", 10)
    monkeypatch.setattr(parsing, "MOST_VICTIMS", 15)
    told = parsing.read(entries(reaped(25).split("\n"), NOW_NS))
    assert [report.victims[0].pid for report in told.reports] == list(range(25, 35))  # the newest
    assert (told.reports_left_out, told.kills_left_out, told.victims_left_out) == (15, 15, 0)
    found = looked(reaped(25))
    assert found.in_log == 25 and len(found.kills) == 10
    assert found.not_measured[0].what == "the oldest 15 reports of the OOM killer"
    crowd = parsing.read(entries(whole(40).split("\n"), NOW_NS))
    assert len(crowd.reports[0].victims) == 15 and crowd.victims_left_out == 25 and crowd.reports[0].kills == 40


def test_rows_of_tables_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = len(only("6.1/host").tasks)
    monkeypatch.setattr(parsing, "MOST_TASKS", rows + 1)
    later = log("6.1/host").replace("[   17.", "[ 9917.")
    told = parsing.read(entries(f"{log('6.1/host')}\n{later}".split("\n"), NOW_NS))
    assert [len(report.tasks) for report in told.reports] == [rows, 1] and told.tasks_left_out == rows - 1
    items = looked(f"{log('6.1/host')}\n{later}").not_measured
    assert any(item.what == f"{rows - 1} rows of tables of tasks" for item in items)


def test_numbers_on_memory_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "MOST_NUMBERS", 20)
    later = log("6.1/host").replace("[   17.", "[ 9917.")
    told = parsing.read(entries(f"{log('6.1/host')}\n{later}".split("\n"), NOW_NS))
    assert [bool(report.host) for report in told.reports] == [True, False] and told.lines_left_out
    items = looked(f"{log('6.1/host')}\n{later}").not_measured
    assert any(item.what.endswith("lines on memory of hosts and groups") for item in items)


# Who speaks


@pytest.mark.parametrize(
    "prefix",
    [
        "2026-11-22T02:00:02.123456+00:00 db1 logger: ",
        "2026-11-22T02:00:02Z db1 app[3]: kernel: ",
        "2026-11-22T02:00:02 ",  # of nobody: only dmesg leaves the host out, and it writes a comma
        "Nov 22 02:00:02 db1 kernel[12]: ",
        "Nov 22 02:00:02 db1 app: kernel: ",
    ],
)
def test_other_daemons_are_not_the_kernel(prefix: str) -> None:
    kernel = "2026-11-22T02:00:00.000001+00:00 db1 kernel: [    1.000000] Linux version 6.1\n"
    found = looked(f"{kernel}{prefix}{INVOKED}\n{prefix}{KILLED.format(1)}\n")
    assert not found.kills and found.verdict.startswith("No process was killed")
    assert len(reports(f"2026-11-22T02:00:02.123456+00:00 db1 kernel: {INVOKED}")) == 1
    assert len(reports(f"2026-11-22T02:00:02,123456+00:00 {INVOKED}")) == 1


def test_what_another_daemon_says_is_no_part_of_the_line_before() -> None:
    """In one file with the kernel's lines stand those of all others."""
    one = "Nov 22 01:00:00 db1 kernel: {}\nNov 22 01:00:00 db1 sshd[7]: hello\n more\n"
    (found,) = reports(one.format(INVOKED) + one.format(KILLED.format(7)))
    assert found.begin and found.victims[0].pid == 7


def test_a_run_without_a_victim_is_no_kill() -> None:
    assert looked(f"{STAMP}{INVOKED}\n").verdict == (
        "No OOM kill, but 1 run of the OOM killer without a victim in the log. Cause: not told."
    )
    both = looked(f"{STAMP}{INVOKED}\n[  999.000000] {KILLED.format(7)}\n")
    assert both.verdict.startswith("1 OOM kill, and 1 run of the OOM killer without a victim in the log")


# Names that users choose

FORGED = "x,mems_allowed=0,oom_memcg=/system.slice/postgresql.service"


def group_of(text: str) -> tuple[str, bool]:
    (found,) = reports(text)
    assert found.group and found.victim
    return found.group.path, found.ambiguous


def test_a_cpuset_that_is_named_like_the_limit_of_another_group() -> None:
    forged = log("6.1/cgroup").replace("cpuset=/,", f"cpuset={FORGED},")
    assert group_of(forged) == ("/tight", False)  # the line before it names no other group, and agrees
    unsure = "\n".join(line for line in forged.split("\n") if "Memory cgroup stats for" not in line)
    assert group_of(unsure) == ("/tight", True)
    (found,) = reports(unsure)
    assert explain(found).confidence.value != "high"


def test_a_group_that_is_named_like_the_limit_of_another() -> None:
    own = "/user.slice/a,mems_allowed=1,oom_memcg=/system.slice/x"
    plain = log("6.1/cgroup")
    assert group_of(plain.replace("/tight", own)) == (own, False)
    unsure = "\n".join(line for line in plain.split("\n") if "Memory cgroup stats for" not in line)
    assert group_of(unsure.replace("/tight", own))[1]
    assert group_of(unsure) == ("/tight", False)


def test_a_want_of_the_host_is_none_of_a_group_whatever_a_cpuset_is_called() -> None:
    (found,) = reports(log("6.1/host").replace("cpuset=/,", f"cpuset={FORGED},task_memcg=/y,"))
    assert not found.of_group and found.constraint == "CONSTRAINT_NONE" and found.nodes == "0"
