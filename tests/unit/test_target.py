"""Selectors: what each of them finds, and what is said when it finds nothing, or too much."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from perfdiag.capture import listening_sockets, name_patterns, processes, target
from perfdiag.capture.target import Wanted, resolve
from perfdiag.common import privileges
from perfdiag.common.errors import PerfdiagError, TargetGone, UsageError

from unit.support.waiting import until

UNIQUE = f"t{os.getpid()}"  # a comm that no other process has


@contextmanager
def running(script: str, ready: int = 1) -> Iterator[list[str]]:
    """Run Python code; yield what its processes and threads said, once `ready` of them have said that they are."""
    # below a shell: perfdiag leaves out its own children, which are the recorder and the command held back
    command = [sys.executable, "-I", "-c", PRELUDE + script]
    with subprocess.Popen(
        ["sh", "-c", '"$@" & wait', "sh", *command], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout
            said = [process.stdout.readline() for _ in range(ready)]
            assert all(said), f"it ended before {ready} were ready: {said}"
            yield said
        finally:
            os.killpg(process.pid, signal.SIGKILL)


PRELUDE = """
import ctypes, os, signal, socket, sys, threading, time
def name(text): ctypes.CDLL(None).prctl(15, text.encode(), 0, 0, 0)
def ready(said=""): print(said or os.getpid(), flush=True)
"""


def pids_called(name: str) -> list[int]:
    return [process.pid for process in processes.everyone() if process.comm == name]


def state_of(pid: int) -> str | None:
    process = processes.read(pid)
    return process.state if process else None


def test_a_pid() -> None:
    found = resolve(Wanted(pids=(os.getpid(),)))
    assert found.pids == (os.getpid(),) and found.notes == ()
    assert found.description.endswith(f"(pid {os.getpid()}) with its descendants")
    assert resolve(Wanted(pids=(os.getpid(),), only=True)).description.endswith(f"(pid {os.getpid()})")


def test_several_pids() -> None:
    found = resolve(Wanted(pids=(os.getpid(), os.getppid(), os.getpid())))
    assert found.pids == (os.getpid(), os.getppid()) and found.description.endswith("with their descendants")


def test_more_than_can_be_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "PIDS_LIMIT", 1)
    assert resolve(Wanted(pids=(os.getpid(),))).pids == (os.getpid(),)
    with pytest.raises(UsageError, match="--pid has 2 processes, more than the 1 that can be followed"):
        resolve(Wanted(pids=(os.getpid(), os.getppid())))
    with running(f"name({UNIQUE + 'v'!r}); os.fork(); ready(); time.sleep(60)", ready=2):
        assert len(resolve(Wanted(name=UNIQUE + "v")).pids) == 1, "the child is followed as a descendant"
        with pytest.raises(UsageError, match=f"--name {UNIQUE}v has 2 processes, more than the 1"):
            resolve(Wanted(name=UNIQUE + "v", only=True))


def test_a_pid_namespace_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pids are not those by which the kernel's programs know the target: nothing would be measured."""
    namespace = tmp_path / "pid"
    monkeypatch.setattr(target, "PID_NAMESPACE", namespace)
    target.check_namespaces()  # without /proc nothing can be told
    namespace.touch()
    monkeypatch.setattr(target, "HOST_NAMESPACE", namespace.stat().st_ino)
    target.check_namespaces()
    monkeypatch.setattr(target, "HOST_NAMESPACE", namespace.stat().st_ino + 1)
    with pytest.raises(PerfdiagError, match="in its own pid namespace") as caught:
        target.check_namespaces()
    assert caught.value.exit_status == 1 and "--pid=host" in (caught.value.hint or "")


def test_a_time_namespace_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The begin of a process, as /proc tells it there, lies days from the clock that the recorder's programs read."""
    offsets = tmp_path / "timens_offsets"
    monkeypatch.setattr(target, "CLOCK_OFFSETS", offsets)
    target.check_namespaces()  # a kernel without them
    offsets.write_text("monotonic           0         0\nboottime            0         0\n")
    target.check_namespaces()
    offsets.write_text("monotonic           0         0\nboottime      1000000         0\n")
    with pytest.raises(PerfdiagError, match="in a time namespace"):
        target.check_namespaces()


