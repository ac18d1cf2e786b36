"""CPU-CONTENTION: the command that lets one competitor go behind the target."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from perfdiag.diagnosis.evidence.runqueue.going_behind import go_behind
from perfdiag.facts.host_facts import Facts

from unit.support.facts import error, lines
from unit.support.judging import knowing
from unit.test_facts_cgroup import LEGACY, UNIFIED
from unit.test_findings_going_behind import group
from unit.test_findings_runqueue import process, waiting


def stat(pid: int, *, nice: int = 0, policy: int = 0) -> str:
    """Return /proc/PID/stat as far as it is read."""
    words = ["0"] * 50
    words[16], words[38] = str(nice), str(policy)
    return f"{pid} (x) S {' '.join(words[1:])}\n"


def behind(
    files: dict[str, str | None],
    named: list[tuple[str, int]],
    mountinfo: str = UNIFIED,
    why: str = "No such file or directory",
    **known: Any,
) -> str:
    """Return the advice where these were competitors; None: the file of one that had ended."""
    found = [error(path, why, "end") if text is None else lines(end={path: text})[0] for path, text in files.items()]
    seen = Facts.parse([*lines(begin={"/proc/self/mountinfo": mountinfo}), *found]).competitors
    return go_behind(knowing(waiting("task:7:x").model(), competitors=seen, **known), named)


UNIT = "/sys/fs/cgroup/user.slice/user@1000.service"
SLICE, SERVICE = "/sys/fs/cgroup/batch.slice", "/sys/fs/cgroup/batch.slice/report.service"


@pytest.mark.parametrize(
    ("files", "advice"),
    [
        ({"stat": stat(7)}, "renice -n 10 -p $(ls /proc/7/task) (now nice 0)"),
        ({"stat": stat(7, nice=19)}, "chrt -a -i -p 0 7 (now nice 19)"),
        ({"stat": stat(7, nice=0, policy=1)}, "chrt -a -o -p 0 7 (now real-time)"),
        (
            {"stat": stat(7), "autogroup": "/autogroup-9 nice 0\n"},
            "echo 10 >/proc/7/autogroup (now nice 0 as a session)",
        ),
        ({"stat": stat(7), "autogroup": "/autogroup-82 nice 0\n"}, "renice -n 10 -p $(ls /proc/7/task) (now nice 0)"),
    ],
)
def test_one_command_lets_a_competitor_go_behind_that_was_looked_at(files: dict[str, str | None], advice: str) -> None:
    own = replace(process("0-3"), session=82, session_nice=0)
    settings = {"kernel/sched_autogroup_enabled": "1"}
    text = behind(
        {f"/competitor/7/{name}": text for name, text in files.items()},
        [("x", 7)],
        processes={100: own},
        sysctl=settings,
    )
    assert text == f"lower the priority of x (7): {advice}"


@pytest.mark.parametrize(
    ("own", "advice"),
    [
        ([], f"systemctl set-property --runtime -- batch.slice CPUWeight=25 (now cpu weight 100 of all in {SLICE})"),
        (
            [SLICE],
            f"systemctl set-property --runtime -- report.service CPUWeight=50 (now cpu weight 200 of all in {SERVICE})",
        ),
        ([SLICE, SERVICE], "renice -n 10 -p $(ls /proc/7/task) (now nice 0)"),
    ],
)
def test_the_weight_counts_of_the_outermost_group_that_the_target_is_not_in(own: list[str], advice: str) -> None:
    files: dict[str, str | None] = {
        "/competitor/7/stat": stat(7),
        "/competitor/7/cgroup": "0::/batch.slice/report.service\n",
        f"{SLICE}/cpu.weight": "100\n",
        f"{SERVICE}/cpu.weight": "200\n",
    }
    text = behind(files, [("x", 7)], cpu_groups=[group(path=path, depth=depth) for depth, path in enumerate(own, 1)])
    assert text == f"lower the priority of x (7): {advice}"


def test_who_has_ended_is_not_told_to_yield() -> None:
    """Compilers that come and go: commands with their pids met nobody."""
    gone: dict[str, str | None] = {f"/competitor/{pid}/stat": None for pid in (7, 8)}
    text = behind(gone, [("cc1", 7), ("cc1", 8)])
    assert text.startswith("find out who starts cc1 again and again (cc1 (7) has ended)")
    many = [("cc1", pid) for pid in (5, 6, 7, 8, 9)]  # nobody looked at most: the first of the list may be any of them
    assert behind(gone, many).startswith("find out who starts cc1 again and again (cc1 (7) has ended)")
    text = behind({**gone, "/competitor/9/stat": stat(9)}, [("cc1", 7), ("cc1", 8), ("make", 9)])
    assert text == "lower the priority of make (9): renice -n 10 -p $(ls /proc/9/task) (now nice 0)"


@pytest.mark.parametrize(
    ("directory", "file", "weight", "advice"),
    [
        (
            "/sys/fs/cgroup/cpu,cpuacct/batch.slice",
            "cpu.shares",
            "1024",
            "echo 256 > /sys/fs/cgroup/cpu,cpuacct/batch.slice/cpu.shares",
        ),
        (f"{UNIT}/-Hhost.scope", "cpu.weight", "100", f"echo 25 > {UNIT}/-Hhost.scope/cpu.weight"),
        (
            "/sys/fs/cgroup/-Hhost.scope",
            "cpu.weight",
            "100",
            "systemctl set-property --runtime -- -Hhost.scope CPUWeight=25",
        ),
        ("/sys/fs/cgroup/idle", "cpu.weight", "1", "set a quota of CPU time for its control group"),
    ],
)
def test_whose_weight_is_lowered_and_by_what(directory: str, file: str, weight: str, advice: str) -> None:
    """Of version 1, of a user's own manager, of a name that looks like an option, and of one that has the least."""
    legacy = file == "cpu.shares"
    root = "/sys/fs/cgroup/cpu,cpuacct" if legacy else "/sys/fs/cgroup"
    line = f"{'3:cpu,cpuacct' if legacy else '0:'}:{directory.removeprefix(root)}\n"
    files: dict[str, str | None] = {"/competitor/7/stat": stat(7), "/competitor/7/cgroup": line}
    text = behind({**files, f"{directory}/{file}": f"{weight}\n"}, [("x", 7)], mountinfo=LEGACY if legacy else UNIFIED)
    assert text.startswith(f"lower the priority of x (7): {advice} (now cpu weight {weight} of all in {directory})"), (
        text
    )


def test_who_may_live_is_not_said_to_have_ended() -> None:
    """Its files could not be read in time, or nobody looked at it."""
    text = behind({"/competitor/7/stat": None}, [("x", 7)], why="timeout")
    assert "has ended" not in text and text.startswith("lower the priority of x (7)")
    text = behind({"/competitor/7/stat": None}, [("x", 7), ("y", 8)])
    assert "has ended" not in text
    assert "again and again" not in behind({"/competitor/7/stat": None}, [("x", 7)])
