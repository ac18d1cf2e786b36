"""Each process keeps the capabilities that perfdiag(8) says and no others; and what a recorder without root can do."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from perfdiag.recording import schema

from conftest import ROOT
from live.support import laws
from live.support.fixtures import Start
from live.support.recorder import RECORDER, Recorder
from live.support.recording import Recording, ns_of
from live.support.workload import WORKLOADS
from unit.support.nobody import run_as_nobody
from unit.support.waiting import until

PROGRAM = ROOT / "build/bin/perfdiag"
PAGE = (ROOT / "man/perfdiag.8").read_text()
NUMBERS = {
    name: int(number)
    for name, number in re.findall(
        r"^#define (CAP_[A-Z_]+)\s+(\d+)$", Path("/usr/include/linux/capability.h").read_text(), re.MULTILINE
    )
}
REQUIRED = ["bpf", "perfmon"]
DOCUMENTED = [*REQUIRED, "syslog", "ipc_lock"]  # for the processes of one's own user
SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


@dataclass(frozen=True)
class Status:
    """What /proc/PID/status says of privileges."""

    name: str
    sets: tuple[frozenset[str], ...]  # as SETS
    no_new_privs: bool
    seccomp: int

    @property
    def permitted(self) -> frozenset[str]:
        return self.sets[1]

    @property
    def effective(self) -> frozenset[str]:
        return self.sets[2]

    @property
    def others(self) -> frozenset[str]:
        return self.sets[0] | self.sets[3] | self.sets[4]


def named(mask: str) -> frozenset[str]:
    return frozenset(name for name, bit in NUMBERS.items() if int(mask, 16) >> bit & 1)


def status(pid: int) -> Status:
    fields = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line
    )
    sets = tuple(named(fields[name]) for name in SETS)
    return Status(fields["Name"], sets, fields["NoNewPrivs"] == "1", int(fields["Seccomp"]))


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def documented() -> dict[str, frozenset[str]]:
    """Return the table of perfdiag(8): capabilities by process."""
    table: dict[str, set[str]] = defaultdict(set)
    for name, capability in re.findall(r"^(perfdiag\\-\w+)\t(CAP_\w+|none)\t", PAGE, re.MULTILINE):
        table[name.replace("\\", "")] |= {capability} - {"none"}
    return {name: frozenset(capabilities) for name, capabilities in table.items()}


@contextmanager
def watching(pid: int) -> Iterator[dict[str, set[Status]]]:
    """Note all states of a process's children, by name, also of those that live for a millisecond."""
    seen: dict[str, set[Status]] = defaultdict(set)
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            try:
                for child in children(pid):
                    found = status(child)
                    seen[found.name].add(found)
            except (OSError, KeyError):  # it has ended
                continue

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def write_perf_map(pid: int, lines: int) -> Path:
    """Make the names of a process slow to read, so that who reads them can be seen."""
    path = Path(f"/tmp/perf-{pid}.map")
    path.write_text("".join(f"{4096 * line:x} 10 function_{line}\n" for line in range(lines)))
    return path


def test_each_process_keeps_what_its_page_says(start: Start, tmp_path: Path) -> None:
    table = documented()
    absent = frozenset() if Path("/dev/cpu/0/msr").exists() else {"CAP_SYS_RAWIO"}
    target = start("many_threads", "--threads", 400, "--duration-ms", 60_000)
    target.start()
    target.await_threads(400)
    perf_map = write_perf_map(target.pid, 1_000_000)
    try:
        with Recorder([target.pid], tmp_path / "recording.jsonl", stacks=True) as recorder:
            own = status(recorder.process.pid)
            with watching(recorder.process.pid) as seen:
                until(lambda: "perfdiag-symbol" in seen, "names were asked for")
                recording = recorder.stop()
    finally:
        perf_map.unlink()
    assert own.effective == table["perfdiag-record"], own
    of_children = ["perfdiag-facts", "perfdiag-maps", "perfdiag-stacks", "perfdiag-symbol"]
    assert own.permitted == table["perfdiag-record"].union(*(table[name] for name in of_children)) - absent, own
    assert not own.others and own.no_new_privs, own
    for name in [*of_children, "perfdiag-netns"]:
        assert seen[name], f"{name} was never seen among {sorted(seen)}"
        for found in seen[name]:
            gone = name == "perfdiag-symbol" and not found.permitted  # it has opened all and reads
            assert gone or found.permitted == found.effective == table[name] - absent, found
            assert not found.others and found.no_new_privs, found
    # to say nothing of the filter of system calls, which comes last
    assert any(not s.permitted and s.seccomp == 2 for s in seen["perfdiag-symbol"]), seen["perfdiag-symbol"]
    assert recording.header.lacks == []