def test_no_such_pid() -> None:
    with pytest.raises(TargetGone, match="no process has pid 4194305") as caught:
        resolve(Wanted(pids=(4194305,)))  # above the largest pid there can be
    assert caught.value.hint and caught.value.exit_status == 4


def test_a_kernel_thread() -> None:
    # the oldest: workers come and go
    threads = sorted((each for each in processes.everyone() if each.kernel_thread), key=lambda thread: thread.pid)
    if not threads:
        pytest.skip("no kernel thread is to be seen in this pid namespace")
    with pytest.raises(UsageError, match="is a thread of the kernel"):
        resolve(Wanted(pids=(threads[0].pid,)))


def test_a_zombie() -> None:
    with subprocess.Popen(["true"]) as process:
        until(lambda: state_of(process.pid) == "Z", "a zombie")
        with pytest.raises(TargetGone, match="has ended"):
            resolve(Wanted(pids=(process.pid,)))


def test_a_zombie_leader_whose_threads_go_on() -> None:
    script = f"name({UNIQUE + 'z'!r}); run = lambda: (ready(), time.sleep(60));"
    with running(script + "threading.Thread(target=run).start(); ctypes.CDLL(None).pthread_exit(None)"):
        (pid,) = pids_called(UNIQUE + "z")
        until(lambda: state_of(pid) == "Z", "a leader that has ended")
        assert resolve(Wanted(pids=(pid,))).pids == (pid,)


