"""Makes a case for real on this host: servers, their load, and a recording of one of them meanwhile."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import msgspec
from perfdiag.report.contract import Report

from bench.processes import PATIENCE_SECONDS, running
from live.support.host import slow_disk
from live.support.workload import ROOT, WORKLOADS
from truth.support.load import ended
from truth.support.row import DELAYS, Case, Row

FUNCTIONS = Path(__file__).with_name("stage.sh")
UP_SECONDS = 300  # a compiler's first run
AFTER_SECONDS = 60  # of load beyond the recording at most: perfdiag takes its time, on a busy host
READY = 'for port in $listening; do until (: 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.05; done; done'

# Servers that wait for neighbours on a busy host would be ill of that.  Where the kernel makes a group of every
# session, that of the group counts.
NICENESS = -10
OWN_GROUP = Path("/proc/self/autogroup")


class Made(msgspec.Struct, frozen=True):
    """What the report says, and what the load saw."""

    report: Report
    truth: dict[str, float]
    busy: float | None  # part of the window in which somebody on this host waited for a CPU; None: not known


class Stage:
    """The scripts and processes of one case, all in one environment; a context manager that leaves nothing behind."""

    def __init__(self, row: Row, case: Case, cache: Path) -> None:
        self.row, self.case, self._cleanup = row, case, contextlib.ExitStack()
        self.folder = Path(tempfile.mkdtemp(prefix="perfdiag-truth-", dir="/var/tmp"))
        self._cleanup.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)  # some servers run as somebody else
        ports = dict(zip(row.every_port, _free_ports(len(row.every_port)), strict=True))
        own = {
            "folder": self.folder,
            "here": case.folder,
            "cache": cache,
            "seconds": row.seconds,
            "load_ms": round((row.warm_seconds + row.seconds + AFTER_SECONDS) * 1000),
            "listening": " ".join(map(str, ports.values())),
        }
        known = {name: str(value) for name, value in {**own, **ports, **case.settings}.items()}
        self.environment = {**os.environ, **known, "PATH": f"{WORKLOADS}:{os.environ['PATH']}"}
        self.environment["PYTHONPATH"] = str(FUNCTIONS.parent)  # of rows in Python
        self.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        self._prefix: list[str] = []

    def __enter__(self) -> Stage:
        with contextlib.ExitStack() as on_failure:
            on_failure.enter_context(self._cleanup)
            cache = Path(self.environment["cache"])
            cache.mkdir(parents=True, exist_ok=True)
            if self.row.disk:
                delays = {name.lower(): int(self.case.settings.get(name, 0)) for name in DELAYS}
                disk = self._cleanup.enter_context(slow_disk(self.folder, "ext4", **delays))
                rotational = Path(f"/sys/block/{Path(disk.loop).name}/queue/rotational")
                rotational.write_text("0")  # as flash is
                self.environment["disk"] = str(disk.mountpoint)
            if self.row.namespaces:
                holder = self.start("exec unshare --net --mount sh -c 'ip link set lo up; echo; exec sleep 1000'", True)
                assert holder.stdout and holder.stdout.readline(), "no namespaces of its own"
                self._prefix = ["nsenter", f"--target={holder.pid}", "--net", "--mount"]
            self.run(self.row.up, patience_s=UP_SECONDS)
            on_failure.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def words(self, script: str, shell: str = "sh") -> list[str]:
        """Return the command that runs a script where the case is made."""
        group = f"{{ echo {NICENESS} >{OWN_GROUP}; }} 2>/dev/null || :"
        return [*self._prefix, shell, "-ec", f'{group}\n. {FUNCTIONS}; cd "$folder"\n{script}']

    def run(self, script: str, shell: str = "sh", patience_s: float = PATIENCE_SECONDS) -> None:
        """Run a script to its end, which must be good."""
        done = subprocess.run(
            self.words(script, shell),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=patience_s,
            check=False,
        )
        assert done.returncode == 0, f"{script.strip()}: {done.stdout.decode(errors='replace').strip()}"

    def start(self, script: str, piped: bool = False) -> subprocess.Popen[bytes]:
        """Start a script that becomes a process, and end this, with whatever it has started, at the end of the case."""
        errors = self._cleanup.enter_context((self.folder / "errors").open("ab"))
        process = running(
            self.words(script),
            stop=signal.SIGTERM,
            stdout=subprocess.PIPE if piped else errors,
            stderr=errors,
            env=self.environment,
            start_new_session=True,
        )
        began = self._cleanup.enter_context(process)
        self._cleanup.callback(_end_session, began.pid)  # before it is waited for: its number is still its own
        return began

    def errors(self) -> str:
        """Return the end of what all processes have complained about."""
        return (self.folder / "errors").read_text(errors="replace").strip()[-400:]


def prefer(real_time: bool) -> None:
    """Let this process, and all that it starts, have the CPU before its neighbours: mostly, or always."""
    os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    _prefer_own_group()
    if real_time:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def _prefer_own_group() -> None:
    with contextlib.suppress(OSError):  # not there, or group 0, which has no weight: its threads stand for themselves
        OWN_GROUP.write_text(str(NICENESS))


def _never_before_servers() -> None:
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    _prefer_own_group()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as open_sockets:
        found = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]


def _end_session(pid: int) -> None:
    """Ask a server to end, and see to it that none of its processes stays."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGTERM)
    end = time.monotonic() + 5
    while _alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def make(row: Row, case: Case, output: Path, cache: Path) -> Made:
    """Make one case and record it; `output` is where the recording goes.

    Raises AssertionError, OSError or subprocess.SubprocessError for whatever could not be done.
    """
    missing = [name for name in row.needs if not shutil.which(name)]
    assert not missing, f"not installed: {', '.join(missing)}"
    with Stage(row, case, cache) as stage:
        for each in row.beside:
            stage.start(each)
        target = stage.start(row.target)
        try:
            stage.run(f"{READY}\n{row.ready}", "bash")
        except (AssertionError, subprocess.TimeoutExpired) as error:
            raise AssertionError(f"not ready: {error} {stage.errors()}") from error
        assert target.poll() is None, f"the server has ended: {stage.errors()}"
        load = stage.start(row.load, piped=True) if row.load else None
        time.sleep(row.warm_seconds)
        began, waited = time.monotonic(), _somebody_waited_s()
        report = _record(target.pid, row, output)
        busy = None if waited is None else ((_somebody_waited_s() or 0) - waited) / (time.monotonic() - began)
        assert target.poll() is None, f"the server has ended: {stage.errors()}"
        return Made(report, ended(load, stage.folder, output) if load else {}, busy)


def _somebody_waited_s() -> float | None:
    """Return how long there has been somebody on this host who waited for a CPU; None where the kernel does not say."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/pressure/cpu").read_text().split("total=")[1].split()[0]) / 1e6
    return None


def _record(pid: int, row: Row, output: Path) -> Report:
    words: list[object] = [ROOT / "build/bin/perfdiag", "latency", "--pid", pid, "--duration", row.seconds, "--json"]
    words += ["--slo", row.slo] if row.slo else []
    done = subprocess.run(
        [*map(str, words), "--record", str(output)],
        capture_output=True,
        timeout=PATIENCE_SECONDS + row.seconds,
        start_new_session=True,
        preexec_fn=_never_before_servers,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace").strip()[-400:]
    output.with_suffix(".json").write_bytes(done.stdout)
    return msgspec.json.decode(done.stdout, type=Report)


__all__ = ["Made", "Stage", "make", "prefer"]