def test_who_tells_of_the_oom_killer_keeps_nothing(start: Start) -> None:
    words = [PROGRAM, "latency", "--pid", str(os.getpid()), "--duration", "60"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            watchers = until(
                lambda: [s for s in map(status, children(process.pid)) if s.name == "perfdiag-watch"], "it is there"
            )
        finally:
            process.kill()
    for found in watchers:
        assert not found.permitted and not found.effective and not found.others and found.no_new_privs, found
    assert documented()["perfdiag-watch"] == frozenset()


def test_a_command_keeps_the_rights_of_who_called() -> None:
    words = [PROGRAM, "latency", "--json", "--", "sh", "-c", "sleep 0.3; cat /proc/self/status >&2"]
    run = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    said = dict(line.split(":\t", 1) for line in run.stderr.splitlines() if ":\t" in line)
    own = status(os.getpid())
    assert named(said["CapEff"]) == own.effective and named(said["CapBnd"]) == own.sets[3]
    assert said["NoNewPrivs"] == "0"


def recorded(capabilities: list[str]) -> tuple[subprocess.CompletedProcess[str], Recording]:
    """Record a process of nobody's with a recorder of nobody's that has these capabilities."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        output = Path(folder) / "recording.jsonl"
        # a process of the recorder's own user, and without its capabilities
        script = """
            setpriv --inh-caps -all --ambient-caps -all "$0" --duration-ms 20000 >/dev/null & target=$!
            sleep 0.3
            "$1" --pid $target --duration 2 --stacks >"$2"; status=$?
            kill $target
            exit $status
        """
        words = ["sh", "-c", script, WORKLOADS / "spin", RECORDER, output]
        run = run_as_nobody(*words, capabilities=capabilities)
        assert run.returncode == 0, run.stderr
        recording = Recording(output)
    laws.check(recording)
    return run, recording


def computed_ns(recording: Recording) -> int:
    return sum(ns_of(row, "cpu.user") for row in recording.threads if row.comm == "spin")


def test_without_root_the_documented_capabilities_record_an_own_process() -> None:
    run, recording = recorded(DOCUMENTED)
    assert "warning: memory" not in run.stderr and "symbols" not in run.stderr, run.stderr
    assert computed_ns(recording) > 0.5e9
    assert any("(spin)" in frame for stack in recording.of(schema.Stack) for frame in stack.user), "no function named"
    assert all(probe.attached for probe in recording.header.probes if probe.feature == "stacks"), (
        "names of the kernel's"
    )
    texts = {fact.path for fact in recording.of(schema.Fact) if fact.text is not None}
    pid = recording.header.targets[0].pid
    assert {f"/proc/{pid}/io", f"/proc/{pid}/fd"} <= texts, "its own process's facts"
    lacks = ["CAP_CHECKPOINT_RESTORE", "CAP_DAC_READ_SEARCH", "CAP_SYS_ADMIN", "CAP_SYS_PTRACE"]
    assert [name for name in recording.header.lacks if name != "CAP_SYS_RAWIO"] == lacks


def test_with_less_the_ledger_is_there_and_what_is_missing_is_said() -> None:
    run, recording = recorded(REQUIRED)
    assert "memory is not locked" in run.stderr and "no kernel symbols" in run.stderr
    assert {"CAP_IPC_LOCK", "CAP_SYSLOG"} <= set(recording.header.lacks)
    assert computed_ns(recording) > 0.5e9


@pytest.mark.parametrize("lacking", REQUIRED)
def test_without_one_that_is_required_nothing_is_recorded(lacking: str) -> None:
    capabilities = [name for name in DOCUMENTED if name != lacking]
    run = run_as_nobody(RECORDER, "--pid", os.getpid(), "--duration", "1", capabilities=capabilities)
    assert run.returncode == 3, run.stderr
    assert f" without CAP_{lacking.upper()}: " in run.stderr and "6.1" not in run.stderr, run.stderr


def test_a_report_without_root_says_what_it_costs() -> None:
    words = ["sh", "-c", 'sleep 20 & "$0" latency --json --duration 0.5 --pid $!; kill $!', PROGRAM]
    run = run_as_nobody(*words, capabilities=DOCUMENTED)
    document: dict[str, Any] = json.loads(run.stdout)
    missing = [item for item in document["not_measured"] if "CAP_SYS_PTRACE" in item["reason"]]
    assert missing and missing[0]["fix"], run.stdout


def test_a_recorder_has_them_from_its_file() -> None:
    """As setcap(8) writes them."""
    mask = sum(1 << NUMBERS[f"CAP_{name.upper()}"] for name in DOCUMENTED)
    value = struct.pack("<IIIII", 0x02000001, mask & 0xFFFFFFFF, 0, mask >> 32, 0)  # version 2, effective
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        recorder = Path(folder) / "perfdiag-recorder"
        recorder.write_bytes(RECORDER.read_bytes())
        recorder.chmod(0o755)
        os.setxattr(recorder, "security.capability", value)
        script = 'sleep 20 & "$0" --pid $! --duration 1; status=$?; kill $!; exit $status'
        run = run_as_nobody("sh", "-c", script, recorder)
    assert run.returncode == 0, run.stderr
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    assert lines[-1]["type"] == "footer" and lines[-1]["threads_seen"] == 1
