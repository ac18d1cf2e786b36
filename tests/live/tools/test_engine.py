"""--engine: perfdiag runs a script, passes on what that prints, and reports it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from live.support.bpftrace import TOOLS, foreign, instead_of_bpftrace, lacking
from live.support.fixtures import Attach, Cleanup, Start
from live.support.host import MEBIBYTE, cgroup, enter
from live.support.recorder import RECORDER
from live.support.workload import Workload
from unit.support.waiting import until

PROGRAM = ROOT / "build/bin/perfdiag"
SHARED_CPU = max(os.sched_getaffinity(0))
ENGINE = ("--engine", "bpftrace")
PROGRAMS = {"bpftrace": "bpftrace", "bcc": "python3"}  # by engine: the name of its process
every_engine = pytest.mark.parametrize("engine", PROGRAMS)


@pytest.fixture(autouse=True)
def _bpftrace() -> None:
    assert lacking("packaged") is None and not foreign("ledger"), "this also shows tracepoints to bpftrace"


@pytest.fixture
def spinning(start: Start) -> Iterator[Workload]:
    workload = start("spin", "--threads", 4, "--cpu", SHARED_CPU, "--duration-ms", 60_000)
    workload.start()
    yield workload
    workload.process.kill()


def perfdiag(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in (PROGRAM, *arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, **options)


@every_engine
def test_a_report(engine: str, spinning: Workload) -> None:
    run = perfdiag("latency", "--engine", engine, "--pid", spinning.pid, "--duration", "1500ms", "--json")
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["versions"]["engine"] == engine
    assert report["target"]["threads"] == 5, "also the one that only waits for these"
    assert 1.2e9 < report["window"]["duration_ns"] < 6e9, "bpftrace 0.17 may have to be told twice, after 2 s"
    waited_ns = sum(row["ns"] for row in report["accounts"] if row["account"] == "runq.busy")
    assert waited_ns > 0.5 * report["busy_ns"] and report["coverage"]["closed_error"] < 0.01
    assert any("nfs.commit" in item["what"] for item in report["not_measured"])


# What threads of the workload `sleeper` sleep for; of the others no script can tell it, except bcc of files.
ASLEEP = {
    "in-nanosleep": "wait.timer",
    "in-epoll": "wait.events",
    "in-poll": "wait.events",
    "in-accept": "net.accept",
    "in-signal": "wait.signal",
    "in-futex": "wait.parked",
    "in-tcp": "wait.parked",
    "in-child": "wait.child",
}


@every_engine
def test_threads_that_sleep_all_along(engine: str, start: Start, attach: Attach) -> None:
    """They are in the books, for what they sleep for: whoever found them there."""
    sleeper = start("sleeper")
    until(lambda: {name for name, state in sleeper.states().items() if state == "S"} >= ASLEEP.keys(), "all sleep")
    recorder = attach(sleeper, engine=engine, only=True)
    time.sleep(1)
    recording = recorder.stop()
    assert len(recording.threads) == recording.footer.threads_seen == len(sleeper.states())
    assert recording.footer.threads_not_seen == 0
    assert bool(recording.footer.threads_asleep) == (engine == "bpftrace")
    window_ns = recording.footer.at_ns - recording.header.start_ns
    for row in recording.threads:
        sums = {each.account: each.sum_ns for each in row.accounts}
        assert row.wall_ns == sum(sums.values()) > 0.9 * window_ns, row
        assert row.comm not in ASLEEP or sums.get(ASLEEP[row.comm], 0) > 0.9 * window_ns, row


@every_engine
def test_a_recording_ended_by_ctrl_c(engine: str, spinning: Workload, tmp_path: Path) -> None:
    path = tmp_path / "kept.rec"
    words = [PROGRAM, "record", "--engine", engine, "--pid", spinning.pid, "--duration", 0, "-o", path]
    with subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True) as process:
        until(lambda: begun(path) or process.poll() is not None, "the window has begun")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert path.stat().st_mode & 0o777 == 0o600 and f"perfdiag report {path}" in said
    assert perfdiag("report", path).returncode == 0


@every_engine
def test_its_target_ends(engine: str, start: Start) -> None:
    workload = start("lock", "--duration-ms", 1200)
    words = [str(PROGRAM), "latency", "--engine", engine, "--pid", str(workload.pid), "--duration", "30", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert any(line.startswith("perfdiag: recording ") for line in process.stderr), "the window has not begun"
        workload.start()
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads(out)["window"]["duration_ns"] < 20e9


@every_engine
def test_it_is_killed_in_the_window(engine: str, spinning: Workload, tmp_path: Path) -> None:
    """What was written is readable, and says that its end is missing; the status is not 0."""
    path = tmp_path / "cut.rec"
    words = [PROGRAM, "record", "--engine", engine, "--pid", spinning.pid, "--duration", 30, "-o", path]
    with subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True) as process:
        until(lambda: begun(path) or process.poll() is not None, "the window has begun")
        time.sleep(0.5)
        for pid in children(PROGRAMS[engine], process.pid):
            os.kill(pid, signal.SIGKILL)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1 and f"{engine} was killed by signal 9" in said, said
    assert "cut short after" in said and "Bad file descriptor" not in said
    read = perfdiag("report", path)
    assert "Traceback" not in read.stderr + said and ("no end" in read.stdout or "CUT SHORT" in read.stdout), (
        read,
        said,
    )


@every_engine
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_somebody_else_ends_it_in_the_window(
    engine: str, number: signal.Signals, spinning: Workload, tmp_path: Path
) -> None:
    """What it has recorded counts, and is less than was asked for."""
    path = tmp_path / "short.rec"
    words = [PROGRAM, "record", "--engine", engine, "--pid", spinning.pid, "--duration", 30, "-o", path]
    with subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True) as process:
        until(lambda: begun(path) or process.poll() is not None, "the window has begun")
        time.sleep(0.5)
        for pid in children(PROGRAMS[engine], process.pid):
            os.kill(pid, number)
        _, said = process.communicate(timeout=60)
    assert f"warning: {engine} ended in the middle of the window" in said, said
    assert perfdiag("report", path).returncode == 0


@every_engine
def test_it_is_killed_before_the_window(engine: str, spinning: Workload) -> None:
    words = [PROGRAM, "latency", "--engine", engine, "--pid", spinning.pid, "--duration", 30]
    with subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True) as process:
        until(lambda: children(PROGRAMS[engine], process.pid) or process.poll() is not None, "it has been started")
        for pid in children(PROGRAMS[engine], process.pid):
            os.kill(pid, signal.SIGKILL)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1, said
    assert f"error: {engine} was killed by signal 9 before the window began: it did not say why\n" in said, said
    assert "HINT: if it was the OOM killer" in said and "PERFDIAG_DEBUG" not in said, said


@every_engine
def test_its_target_ends_before_the_window(engine: str, start: Start) -> None:
    workload = start("sleeper")
    words = [PROGRAM, "latency", "--engine", engine, "--pid", workload.pid, "--duration", 30]
    with subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True) as process:
        until(lambda: children(PROGRAMS[engine], process.pid) or process.poll() is not None, "it has been started")
        workload.process.kill()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 4 and f"error: the process ended before {engine} traced anything\n" in said, said


@pytest.mark.may_skip("cgroup version 1: memory")
@every_engine
def test_its_control_group_has_no_room_for_it(engine: str, spinning: Workload, cleanup: Cleanup) -> None:
    # Libraries that are in memory already are nobody's of the group: else it reads them again and again, and lives.
    perfdiag("latency", "--engine", engine, "--pid", spinning.pid, "--duration", "100ms")
    group = cleanup.enter_context(cgroup("memory", "engine", limit_in_bytes=66 * MEBIBYTE))
    run = perfdiag("latency", "--engine", engine, "--pid", spinning.pid, "--duration", 1, preexec_fn=enter(group))
    killed = f"error: {engine} was killed: memory is short, and the kernel's OOM killer took it\n"
    assert run.returncode == 1 and f"{killed}HINT: give it 200 MiB of room, also in its control group\n" in run.stderr


def begun(path: Path) -> bool:
    """Return whether the header is in the file."""
    return path.exists() and path.stat().st_size > 0


def without(*hidden: str) -> list[str]:
    """Return the words that hide from a command what is in folders, or programs."""
    mounts = "".join(
        f"mount -t tmpfs none {path} && " if path.endswith("/") else f"mount --bind /dev/null {path} && "
        for path in hidden
    )
    return ["unshare", "-m", "sh", "-c", f'{mounts}exec "$@"', "sh"]


def children(name: str, ancestor: int) -> list[int]:
    """Return the processes of a name that descend from another one."""
    found = subprocess.run(["ps", "-e", "-o", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()]
    parents = {int(pid): int(parent) for pid, parent, _ in rows}

    def descends(pid: int) -> bool:
        while pid:
            pid = parents.get(pid, 0)
            if pid == ancestor:
                return True
        return False

    return [int(pid) for pid, _, comm in rows if comm == name and descends(int(pid))]


def recorder(script: Path | str, pid: int) -> subprocess.CompletedProcess[str]:
    words = [RECORDER, "--script", script, "--pid", pid, "--duration", 1]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, check=False)


def test_a_script_that_others_can_change_is_not_run(tmp_path: Path, spinning: Workload) -> None:
    script = tmp_path / "ledger.bt"
    script.write_text((TOOLS / "ledger.bt").read_text())
    script.chmod(0o666)
    run = recorder(script, spinning.pid)
    assert run.returncode == 3 and "is not root's alone" in run.stderr and run.stdout == ""
    script.chmod(0o1777)  # what protects the files of a directory does not protect a file
    assert recorder(script, spinning.pid).returncode == 3
    script.chmod(0o644)
    os.chown(script, 65534, 0)
    assert recorder(script, spinning.pid).returncode == 3
    assert "No such file" in recorder(tmp_path / "none.bt", spinning.pid).stderr


def test_modules_that_others_can_change_are_not_run(tmp_path: Path, spinning: Workload) -> None:
    """Python runs lines of .pth files at its start, and looks for modules in /usr/local first."""
    modules, ran = tmp_path / "modules", tmp_path / "ran"
    (modules / "bcc").mkdir(parents=True)
    for file in (modules / "others.pth", modules / "bcc/__init__.py"):
        file.write_text(f"import os; os.mknod({str(ran)!r})\n")
    os.chown(modules, 65534, 0)
    code = "import site; print(site.getsitepackages()[0])"
    first = subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    words = ["unshare", "-m", "sh", "-c", f'mkdir -p {first} && mount --bind {modules} {first} && exec "$@"', "sh"]
    words += [str(PROGRAM), "record", "--engine", "bcc", "-o", str(tmp_path / "x.rec"), "--pid", str(spinning.pid)]
    words += ["--duration", "500ms"]
    run = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0 and not ran.exists(), run.stderr


def test_what_bpftrace_says_is_told(tmp_path: Path, spinning: Workload) -> None:
    script = tmp_path / "wrong.bt"
    script.write_text("tracepoint:sched:never_there { }\n")
    run = recorder(script, spinning.pid)
    assert run.returncode == 1 and run.stdout == ""
    assert run.stderr.startswith("error: bpftrace does not trace: ") and "never_there" in run.stderr, run.stderr


def test_a_script_that_ends_by_itself_has_failed(tmp_path: Path, spinning: Workload) -> None:
    script = tmp_path / "short.bt"
    script.write_text('interval:ms:100 { printf("{}\\n"); exit(); }\n')
    run = recorder(script, spinning.pid)
    assert run.returncode == 1 and "ended in the middle of the window, with status 0" in run.stderr, run


def without_types(*arguments: object, more: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run perfdiag where the kernel does not describe its types, as far as can be seen."""
    words = [str(word) for word in (*without("/sys/kernel/btf/", *more), PROGRAM, *arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)


BCC = "/usr/lib/python3/dist-packages/bcc/"


@pytest.mark.parametrize(("more", "engine"), [((), "bcc"), ((BCC,), "bpftrace")])
def test_auto_takes_the_best_there_is(more: tuple[str, ...], engine: str, spinning: Workload) -> None:
    run = without_types("latency", "--pid", spinning.pid, "--duration", "500ms", "--json", more=more)
    assert run.returncode == 0 and json.loads(run.stdout)["versions"]["engine"] == engine, run.stderr
    assert f"note: {engine} records: " in run.stderr
    assert ("bcc does not trace: bcc for Python 3 is not installed" in run.stderr) == bool(more), run.stderr


def test_too_old_a_bpftrace(tmp_path: Path, spinning: Workload) -> None:
    """One line, with what it said itself and what is needed; no version is asked."""
    old = instead_of_bpftrace(tmp_path / "bpftrace", "echo 'stdin:41:1-9: ERROR: Undefined variable' >&2\nexit 1")
    words = [*old, PROGRAM, "record", "-o", tmp_path / "none.rec", *ENGINE, "--pid", spinning.pid]
    run = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, check=False)
    said = [line for line in run.stderr.splitlines() if not line.startswith("perfdiag: recording")]
    assert run.returncode == 1 and len(said) == 2 and not (tmp_path / "none.rec").exists(), run
    assert said[0] == "error: bpftrace does not trace: stdin:41:1-9: ERROR: Undefined variable"
    assert said[1] == "HINT: it needs bpftrace 0.17 or later, and tracepoints"


