"""What every program of tools/ with bcc does alike: it refuses what it cannot do, in one line, and it ends well."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from perfdiag.documents import script_header

from live.support.bcc import Program, command, need_bcc, refused
from live.support.bpftrace import TOOLS
from live.support.fixtures import Cleanup, Start
from live.support.mariadb import MariaStatements, need_mariadb
from unit.support.waiting import until

RECORDS = {"ledger.py"}  # it prints a recording: see test_engine.py
ALL = sorted(path.name for path in TOOLS.glob("*.py"))
NAMES = [name for name in ALL if name not in RECORDS]
SERVERS = {"sqlq.py"}  # they trace nothing else
NO_PROCESS = 1 << 22  # the kernel's largest number, and one
WRONG = [("abc",), ("1.5",), ("-1",), ("PID", "abc"), ("PID", "1.5"), ("PID", "1", "2"), ("--no-such",)]

pytestmark = pytest.mark.may_skip("python3-bpfcc, mariadb-server")
every_program = pytest.mark.parametrize("name", ALL)
every_table = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def target(name: str, start: Start, cleanup: Cleanup) -> int:
    """A process that the program traces."""
    need_bcc()
    if name not in SERVERS:
        return int(start("sleeper").pid)
    need_mariadb()
    return cleanup.enter_context(MariaStatements("DO NULL", 1)).pid


def check(name: str, done: subprocess.CompletedProcess[str], status: int, told: str) -> None:
    """One line, and nothing else; a recorder's has a hint, as those of perfdiag have."""
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1 + ("HINT: " in done.stderr)), done
    assert ("\nHINT: " in done.stderr) == (name in RECORDS), done
    assert done.stderr.startswith("error: " if name in RECORDS else f"{name}: ") and re.search(told, done.stderr), done


@every_table
@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_arguments_are_refused(name: str, words: tuple[str, ...]) -> None:
    """Whether or not there is bcc."""
    own = [word.replace("PID", str(os.getpid())) for word in words]
    check(name, refused(name, *own), 2, re.escape(f": {script_header.parse(TOOLS / name).synopsis}\n"))


@every_table
def test_a_process_that_must_be_named_is_asked_for(name: str) -> None:
    if script_header.parse(TOOLS / name).synopsis != f"{name} [PID [SECONDS]]":
        check(name, refused(name), 2, "required: PID")


@every_table
def test_a_process_that_does_not_exist_is_refused(name: str) -> None:
    check(name, refused(name, NO_PROCESS), 4, f"no process {NO_PROCESS}\n")


@every_table
def test_who_is_not_root_is_told(name: str) -> None:
    nobody = ["setpriv", "--reuid=65534", "--clear-groups", *command(name, os.getpid())]
    check(name, subprocess.run(nobody, capture_output=True, text=True, timeout=60), 3, "needs root\n")


@every_program
def test_a_missing_tracepoint_is_named(name: str, target: int) -> None:
    """Before anything is compiled."""
    text = (TOOLS / name).read_text()
    event = "sched_process_exit"
    assert event in text
    check(name, changed(name, target, text.replace(event, "sched_never")), 1, "no tracepoint sched:sched_never")


@every_program
def test_a_target_that_ends_while_it_attaches(name: str) -> None:
    """Whenever that is, standard output has nothing to do with it."""
    need_bcc()
    with subprocess.Popen(["sleep", "0.3"]) as target:
        done = subprocess.run(command(name, target.pid, 1), capture_output=True, text=True, timeout=60)
    assert "standard output" not in done.stderr and "Traceback" not in done.stderr, done
    assert done.returncode in (0, 4) or name in SERVERS, done


@every_program
@pytest.mark.parametrize(("output", "why"), [(">/dev/full", "No space left on device"), (">&-", "is closed")])
def test_output_that_nothing_takes(name: str, target: int, output: str, why: str) -> None:
    words = ["sh", "-c", f'exec "$@" {output}', "sh", *command(name, target, 1)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1 + ("HINT: " in done.stderr)), done
    assert f"standard output{'' if 'closed' in why else ':'} {why}\n" in done.stderr, done


def changed(name: str, target: int, text: str) -> subprocess.CompletedProcess[str]:
    """Run another program."""
    words = [*command(name)[:-1], "-", str(target)]
    return subprocess.run(words, input=text, capture_output=True, text=True, timeout=60)


@every_program
def test_what_cannot_be_compiled_is_told_in_a_line(name: str, target: int) -> None:
    """Clang says so at length, and bcc on standard output."""
    text = (TOOLS / name).read_text()
    assert "bpf_ktime_get_ns()" in text
    check(
        name, changed(name, target, text.replace("bpf_ktime_get_ns()", "no_such_function()")), 1, "cannot trace here: "
    )


@every_program
def test_it_ends_at_once(name: str, target: int) -> None:
    """Ctrl-C while it starts, and has yet to compile: nothing is printed."""
    process = subprocess.Popen(command(name, target), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    until(lambda: "libbcc" in Path(f"/proc/{process.pid}/maps").read_text(), "bcc is loaded")
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == b"" and process.returncode == -signal.SIGINT


@every_program
def test_it_ends_at_once_while_python_loads_what_it_needs(name: str) -> None:
    text = (TOOLS / name).read_text()
    slow = "import ctypes\nimport time\ntime.sleep(60)\n"
    assert "import ctypes\n" in text
    words = [*command(name)[:-1], "-", str(os.getpid())]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdin
    process.stdin.write(text.replace("import ctypes\n", slow, 1).encode())
    process.stdin.close()
    process.stdin = None
    until(lambda: "_ctypes" in Path(f"/proc/{process.pid}/maps").read_text(), "it has begun")
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == b"" and process.returncode == -signal.SIGINT


@every_program
def test_it_writes_no_file(name: str, target: int) -> None:
    """So that none is left behind, however it ends."""
    read_only = 'mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && exec "$@"'
    words = ["unshare", "-m", "sh", "-c", read_only, "sh", *command(name, target, 1)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout and not done.stderr, done


@every_table
def test_it_ends_after_so_many_seconds(name: str, target: int) -> None:
    with Program(name, target, 1) as program:
        begin = time.monotonic()
        program.wait()
        assert 0.5 < time.monotonic() - begin < 5


@every_table
def test_its_target_may_end(name: str, target: int) -> None:
    with Program(name, target) as program:
        os.kill(target, signal.SIGKILL)
        program.stop()
