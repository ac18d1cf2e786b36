"""Every engine records the same work at the same time, and books what perfdiag's own programs book."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from perfdiag.recording import schema

from conftest import ROOT
from live.support.bpftrace import mount_tracing
from live.support.fixtures import Attach, Cleanup, Start
from live.support.host import slow_disk
from live.support.snippets import recorded_snippet
from live.support.workload import Workload

APART = 0.05  # of the time of all threads
SHARED_CPU = max(os.sched_getaffinity(0))
STORED = ROOT / "tests/data/engines.json"  # what README.md shows

# The accounts that each can tell.
COMMON = (
    "cpu.user cpu.kernel runq.busy runq.waking disk.read disk.write disk.flush memory.major_fault wait.parked"
    " net.connect net.receive net.accept wait.events wait.timer wait.child wait.signal wait.stopped"
)
SEES = {"bpftrace": COMMON, "bcc": f"{COMMON} net.send net.request ipc.pipe ipc.unix lock.file wait.io_uring"}
NOT_TOLD = ("kernel.other", "unexplained")  # where a script puts what it cannot tell
# A script knows no interrupts; a write with O_SYNC is disk.write to it.
ALIKE = {"cpu.user": "cpu", "cpu.kernel": "cpu", "cpu.irq": "cpu"} | dict.fromkeys(["disk.write", "disk.flush"], "disk")

ENGINES = tuple(SEES)


WAITS_TO_START = "wait.events"  # what a workload does until the last recorder has begun


def parts(rows: Sequence[schema.Thread], known: Iterable[str], early_ns: int = 0) -> Counter[str]:
    """Return which part of the threads' time each account has; what a script cannot tell apart is one of them.

    `early_ns` of it, in which the workload waited for its start, another recorder has not seen.
    """
    names = {*known, *ALIKE.values()} - {*NOT_TOLD}
    found: Counter[str] = Counter({WAITS_TO_START: -early_ns})
    for row in rows:
        for each in row.accounts:
            name = ALIKE.get(each.account, each.account)
            found[name if name in names else "not told"] += each.sum_ns
    wall_ns = sum(row.wall_ns for row in rows) - early_ns
    return Counter({name: ns / wall_ns for name, ns in found.items()})


def together(
    recordings: Mapping[str, Sequence[schema.Thread]],
) -> tuple[dict[str, list[schema.Thread]], dict[str, int]]:
    """Return by engine the threads that all have seen, and how much of their time was before all had met them: bpftrace
    meets a thread at its first switch, others when they begin."""
    begins = [{row.tid: row.start_ns for row in rows} for rows in recordings.values()]
    latest = {tid: max(each[tid] for each in begins) for tid in set(begins[0]).intersection(*begins[1:])}
    assert latest, f"no thread was seen by all: {begins}"
    rows_of = {engine: [row for row in rows if row.tid in latest] for engine, rows in recordings.items()}
    early = {engine: sum(latest[row.tid] - row.start_ns for row in rows) for engine, rows in rows_of.items()}
    return rows_of, early


def compared(recordings: Mapping[str, Sequence[schema.Thread]]) -> tuple[dict[str, Counter[str]], list[str]]:
    """Return by engine what part of the time each account has, and what is wrong with that."""
    rows, early_ns = together(recordings)
    right = parts(rows["libbpf"], [name for row in rows["libbpf"] for name in of(row)], early_ns["libbpf"])
    told, wrong = {"libbpf": right}, []
    for engine in recordings.keys() & SEES.keys():
        known = SEES[engine].split()
        seen, wanted = (parts(rows[name], known, early_ns[name]) for name in (engine, "libbpf"))
        told[engine] = seen
        wrong += [
            f"{engine}: {name} {seen[name]:.1%}, libbpf {wanted[name]:.1%}"
            for name in seen | wanted
            if abs(seen[name] - wanted[name]) > APART
        ]
    return told, wrong


def compare(what: str, workload: Workload, attach: Attach, host: str, *, update: bool) -> Mapping[str, Counter[str]]:
    """Let all engines record a workload at the same time; return by engine what part of the time each account has."""
    recorders = {engine: attach(workload, engine=engine, only=True) for engine in ENGINES}
    recorders["libbpf"] = attach(workload, only=True)  # the last to begin: its window is hardly longer than the work
    workload.run()
    recordings = {engine: recorder.wait("targets gone") for engine, recorder in reversed(recorders.items())}
    for engine in ENGINES:
        made = recordings[engine]
        assert set(made.header.accounts) == {*SEES[engine].split(), *NOT_TOLD}
        assert made.footer.lost == {"storage_failed": 0} and made.header.host.nodename
        for row in made.threads:
            booked_ns = sum(each.sum_ns for each in row.accounts)
            assert booked_ns == pytest.approx(row.wall_ns, rel=0.01, abs=1_000_000), f"{engine}: {row}"
    told, wrong = compared({engine: made.threads for engine, made in recordings.items()})
    assert not wrong, f"{what}: {'; '.join(wrong)}"
    if update:
        keep(host, what, told)
    return told


def of(row: schema.Thread) -> list[str]:
    """Return the accounts that a thread has time in."""
    return [each.account for each in row.accounts]


def keep(host: str, what: str, told: Mapping[str, Mapping[str, float]]) -> None:
    """Store what README.md is to show: percentages of what takes a percent at least."""
    stored: dict[str, Any] = json.loads(STORED.read_text()) if STORED.exists() else {}
    stored.setdefault(host, {})[what] = {
        engine: {name: round(100 * part) for name, part in sorted(found.items()) if part >= 0.01}
        for engine, found in told.items()
    }
    STORED.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")


@pytest.fixture(autouse=True)
def _tracing() -> None:
    mount_tracing()


@pytest.fixture
def host() -> str:
    """Under which name results are stored."""
    return "this kernel"


@pytest.fixture
def against(attach: Attach, host: str, update: bool, request: pytest.FixtureRequest) -> Any:
    """Compare the engines by a workload."""

    def against(workload: Workload) -> Mapping[str, Mapping[str, float]]:
        what = request.node.originalname.removeprefix("test_").replace("_", " ")
        return compare(what, workload, attach, host, update=update)

    return against


def test_threads_share_a_CPU(start: Start, against: Any) -> None:
    told = against(start("spin", "--threads", 4, "--cpu", SHARED_CPU, "--duration-ms", 2000))
    assert told["libbpf"]["runq.busy"] > 0.4, told


def test_threads_share_a_lock(start: Start, against: Any) -> None:
    told = against(start("lock", "--duration-ms", 2000))
    assert told["libbpf"]["wait.parked"] > 0.3 and told["libbpf"]["wait.timer"] > 0.1, told


def test_flushes_of_a_slow_disk(tmp_path: Path, cleanup: Cleanup, start: Start, against: Any) -> None:
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", flush_us=20_000))
    told = against(start("flush", "--mode", "fsync", "--count", 43, "--file", disk.mountpoint / "data"))
    assert told["libbpf"]["disk"] > 0.8, told


def test_writes_that_are_synchronous(tmp_path: Path, cleanup: Cleanup, start: Start, against: Any) -> None:
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", flush_us=20_000))
    told = against(start("flush", "--mode", "O_SYNC", "--count", 43, "--file", disk.mountpoint / "data"))
    assert told["libbpf"]["disk"] > 0.8, told


def test_a_process_at_a_pipe(start: Start, against: Any) -> None:
    told = against(start("pingpong", "--think-us", 5000, "--count", 201))
    assert told["libbpf"]["ipc.pipe"] > 0.8, told


def test_a_peer_over_TCP(start: Start, against: Any) -> None:
    told = against(start("peer", "--count", 43))
    assert told["libbpf"]["net.receive"] > 0.8, told


def test_a_child_that_is_waited_for(start: Start, against: Any) -> None:
    told = against(start("slow_child", "--count", 23, "--child-ms", 50))
    assert told["libbpf"]["wait.child"] > 0.5, told


@pytest.mark.parametrize("engine", ENGINES)
def test_exec_by_a_thread(engine: str, start: Start, attach: Attach) -> None:
    """The thread that calls exec takes over the leader's tid; both have their own books."""
    workload = start("thread_exec", "--before-ms", 300, "--after-ms", 400)
    recorder = attach(workload, engine=engine, only=True)
    truth = workload.run()
    recording = recorder.wait("targets gone")
    for row in recording.threads:
        assert sum(each.sum_ns for each in row.accounts) == pytest.approx(row.wall_ns, rel=0.01, abs=1_000_000), row
    both = [row for row in recording.threads if row.tid == workload.pid]
    assert len(both) == 2 and len({row.tid for row in recording.threads}) == len(recording.threads) - 1
    sums = [Counter({each.account: each.sum_ns for each in row.accounts}) for row in both]
    (leader, was), (heir, now) = sorted(zip(both, sums, strict=True), key=lambda each: each[1]["wait.timer"])
    assert now["cpu.user"] > 0.9 * truth["computed_ns"] > 0, (heir, truth)
    assert now["wait.timer"] > 0.95 * truth["slept_ns"] and not was["wait.timer"], (leader, heir)
    window_ns = recording.footer.at_ns - recording.header.start_ns
    assert leader.wall_ns < window_ns - 0.95 * truth["slept_ns"] and leader.state == "exited", (leader, window_ns)