def test_a_thread_stands_for_its_process() -> None:
    with running(f"name({UNIQUE + 'p'!r}); threading.Thread(target=lambda: (ready(), time.sleep(60))).start()"):
        (pid,) = pids_called(UNIQUE + "p")
        (tid,) = {int(name) for name in os.listdir(f"/proc/{pid}/task")} - {pid}
        found = resolve(Wanted(pids=(tid,)))
        assert found.pids == (pid,) and f"{tid} is a thread of {UNIQUE}p (pid {pid})" in found.notes[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a pid namespace")
def test_a_pid_of_an_inner_namespace() -> None:
    script = f"""
ctypes.CDLL(None).unshare(0x20000000)
for _ in range(4):
    if not os.fork():
        name({UNIQUE + "n"!r}); ready(); time.sleep(60)
time.sleep(60)
"""
    with running(script, ready=4):
        inner = {processes.namespace_pid(pid): pid for pid in pids_called(UNIQUE + "n")}
        assert set(inner) == {1, 2, 3, 4}
        assert inner[4] in [process.pid for process in processes.by_namespace_pid(4)]
        assert str(processes.read(inner[4])) == f"{UNIQUE}n (pid {inner[4]}, 4 inside its container)"


def test_inner_pids_are_taken_if_they_are_the_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    me = processes.read(os.getpid())
    assert me
    monkeypatch.setattr(processes, "by_namespace_pid", lambda number: [me])
    found = resolve(Wanted(pids=(4194305,)))
    assert found.pids == (os.getpid(),) and "4194305 is a pid inside a container" in found.notes[0]
    monkeypatch.setattr(processes, "by_namespace_pid", lambda number: [me, me])
    with pytest.raises(UsageError, match="means 2 processes inside containers") as caught:
        resolve(Wanted(pids=(4194305,)))
    assert caught.value.hint and f"--pid {os.getpid()}" in caught.value.hint


def test_a_name_is_a_program_with_those_it_started() -> None:
    with running(f"name({UNIQUE + 'a'!r}); p = os.fork(); p and ready(); time.sleep(60)"):
        found = resolve(Wanted(name=f"^{UNIQUE}a$"))
        assert len(found.pids) == 1 and "matches 2 processes" in found.notes[0]
        alone = resolve(Wanted(name=f"^{UNIQUE}a$", only=True))
        assert len(alone.pids) == 2 and "descendants" not in alone.description


def test_workers_of_one_parent_are_one_program() -> None:
    fork = f"[os.fork() or (name({UNIQUE + 'w'!r}), ready(), time.sleep(60)) for _ in range(3)]"
    with running(fork + "; time.sleep(60)", ready=3):
        found = resolve(Wanted(name=f"^{UNIQUE}w$"))
        parent = processes.read(found.pids[0]).parent  # type: ignore[union-attr]
        assert len(found.pids) == 3 and f"matches 3 processes, workers of {processes.read(parent)}" in found.notes[0]


def test_separate_programs_of_one_name_are_an_error() -> None:
    script = f"name({UNIQUE + 's'!r}); ready(); time.sleep(60)"
    with running(script), running(script):
        pids = pids_called(UNIQUE + "s")
        with pytest.raises(UsageError, match="matches 2 separate processes") as caught:
            resolve(Wanted(name=f"^{UNIQUE}s$"))
        assert caught.value.hint and all(f"--pid {pid} " in caught.value.hint for pid in pids)


def test_programs_that_a_shell_started_are_separate_whatever_their_name() -> None:
    """Two scripts of one interpreter, begun by one shell without job control, are no workers of it."""
    script = f"name({UNIQUE + 'i'!r}); ready(); time.sleep(60)"
    shell = f"""
if not os.fork():
    name("sh")
    [os.fork() or exec({script!r}) for _ in range(2)]
    time.sleep(60)
time.sleep(60)
"""
    with running(shell, ready=2):
        with pytest.raises(UsageError, match="matches 2 separate processes") as caught:
            resolve(Wanted(name=f"^{UNIQUE}i$"))
        assert caught.value.hint and "repeat --pid" in caught.value.hint


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (Wanted(pids=(7, 8)), "--pid 7 --pid 8"),
        (Wanted(pids=(123456, 2, 3, 4, 5)), "--pid 123456 --pid 2 --pid 3 --pid 4"),
        (Wanted(name="nginx: worker process"), "--name 'nginx: worker process'"),
        (Wanted(name="it's"), """--name 'it'"'"'s'"""),
        (Wanted(name="a" * 200), f"--name {'a' * 200}"),
        (Wanted(name="a b" * 200), "--name ..."),
        (Wanted(port=5432), "--port 5432"),
        (Wanted(name="a|b\x1b[2J"), "--name 'a|b\\x1b[2J'"),
        (Wanted(cgroup="/sys/fs/cgroup/batch.slice", only=True), "--cgroup /sys/fs/cgroup/batch.slice"),
        (Wanted(unit="nginx.service"), "--unit nginx.service"),
        (Wanted(container="web"), "--container web"),
        (Wanted(command=("tar", "xf", "secret.tar")), "-- tar ..."),
        (Wanted(command=("make",)), "-- make"),
    ],
)
def test_a_selector_is_shown_as_it_was_given(wanted: Wanted, words: str) -> None:
    assert wanted.words == words


def test_a_hostile_name_is_shown_harmless() -> None:
    evil = f"{UNIQUE}\x1b[2J"
    with running(f"name({evil!r}); ready(); time.sleep(60)"):
        found = resolve(Wanted(name=f"^{UNIQUE}.\\[2J"))
        assert "\x1b" not in found.description and f"{UNIQUE}\\x1b[2J" in found.description


def test_a_comm_with_brackets_is_read_whole() -> None:
    evil = f"{UNIQUE}) R 1"
    with running(f"name({evil!r}); ready(); time.sleep(60)"):
        (pid,) = pids_called(evil)
        until(lambda: state_of(pid) == "S", "asleep")
        process = processes.read(pid)
        assert process and process.parent != 1 and process.comm == evil


