"""Which child fails before a shell's sleep: told with its status and, where it is known, in what it failed."""

from __future__ import annotations

import errno
import re
import sys
from pathlib import Path

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Finding, Severity
from perfdiag.model.model import Model

from live.support.calling import running_command, watched
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

pytestmark = pytest.mark.quiet  # calls of others end what is looked at here

WINDOW_NS = 2_000_000_000
PYTHON = """
import subprocess, sys, time
print(0, flush=True)
while subprocess.run(["mkdir", sys.argv[1]], stderr=subprocess.DEVNULL).returncode:
    time.sleep(0.1)
"""


def shell(text: str, path: Path, attach: Attach, cleanup: Cleanup) -> Model:
    """Record a shell that runs a script in a folder with a folder "lock"."""
    (path / "lock").mkdir()
    words = ["sh", "-c", f"cd {path}; echo 0; {text}"]
    pid, _ = cleanup.enter_context(running_command(words))
    return model_of(attach(pid, duration_ns=WINDOW_NS).wait())


def retried(model: Model) -> Finding | None:
    return next((each for each in diagnose(model).findings if each.id == "CALL-RETRIED"), None)


def test_the_child_before_a_sleep(tmp_path: Path, attach: Attach, cleanup: Cleanup) -> None:
    text = "until mkdir lock 2>/dev/null; do sleep 0.1; done"
    model = shell(text, tmp_path, attach, cleanup)
    lines = [each for each in model.failed_calls if each.command]
    assert {(each.comm, each.command, each.exit_code) for each in lines} == {("sleep", "mkdir", 1 << 8)}, lines
    sleeps = sum(each.sleeps for each in lines)
    slept = sum(each.threads for each in model.threads if each.comm == "sleep")
    assert slept - 4 <= sleeps <= slept and sum(each.sum_ns for each in lines) >= sleeps * 90_000_000
    for each in lines:
        assert (each.call, each.error, each.file) in {("syscall:mkdir", errno.EEXIST, "lock"), ("", 0, "")}
    found = retried(model)
    assert found and found.severity is Severity.WARNING, found
    assert found.headline.startswith("mkdir ends with status 1")
    assert re.search(r"\bsh sleeps \d+ times before it tries again$", found.headline), found.headline


def test_who_started_it_may_sleep_itself(tmp_path: Path, attach: Attach, cleanup: Cleanup) -> None:
    (tmp_path / "lock").mkdir()
    pid, _ = cleanup.enter_context(running_command(["python3", "-c", PYTHON, tmp_path / "lock"]))
    model = watched(attach, pid, WINDOW_NS)
    lines = [each for each in model.failed_calls if each.command]
    assert {(each.comm.removesuffix(".11"), each.command) for each in lines} == {("python3", "mkdir")}, lines
    found = retried(model)
    assert found and found.headline.startswith("mkdir ends with status 1 (mkdir() of lock: EEXIST)"), found


def test_a_child_that_is_killed_fails(tmp_path: Path, attach: Attach, cleanup: Cleanup) -> None:
    text = "until sh -c 'kill -9 $$'; do sleep 0.1; done 2>/dev/null"
    found = retried(shell(text, tmp_path, attach, cleanup))
    assert found and found.headline.startswith("sh is ended by SIGKILL, and sh sleeps"), found


@pytest.mark.parametrize(
    "text",
    [
        "while :; do mkdir other && rmdir other; sleep 0.1; done",
        "while :; do mkdir lock 2>/dev/null; dd if=/dev/zero of=/dev/null bs=1000 count=10000 2>/dev/null; done",
        "mkdir lock 2>/dev/null; while :; do sleep 0.1; done",
        "while :; do mkdir lock 2>/dev/null; mkdir other; sleep 0.1; rmdir other; done",
        "while :; do mkdir lock 2>/dev/null || sleep 0.02; mkdir other; sleep 0.5; rmdir other; done",
        "while :; do mkdir lock 2>/dev/null; ls >/dev/null; sleep 0.1; done",
        "while :; do mkdir lock 2>/dev/null | cat; sleep 0.1; done",
        "while :; do seq 1000000 | grep -q 5; sleep 0.1; done",
    ],
    ids=["fine", "computes", "once", "another", "mostly", "other work", "pipeline", "unread"],
)
def test_sleep_that_is_for_something_else(text: str, tmp_path: Path, attach: Attach, cleanup: Cleanup) -> None:
    assert retried(shell(text, tmp_path, attach, cleanup)) is None


