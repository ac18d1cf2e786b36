"""What every script of tools/ does alike: it parses, it refuses what it cannot do, it ends well."""

from __future__ import annotations

import os
import re
import subprocess
import time

import pytest

from live.support.bpftrace import (
    HARMLESS,
    INTERPRETER,
    TOOLS,
    Script,
    command,
    foreign,
    lacking,
    only_of,
    refused,
    spelled,
)
from live.support.fixtures import Start, Trace

NAMES = sorted(path.stem for path in TOOLS.glob("*.bt"))
NO_PROCESS = 1 << 22  # the kernel's largest number, and one
GUARD = re.compile(r"^(interval:s\S+) {} // \S+ (.*)$", re.MULTILINE)
# One for each line that refuses wrong arguments, and what it says that may be given.
ALIKE = {match[1]: (name, match[2]) for name in NAMES for match in GUARD.finditer((TOOLS / f"{name}.bt").read_text())}
WRONG = [("abc",), ("1.5",), ("0",), ("PID", "abc"), ("PID", "1.5"), ("PID", "1", "2"), ("PID", "1", "abc")]

every_script = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.may_skip("tracepoints of a driver or module")) for name in NAMES]
)


@every_script
def test_it_parses_and_ends_with_its_target(name: str, version: str, start: Start) -> None:
    """Its target ends while it is traced, then Ctrl-C: nothing is printed that is not described."""
    if program := only_of(name):
        pytest.skip(f"{name}.bt is for programs with probes of {program} alone: see test_{name}.py")
    skip_foreign(name)
    target = start("sleeper")
    begin = time.monotonic()
    with Script(name, target.pid, version=version) as script:
        print(f"{name}.bt, {version} bpftrace: {time.monotonic() - begin:.1f} s until attached")
        target.process.kill()
        target.process.wait()
        script.stop()


@every_script
def test_a_process_that_does_not_exist_is_refused(name: str, version: str) -> None:
    skip_foreign(name)
    told = "No such process" if spelled(name, NO_PROCESS)[0] == "-p" else f"/proc/{NO_PROCESS}/"
    check_refusal(refused(version, name, NO_PROCESS), told)


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
@pytest.mark.parametrize(("name", "synopsis"), ALIKE.values())
def test_wrong_arguments_are_refused(name: str, synopsis: str, words: tuple[str, ...], version: str) -> None:
    own = [word.replace("PID", str(os.getpid())) for word in words]
    check_refusal(refused(version, name, *own), "ERROR")


@pytest.mark.parametrize("name", [name for name, synopsis in ALIKE.values() if not synopsis.startswith("[")])
def test_a_process_that_must_be_named_is_asked_for(name: str, version: str) -> None:
    """Once for each probe."""
    done = refused(version, name)
    told = re.findall("ERROR: (.*)", done.stderr)
    assert (done.returncode, done.stdout) == (1, "") and told, done
    assert len(set(told)) == 1 or every_probe_says_so(told), done
    assert re.search("pid|/proc//(exe|task)", told[0]), done


def skip_foreign(name: str) -> None:
    """Leave a script to a guest, where tests/lab/test_tools.py does the same with it."""
    if lacks := foreign(name):
        pytest.skip(f"{name}.bt runs in the lab: this kernel has no {', '.join(lacks)}")


def every_probe_says_so(messages: list[str]) -> bool:
    """Whether several messages are about one program: bpftrace says of each probe in it what it lacks."""
    programs = {re.sub(r".*(/proc/\d*/exe).*", r"\1", message) for message in messages}
    return len(messages) > 1 and len(programs) == 1 and programs.pop().endswith("/exe")


def check_refusal(done: subprocess.CompletedProcess[str], told: str) -> None:
    """One message, with the line that it is about; status 1; nothing else but what a program lacks."""
    assert (done.returncode, done.stdout) == (1, ""), done
    first, *rest = done.stderr.splitlines()
    messages = re.findall("ERROR: (.*)", done.stderr)
    assert told in first and messages, done.stderr
    if every_probe_says_so(messages) or every_probe_says_so(messages[1:] * 2):
        return
    assert len(messages) == 1, done.stderr
    assert not rest or (len(rest) == 2 and re.search(r"\[SECONDS\]|^u", rest[0])), done.stderr


def test_it_ends_after_so_many_seconds(start: Start, trace: Trace) -> None:
    """The same lines stand in every script."""
    script = trace("runqlat", start("sleeper"), 1)
    begin = time.monotonic()
    script.wait()
    assert 0.5 < time.monotonic() - begin < 5


def test_who_is_not_root_is_told(version: str) -> None:
    words = command(version, "runqlat", os.getpid())
    nobody = ["setpriv", "--reuid=65534", "--clear-groups"]
    at = words.index(INTERPRETER[0])  # only root may enter a root directory
    done = subprocess.run([*words[:at], *nobody, *words[at:]], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stdout == ""
    assert "root" in done.stderr and done.stderr.count("\n") <= 2, done.stderr


@pytest.mark.parametrize("event", ["sched_switch", "sched_wakeup_new"])
def test_a_missing_tracepoint_is_named(event: str, version: str) -> None:
    """Version 0.17 ends with status -1 for one of several that share a body."""
    text = (TOOLS / "runqlat.bt").read_text().replace(f"sched:{event}", "sched:sched_never")
    words = command(version, "runqlat", os.getpid())
    at = next(number for number, word in enumerate(words) if word.endswith(".bt"))
    done = subprocess.run([*words[:at], "-e", text, *words[at + 1 :]], capture_output=True, text=True, timeout=60)
    said = HARMLESS.sub("", done.stderr)
    assert done.returncode in (1, 255) and "Tracing" not in done.stdout
    assert "sched_never" in said and said.count("ERROR") == 1, said


def test_the_packaged_version_is_there() -> None:
    assert lacking("packaged") is None