@every_engine
def test_an_engine_that_is_stopped_in_the_window(engine: str, spinning: Workload, tmp_path: Path) -> None:
    """It goes on when the window ends."""
    path = tmp_path / "stopped.rec"
    words = [PROGRAM, "record", "--engine", engine, "--pid", spinning.pid, "--duration", 3, "-o", path]
    with subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True) as process:
        until(lambda: begun(path) or process.poll() is not None, "the window has begun")
        for pid in children(PROGRAMS[engine], process.pid):
            os.kill(pid, signal.SIGSTOP)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said
    assert perfdiag("report", path).returncode == 0


def test_a_host_with_nothing_is_told_all_reasons(spinning: Workload) -> None:
    run = without_types("latency", "--pid", spinning.pid, more=(BCC, "/usr/bin/bpftrace"))
    errors = [line for line in run.stderr.splitlines() if line.startswith(("error: ", "HINT: "))]
    assert run.returncode == 1 and len(errors) == 2 and run.stdout == "", run
    assert "no /sys/kernel/btf/vmlinux" in errors[0] and "bcc for Python 3" in errors[0] and "bpftrace" in errors[0]


def test_auto_takes_what_the_host_has_and_says_so(spinning: Workload) -> None:
    run = without_types("latency", "--pid", spinning.pid, "--duration", "1500ms", "--json")
    assert run.returncode == 0, run.stderr
    notes = [line for line in run.stderr.splitlines() if line.startswith("note: ")]
    assert len(notes) == 2 and "records: perfdiag's own programs cannot run here" in notes[0], run.stderr
    assert "no /sys/kernel/btf/vmlinux" in notes[0] and "error: " not in run.stderr
    report = json.loads(run.stdout)
    assert report["versions"]["engine"] == "bcc" and report["target"]["threads"] == 5
    first = report["not_measured"][0]
    assert "recorded, because perfdiag's own programs cannot run here" in first["reason"], first


