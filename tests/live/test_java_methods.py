"""Methods that a Java virtual machine has compiled, named from its memory: it writes no perf map."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples

from live.support.fixtures import Attach, Cleanup
from live.support.java import SERIAL, Compiled, machines, need_java
from live.support.model import model_of
from unit.support.c_programs import build
from unit.support.waiting import until

pytestmark = [pytest.mark.may_skip("java"), pytest.mark.timeout(120)]
METHOD = "Computes.grind (jit)"
WARM_UP_SECONDS, SECONDS = 1.0, 2.0


def computing(cleanup: Cleanup, java: str, *options: str) -> Compiled:
    running = Compiled("Computes", options=(*SERIAL, *options), java=java)
    cleanup.enter_context(running)
    running.start()
    time.sleep(WARM_UP_SECONDS)
    return running


def hottest(java: Compiled, attach: Attach, *orders: str) -> list[str]:
    recorder = attach(java, first=orders)
    time.sleep(SECONDS)
    return [each.name for each in CpuSamples(model_of(recorder.stop()), java.pid).hottest(1)]


def test_the_hot_method(cleanup: Cleanup, attach: Attach) -> None:
    need_java()
    for java in machines():
        running = computing(cleanup, java)
        assert hottest(running, attach) == [METHOD], java
        running.truth()


def test_the_interpreter(cleanup: Cleanup, attach: Attach) -> None:
    need_java()
    assert hottest(computing(cleanup, "java", "-Xint"), attach) == ["Interpreter (libjvm.so)"]


def test_no_apps(cleanup: Cleanup, attach: Attach) -> None:
    need_java()
    assert hottest(computing(cleanup, "java"), attach, "no-apps") != [METHOD]


def test_names_agree_with_the_perf_map(cleanup: Cleanup) -> None:
    """The virtual machine says what it has made, and where.  Its file names arguments as well, and goes first."""
    need_java()
    running = computing(cleanup, "java")
    path = Path(f"/tmp/perf-{running.pid}.map")
    try:
        subprocess.run(["jcmd", str(running.pid), "Compiler.perfmap"], check=True, capture_output=True, timeout=60)
        lines = [line.split(" ", 2) for line in path.read_text().splitlines()]
        with_file = names(running.pid, lines)
    finally:
        path.unlink(missing_ok=True)
    assert [f"{name} (jit)" for _, _, name in lines] == with_file
    found = names(running.pid, lines)
    for (_, _, name), each in zip(lines, found, strict=True):
        method = name.partition("(")[0].rpartition(" ")[2]
        assert each in (f"{method} (jit)", f"{name} (libjvm.so)")
    assert len(found) > 200 and {METHOD, "Interpreter (libjvm.so)"} <= set(found)


def names(pid: int, lines: list[list[str]]) -> list[str]:
    """Return what is found in the middle of each piece of code."""
    addresses = [hex(int(start, 16) + int(size, 16) // 2) for start, size, _ in lines]
    command = [build("resolve", "plain"), "--memory", str(pid), *addresses]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ).stdout.splitlines()


def test_it_ends_meanwhile(cleanup: Cleanup) -> None:
    """A process that is gone has no memory to read: there is no name, and no harm."""
    need_java()
    running = computing(cleanup, "java")
    running.process.kill()
    until(lambda: running.process.poll() is not None, "it has ended")
    assert names(running.pid, [["1000", "2", ""]]) == ["-"]