NAMES = """
import os, sys, threading, time
def sleep():
    while True:
        time.sleep(0.01)
print("ready", flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=sleep, daemon=True) for _ in range(2)]
for one in threads:
    one.start()
time.sleep(0.5)
for number, name in ((os.getpid(), "itself"), (threads[0].native_id, "by-another")):
    open(f"/proc/self/task/{number}/comm", "w").write(name)
time.sleep(0.5)
os._exit(0)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_threads_that_are_renamed(engine: str, attach: Attach, cleanup: Cleanup) -> None:
    """The last name counts; a new thread has its maker's."""
    recording, _ = recorded_snippet(attach, cleanup, NAMES, engine=engine)
    assert sorted(row.comm for row in recording.threads) == ["by-another", "itself", "python"], recording.threads


CONNECTIONS = """
import os, socket, sys, threading, time
listener = socket.create_server(("127.0.0.1", 0))
silent = socket.create_server(("127.0.0.1", 0))
if not os.fork():  # the other end of all
    served = [socket.create_connection(listener.getsockname()) for _ in range(3)]
    kept = [silent.accept() for _ in range(1)]
    for _ in range(100):
        time.sleep(0.1)
        for one in served[:2]:
            try:
                one.send(b"?")
                one.recv(1)
            except OSError:
                os._exit(0)
def serve(one):
    while one.recv(1):
        one.send(b"!")
for _ in range(3):
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
client = socket.create_connection(silent.getsockname())
threading.Thread(target=client.recv, args=(1,), daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
time.sleep(2)
os._exit(0)
"""