@pytest.mark.parametrize(
    ("job", "told"),
    [
        ("os.mkdir('lock')", "ends with status 1 (mkdir() of lock: EEXIST)"),
        ("os.makedirs('lock', exist_ok=True); sys.exit(3)", "ends with status 3"),
        ("os.makedirs('lock', exist_ok=True); sys.exit('no such key')", "ends with status 1"),
        ("os.setuid(65534); ctypes.CDLL(None).nice(-5); sys.exit(3)", "ends with status 3"),
    ],
    ids=["fails in it", "silent", "goes on", "harmless"],
)
def test_what_fails_last_may_not_be_why_a_child_ends(
    job: str, told: str, tmp_path: Path, attach: Attach, cleanup: Cleanup
) -> None:
    (tmp_path / "job.py").write_text(f"import ctypes, os, sys; {job}", encoding="utf-8")
    text = f"while :; do {sys.executable} -IS job.py 2>/dev/null; sleep 0.3; done"
    model = shell(text, tmp_path, attach, cleanup)
    found = retried(model)
    name = Path(sys.executable).name
    assert found and found.headline.startswith(f"{name} {told}, and sh sleeps"), found


def test_a_child_that_its_parent_ends_has_not_failed(attach: Attach, cleanup: Cleanup) -> None:
    text = """
import subprocess, time
print(0, flush=True)
while True:
    with subprocess.Popen(["sleep", "9"]) as child:
        child.terminate()
    time.sleep(0.1)
"""
    pid, _ = cleanup.enter_context(running_command(["python3", "-c", text]))
    assert retried(watched(attach, pid, WINDOW_NS)) is None


def test_a_pipeline_fails_if_its_last_process_does(tmp_path: Path, attach: Attach, cleanup: Cleanup) -> None:
    found = retried(shell("until ls | mkdir lock 2>/dev/null; do sleep 0.1; done", tmp_path, attach, cleanup))
    assert found and found.headline.startswith("mkdir ends with status 1"), found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("grep -q ready /dev/null", "grep ends with status 1"),
        ("[ -e missing ]", "newfstatat() of missing failed (ENOENT)"),
    ],
)
def test_a_condition_that_is_not_met_yet_is_no_fault(
    text: str, told: str, tmp_path: Path, attach: Attach, cleanup: Cleanup
) -> None:
    """What a shell looks at itself, its own call tells."""
    found = retried(shell(f"until {text}; do sleep 0.1; done", tmp_path, attach, cleanup))
    if text.startswith("[") and found is None:
        return  # this host makes more than 100,000 system calls a second on a CPU
    assert found and found.severity is Severity.INFO, found
    assert found.headline.startswith(f"Threads sleep, mostly after {told}"), found


def test_a_child_whose_question_is_refused_is_told_with_the_answer(
    tmp_path: Path, attach: Attach, cleanup: Cleanup
) -> None:
    server = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection = listener.accept()[0]
    connection.recv(10_000)
    connection.sendall(b"HTTP/1.1 503 x\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
    connection.close()
"""
    client = (
        "import socket, sys; peer = socket.create_connection(('127.0.0.1', int(sys.argv[1])));"
        " peer.sendall(b'GET /ready HTTP/1.1\\r\\n\\r\\n'); sys.exit(b' 503 ' in peer.recv(1000))"
    )
    _, port = cleanup.enter_context(running_command(["python3", "-c", server]))
    (tmp_path / "ask.py").write_text(client, encoding="utf-8")
    model = shell(f"until python3 -S ask.py {port}; do sleep 0.1; done", tmp_path, attach, cleanup)
    found = retried(model)
    assert found and found.severity is Severity.WARNING, found
    assert "(GET /ready: 503)" in found.headline, found