def test_auto_is_libbpf_where_that_runs(spinning: Workload) -> None:
    run = perfdiag("latency", "--pid", spinning.pid, "--duration", "500ms", "--json")
    assert run.returncode == 0 and "note: " not in run.stderr, run.stderr
    assert json.loads(run.stdout)["versions"]["engine"] == "libbpf"


@pytest.mark.parametrize("asked", [["--slo", "5ms"], ["--stacks"], ["--pid", str(os.getpid())], ["--", "true"]])
def test_auto_never_leaves_out_what_was_asked_for(spinning: Workload, asked: list[str]) -> None:
    target = [] if asked[0] == "--" else ["--pid", spinning.pid]
    run = without_types("latency", *target, *asked)
    errors = [line for line in run.stderr.splitlines() if line.startswith(("error: ", "HINT: "))]
    assert run.returncode == 2 and len(errors) == 2 and run.stdout == "", run
    assert "needs perfdiag's own programs: this kernel does not describe its types" in errors[0], run.stderr


def test_libbpf_takes_nothing_else(spinning: Workload) -> None:
    run = without_types("latency", "--engine", "libbpf", "--pid", spinning.pid)
    assert run.returncode == 1 and run.stderr.count("error: ") == 1 and "--engine auto" in run.stderr, run


def test_the_host_is_in_the_recording(spinning: Workload, tmp_path: Path) -> None:
    """The recorder adds what a script cannot know: to the header, and as facts of both ends before the footer."""
    path = tmp_path / "facts.rec"
    run = perfdiag("record", *ENGINE, "--pid", spinning.pid, "--duration", 1, "-o", path)
    assert run.returncode == 0, run.stderr
    lines = [json.loads(line) for line in path.read_text().splitlines() if '"type":"thread"' not in line]
    assert lines[0]["host"]["nodename"] == os.uname().nodename
    assert lines[0]["host"]["cpus_online"] == os.cpu_count()
    assert lines[-1]["type"] == "footer"
    facts = {(line["phase"], line["path"]) for line in lines if line["type"] == "fact"}
    assert {("begin", "/proc/stat"), ("end", "/proc/stat")} <= facts
    assert ("begin", f"/proc/{spinning.pid}/cgroup") in facts


def test_several_processes_are_too_many(spinning: Workload) -> None:
    run = perfdiag("latency", *ENGINE, "--pid", spinning.pid, "--pid", os.getpid(), "--duration", 1)
    assert run.returncode == 2 and "records one process" in run.stderr, run
