"""Threads of language runtimes: what is a lock, what has nothing to do, and what cannot be told apart."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from perfdiag.model.model import Model
from perfdiag.model.stacks.symbols import symbol_of

from live.support import laws
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of
from unit.support.waiting import until

THREADS = 4
BUSY = ("runq.busy", "runq.waking", "cpu.user", "cpu.kernel")
PYTHON = """
import concurrent.futures, threading, time
def computes():
    while True:
        sum(number * number for number in range(10000))
def holds(lock=threading.Lock()):
    while True:
        with lock:
            time.sleep(0.004)
def threads(function):
    for _ in range(4):
        threading.Thread(target=function).start()
def pool(busy):
    workers = concurrent.futures.ThreadPoolExecutor(4)
    together = threading.Barrier(4)
    list(workers.map(lambda _: together.wait(), range(4)))
    while busy:
        concurrent.futures.wait([workers.submit(time.sleep, 0.001) for _ in range(2)])
        time.sleep(0.02)
    time.sleep(1000)
"""
NODE = "require('fs').readFile('/dev/null', () => {}); setInterval(() => {}, 1 << 30)"
JAVA = """
public class Sleeper {
    public static void main(String[] arguments) throws Exception {
        new Thread(() -> {
            try { while (true) Thread.sleep(50); } catch (InterruptedException e) { }
        }, "retry").start();
        new java.net.ServerSocket(0).accept();
    }
}
"""


def comms(pid: int) -> list[str]:
    """Return the names of the threads of a process, without those that end meanwhile."""
    found = []
    for comm in Path(f"/proc/{pid}/task").glob("*/comm"):
        with contextlib.suppress(OSError):
            found.append(comm.read_text().strip())
    return found


def observed(
    command: list[str], ready: Callable[[list[str]], bool], cleanup: Cleanup, attach: Attach
) -> tuple[Model, int]:
    """Record a program for a while, from when the names of its threads show that it is ready."""
    process = cleanup.enter_context(subprocess.Popen(command, stdin=subprocess.DEVNULL))
    cleanup.callback(process.kill)
    until(lambda: ready(comms(process.pid)), "its threads are there")
    recorder = attach(process.pid)
    time.sleep(1.2)
    recording = recorder.stop()
    laws.check(recording)
    return model_of(recording), process.pid


def python(call: str, cleanup: Cleanup, attach: Attach) -> tuple[Model, int]:
    """Record the host's own Python, with symbols or, as distributions strip them, without."""
    return observed(["/usr/bin/python3", "-c", PYTHON + call], lambda names: len(names) > THREADS, cleanup, attach)


def names(model: Model) -> set[str]:
    """Return the functions that are known of threads that waited."""
    stacks = [stack for stack in model.stacks if stack.kind == "wait"]
    return {symbol_of(frame) for stack in stacks for frame in (*stack.user, *stack.scan)}


def test_the_gil_is_one_lock(cleanup: Cleanup, attach: Attach) -> None:
    model, pid = python("threads(computes)", cleanup, attach)
    gil_ns = sum(row.distribution.sum_ns for row in model.rows_of("lock.futex") if row.key == f"lock:gil:{pid}")
    rows = [row for row in model.rows if row.account in ("lock.futex", "wait.parked")]
    assert gil_ns > 0.95 * model.ns("lock.futex") and gil_ns > 0.5 * model.window_ns, rows


def test_a_lock_of_threading(cleanup: Cleanup, attach: Attach) -> None:
    """An interpreter without symbols shows only what queues wait in too."""
    model, pid = python("threads(holds)", cleanup, attach)
    keys = {row.key for row in model.rows_of("lock.futex") if row.distribution.sum_ns > 0.1 * model.window_ns}
    if not {"acquire_timed", "lock_PyThread_acquire_lock"} & names(model):
        assert not keys and model.parked_ns > 2 * model.window_ns, model.accounts
        return
    [key] = keys
    assert re.fullmatch(rf"lock:threading:{pid}:0x[0-9a-f]+", key)
    assert model.ns("lock.futex") > 2 * model.window_ns, model.accounts


@pytest.mark.parametrize("busy", [False, True])
def test_a_thread_pool_of_python_waits_for_no_lock(busy: bool, cleanup: Cleanup, attach: Attach) -> None:
    """Its threads wait for one lock at the same time and wake each other."""
    model, _ = python(f"pool({busy})", cleanup, attach)
    assert model.ns("wait.work", "wait.parked") > 2 * model.window_ns, model.accounts
    assert model.ns("lock.futex") < 0.1 * model.window_ns, model.rows_of("lock.futex")
    if any("SimpleQueue_get" in name for name in names(model)):
        assert model.ns("wait.work") > 2 * model.window_ns, model.accounts


@pytest.mark.may_skip("node")
def test_the_pools_of_node_have_nothing_to_do(cleanup: Cleanup, attach: Attach) -> None:
    node = shutil.which("node") or pytest.skip("no node")
    model, _ = observed([node, "-e", NODE], lambda names: len(names) >= 9, cleanup, attach)
    if not any("PlatformWorkerThread" in name for name in names(model)):
        pytest.skip("this node has no symbols")
    assert model.ns("wait.work") > 7 * model.window_ns, model.accounts
    assert model.parked_ns < 0.1 * model.window_ns, model.rows_of("wait.parked")


@pytest.mark.may_skip("java")
def test_the_helpers_of_java_have_nothing_to_do(cleanup: Cleanup, attach: Attach, tmp_path: Path) -> None:
    java, compiler = shutil.which("java"), shutil.which("javac")
    if not java or not compiler:
        pytest.skip("no JDK")
    (tmp_path / "Sleeper.java").write_text(JAVA)
    subprocess.run([compiler, "-d", tmp_path, tmp_path / "Sleeper.java"], check=True)
    command = [java, "-cp", str(tmp_path), "Sleeper"]
    model, _ = observed(command, lambda names: "retry" in names, cleanup, attach)
    [sleeper] = [thread for thread in model.threads if thread.comm == "retry"]
    assert sleeper.ns("wait.timer") > 0.9 * (sleeper.wall_ns - sleeper.ns(*BUSY)), sleeper.accounts
    helpers = [thread for thread in model.threads if thread.comm in ("VM Thread", "VM Periodic Tas", "Signal Dispatch")]
    assert len(helpers) == 3, model.threads
    for thread in helpers:
        assert thread.ns("wait.work") > 0.9 * (thread.wall_ns - thread.ns(*BUSY)), thread
    assert model.ns("lock.futex") < 0.1 * model.window_ns, model.rows_of("lock.futex")
