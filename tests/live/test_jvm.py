"""Counters of real Java virtual machines, read from their memory, against what those say of themselves."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.facts.host_facts import Facts
from perfdiag.facts.jvm import Counters, HotSpot
from perfdiag.recording import schema

from live.support.fixtures import Attach, Cleanup
from live.support.java import Compiled, machines, need_java
from live.support.model import model_of
from live.support.recording import Recording
from unit.support.waiting import until

pytestmark = [pytest.mark.may_skip("java"), pytest.mark.timeout(120)]
COLLECTORS = ("Serial", "Parallel", "G1", "Z", "Shenandoah")
NUMBERED = ("Serial", "Parallel")  # each of their collections is one pause
LIVE_KIB, THREADS = 20_000, 3
OBJECTS, COUNT = 4_000_000, 7
LONG_NS, HAND_OVER_NS = 20_000_000, 1_000_000
SECONDS = 2.0
NAME = "sun.rt.{}"


def started(cleanup: Cleanup, *options: str, java: str = "java", live_kib: int = LIVE_KIB) -> Compiled:
    need_java()
    running = Compiled("Pressure", live_kib, THREADS, options=("-Xmx64m", *options), java=java)
    cleanup.enter_context(running)
    return running


def recorded(java: Compiled, attach: Attach) -> Recording:
    """Record while it collects: it lives on until its counters were read."""
    java.start()
    recorder = attach(java)
    path = f"/hotspot/{java.pid}"
    until(lambda: path in recorder.output.read_text(), "its counters were read")
    time.sleep(SECONDS)
    return recorder.stop()


def machine_of(recording: Recording, java: Compiled) -> HotSpot | None:
    return Facts.parse(recording.of(schema.Fact)).java_machines.get(java.pid)


def collections(read: Counters) -> int:
    return sum(read.numbers[f"sun.gc.collector.{kind}.invocations"] for kind in (0, 1))


def offers(java: str, collector: str) -> bool:
    """Return whether that virtual machine has this collector: some builds leave some out."""
    return os.spawnlp(os.P_WAIT, java, java, f"-XX:+Use{collector}GC", "-Xlog:disable", "-version") == 0


def stops_of_log(log: Path) -> list[list[int]]:
    """Return of each stop its nanoseconds until all threads were stopped, and altogether."""
    lines = [line for line in log.read_text().splitlines() if "Reaching safepoint" in line]
    return [
        [int(re.findall(rf"{what}: (\d+) ns", line)[0]) for what in ("Reaching safepoint", "Total")] for line in lines
    ]


@pytest.mark.parametrize("collector", COLLECTORS)
def test_stops_agree_with_the_log(collector: str, cleanup: Cleanup, attach: Attach, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for java in machines():
        if not offers(java, collector):
            print(f"{java} has no {collector}")
            continue
        log.unlink(missing_ok=True)
        running = started(
            cleanup, f"-XX:+Use{collector}GC", f"-Xlog:safepoint,gc:file={log}:none:filecount=0", java=java
        )
        found = machine_of(recorded(running, attach), running)
        assert found and found.begin and found.end and found.end.way == "memory", java
        first, last = (each.numbers[NAME.format("safepoints")] for each in (found.begin, found.end))
        log_of_all = stops_of_log(log)
        stops = log_of_all[first:last]
        assert len(stops) == last - first > 3, java
        names = (NAME.format("safepointSyncTime"), NAME.format("safepointTime"))
        reaching_ns, stopped_ns = (found.end.numbers[name] - found.begin.numbers[name] for name in names)
        # It may have been read in the middle of a stop: of the last one, or of the one before the first.
        longest_reaching, longest = (max(each[n] for each in log_of_all[max(0, first - 1) : last]) for n in (0, 1))
        reaching, whole = ([each[n] for each in stops] for n in (0, 1))
        assert reaching_ns == pytest.approx(sum(reaching), rel=0.02, abs=longest_reaching), java
        assert reaching_ns + stopped_ns == pytest.approx(sum(whole), rel=0.02, abs=longest), java
        if collector in NUMBERED:
            pauses = [int(number) for number in re.findall(r"GC\((\d+)\) Pause", log.read_text())]
            first, last = (collections(each) for each in (found.begin, found.end))
            assert pauses[first:last] == list(range(first, last)), f"{java}: every collection there, none twice"


@pytest.mark.parametrize("options", [("-XX:+PerfDisableSharedMem",), ("-XX:-UseCompressedOops",)])
def test_without_the_file_of_counters(options: Sequence[str], cleanup: Cleanup, attach: Attach) -> None:
    java = started(cleanup, *options)
    found = machine_of(recorded(java, attach), java)
    assert found and found.begin and found.end and found.end.way == "memory"
    before, after = (each.numbers["sun.gc.collector.0.invocations"] for each in (found.begin, found.end))
    assert 0 < after - before <= java.truth()["collections"]


def test_counters_that_were_turned_off(cleanup: Cleanup, attach: Attach) -> None:
    java = started(cleanup, "-XX:-UsePerfData")
    found = machine_of(recorded(java, attach), java)
    assert found and found.end is None and "-XX:-UsePerfData" in found.unread


def test_nothing_of_its_command_line(cleanup: Cleanup, attach: Attach) -> None:
    java = started(cleanup, "-Dpassword=MARKER-OF-A-SECRET")
    recording = recorded(java, attach)
    assert machine_of(recording, java)
    assert "MARKER-OF-A-SECRET" not in recording.path.read_text()


def test_stopped_threads_agree_with_the_log(cleanup: Cleanup, attach: Attach, tmp_path: Path) -> None:
    """A thread that computes is stopped as long as the JVM says that all are."""
    need_java()
    log = tmp_path / "log"
    options = ("-XX:+UseSerialGC", "-Xmx600m", f"-Xlog:safepoint:file={log}:none:filecount=0")
    java = Compiled("Collections", OBJECTS, COUNT, 1, options=options)
    cleanup.enter_context(java)
    before = len(stops_of_log(log))

    def long_stops() -> list[list[int]]:
        return [stop for stop in stops_of_log(log)[before:] if stop[1] > LONG_NS]

    recorder = attach(java)
    java.start()
    until(lambda: len(long_stops()) >= COUNT, "it has collected")
    model = model_of(recorder.stop())
    stops = long_stops()
    assert len(stops) >= COUNT, "each takes a while"
    whole_ns, reaching_ns = sum(whole for _, whole in stops), sum(reaching for reaching, _ in stops)
    # The row has helper threads, too; the list of what each thread waited for is short.
    helpers = sum(thread.ns("runtime.safepoint") for thread in model.threads if thread.comm not in ("spinner", "java"))
    rows = [row for row in model.rows_of("runtime.safepoint") if row.key.startswith("lock:safepoint")]
    spinner_ns = sum(row.distribution.sum_ns for row in rows) - helpers
    # On a busy host the VM Thread may lose its CPU after it has let the others go.
    queued_ns = sum(thread.ns("runq.busy") for thread in model.threads if thread.comm == "VM Thread")
    slack_ns = 0.02 * whole_ns + COUNT * HAND_OVER_NS + reaching_ns + queued_ns
    assert spinner_ns == pytest.approx(whole_ns, abs=slack_ns)


@pytest.mark.parametrize(("heap", "ill"), [("-Xmx64m", True), ("-Xmx2g", False)])
def test_collections_are_one_cause(heap: str, ill: bool, cleanup: Cleanup, attach: Attach) -> None:
    """Threads that allocate under a monitor: its holder is stopped by collections, the section is not too long."""
    java = started(cleanup, heap, "-XX:+UseSerialGC", live_kib=37_000)
    diagnosis = diagnose(model_of(recorded(java, attach)))
    faults = [each for each in diagnosis.findings if each.severity is not Severity.INFO]
    print(*(f"{each.id} {each.share:.2f} {each.claim}" for each in diagnosis.findings), sep="\n")
    # The host may be busy; and who allocates 12 GiB a second waits for collections as long as that takes.
    others = {each.id for each in faults if not each.id.startswith(("CPU-", "JVM-ALLOCATION-RATE"))}
    assert others == ({"JVM-GC-PRESSURE"} if ill else set())


def test_a_descendant_of_the_target(cleanup: Cleanup, attach: Attach) -> None:
    need_java()
    shell = ("sh", "-c", '"$@"; true', "sh")  # that stays
    java = Compiled("Pressure", LIVE_KIB, THREADS, options=("-Xmx64m", "-XX:+UseSerialGC"), run_by=shell)
    cleanup.enter_context(java)
    assert java.process.pid != java.pid
    java.start()
    recorder = attach(java.process.pid)
    time.sleep(SECONDS)
    found = machine_of(recorder.stop(), java)
    assert found and found.end and found.end.numbers["sun.rt.safepoints"] > 0


def test_no_apps(cleanup: Cleanup, attach: Attach) -> None:
    java = started(cleanup)
    java.start()
    recorder = attach(java, first=["no-apps"])
    time.sleep(SECONDS)
    recording = recorder.stop()
    assert machine_of(recording, java) is None and recording.header.options.no_apps