def test_a_pattern_that_takes_for_ever_is_refused_in_time() -> None:
    """Of 15 characters it tries every way to part them, again and again."""
    with running(f"name({UNIQUE[:7] + 'a' * 8!r}); ready(); time.sleep(60)"):
        begin, before = time.monotonic(), os.times()
        with pytest.raises(UsageError, match="takes more than 1 s to match") as caught:
            resolve(Wanted(name="(((.*)*)*)*!"))
        after = os.times()
        spent = after.user + after.children_user - before.user - before.children_user
        assert caught.value.hint and spent < 3 and time.monotonic() - begin < 15


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to give up")
def test_names_are_matched_without_root(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shown:
        @staticmethod
        def search(name: str) -> bool:
            return name == f"{os.getresuid()} {os.getpriority(os.PRIO_PROCESS, 0)}"

    monkeypatch.setattr(name_patterns, "compiled", lambda pattern: Shown)
    monkeypatch.setenv("PERFDIAG_NICENESS", "7")
    names = ["other", f"{(privileges.NOBODY,) * 3} 7"]
    assert name_patterns.matching("", names) == {names[1]}


def test_a_name_nobody_has() -> None:
    with pytest.raises(TargetGone, match="no process has such a name") as caught:
        resolve(Wanted(name="a-name-that-is-longer-than-the-kernel-keeps"))
    assert caught.value.hint and "15 characters" in caught.value.hint


def test_perfdiag_does_not_find_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:  # as the recorder is
        assert {child.pid, os.getpid()} & {process.pid for process in target._others()} == set()
        child.kill()


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        (socket.AF_INET, socket.SOCK_STREAM),
        (socket.AF_INET6, socket.SOCK_STREAM),
        (socket.AF_INET, socket.SOCK_DGRAM),
    ],
)
def test_who_listens_on_a_port(family: int, kind: int) -> None:
    script = f"name({UNIQUE + 'l'!r}); s = socket.socket({int(family)}, {int(kind)}); s.bind(('', 0));"
    script += "s.listen() if s.type == 1 else 0; os.fork() and ready(s.getsockname()[1]); time.sleep(60)"
    with running(script) as (port,):
        found = resolve(Wanted(port=int(port)))
        assert set(found.pids) <= set(pids_called(UNIQUE + "l")) and len(found.pids) == 1
        assert "matches 2 processes" in found.notes[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a network namespace")
def test_who_listens_in_another_network_namespace() -> None:
    script = f"ctypes.CDLL(None).unshare(0x40000000); name({UNIQUE + 'o'!r}); s = socket.create_server(('', 0))"
    with running(script + "; ready(s.getsockname()[1]); time.sleep(60)") as (port,):
        assert list(resolve(Wanted(port=int(port))).pids) == pids_called(UNIQUE + "o")


def test_a_connection_does_not_listen() -> None:
    address = ("127.0.0.1", 0)
    with socket.create_server(address) as server, socket.create_connection(server.getsockname()) as client:
        assert listening_sockets.listeners(client.getsockname()[1], processes.everyone()) == []
        with pytest.raises(TargetGone, match="no process listens there"):
            resolve(Wanted(port=client.getsockname()[1]))


def test_files_that_can_block_are_never_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """cmdline, maps and environ wait for a lock that a stuck process may hold for ever; stat and ns for its exec."""
    touched: list[str] = []

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event in ("open", "os.listdir", "os.readlink") and watching:
            touched.append(str(arguments[0]))

    watching = True
    sys.addaudithook(watch)
    try:
        with running("s = socket.create_server(('', 0)); ready(); time.sleep(60)"):
            for wanted in (Wanted(name="^sh$"), Wanted(port=1), Wanted(pids=(os.getpid(),)), Wanted(unit="x")):
                try:
                    resolve(wanted)
                except (TargetGone, UsageError):
                    continue
    finally:
        watching = False
    own = [path for path in touched if path.startswith("/proc/")]
    assert len(own) > 10
    names = {path.split("/")[3] for path in own if path.split("/")[2].isdigit()}
    assert names <= {"comm", "status", "task", "fd", "net"}