def test_idle_connections_accuse_nobody(attach: Attach, cleanup: Cleanup) -> None:
    """A server waits for work on connections that it accepted; where nobody was asked, there is nothing to wait for."""
    recording, _ = recorded_snippet(attach, cleanup, CONNECTIONS, engine="bcc")
    sums: Counter[str] = Counter()
    for row in recording.threads:
        sums.update({each.account: each.sum_ns for each in row.accounts})
    assert sums["net.request"] > 3 * 1.8e9 and sums["wait.parked"] > 1.8e9, sums
    assert sums["net.receive"] < 0.1e9 and sums["kernel.other"] < 0.1e9, sums


SOCKETS = """
import os, resource, socket, sys, threading, time
resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
pairs = [socket.socketpair() for _ in range(5000)]
print("ready", flush=True)
sys.stdin.readline()
def answer():
    for _, other in pairs:
        other.send(other.recv(1))
threading.Thread(target=answer, daemon=True).start()
for one, _ in pairs:  # sleeps for each
    one.send(b"?")
    one.recv(1)
time.sleep(60)
"""


def test_thousands_of_sockets_are_looked_up_in_time(attach: Attach, cleanup: Cleanup) -> None:
    recording, _ = recorded_snippet(attach, cleanup, SOCKETS, engine="bcc", duration_ns=2_000_000_000)
    assert recording.footer.at_ns - recording.header.start_ns < 3.5e9
    sums: Counter[str] = Counter()
    for row in recording.threads:
        sums.update({each.account: each.sum_ns for each in row.accounts})
    assert sums["ipc.unix"] and not sums["kernel.other"], sums
