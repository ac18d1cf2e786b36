"""Garbage collection as a part of the CPU time: by functions, by names of threads, and when it is worth a word."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Finding, Severity

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.judging import check, finding, outcomes, silence

GO = ["runtime.scanObject (app)", "runtime.gcDrain (app)", "runtime.gcBgMarkWorker.func2 (app)"]
ASSIST = ["runtime.scanblock (app)", "runtime.gcAssistAlloc.func2 (app)", "main.serve (app)"]
V8 = ["_ZN2v88internal20MarkCompactCollector14EvacuateObjectE (node)", "_ZN2v88internal4Heap14CollectGarbageE (node)"]
SERIAL = ["_ZN16DefNewGeneration7collectEbbmb (libjvm.so)", "_ZN8VMThread3runEv (libjvm.so)"]
PYTHON = ["visit_decref (libpython3.11.so)", "gc_collect_main (libpython3.11.so)", "main (python3.11)"]
OWN = ["handle (app)", "main (app)"]


def computing(collects: list[str], samples: int, comm: str = "worker") -> Finding:
    """A target of 200 CPU samples, so many of them in `collects` by a thread of that name."""
    builder = Builder().thread("main", cpu_user="5 s").thread(comm, tid=101, cpu_user="3 s")
    builder.stack("cpu", tid=100, user=OWN, count=200 - samples)
    return finding(builder.stack("cpu", tid=101, user=collects, count=samples).model(), "CPU-BOUND")


@pytest.mark.parametrize(
    ("collects", "shows"),
    [(GO, "gctrace"), (ASSIST, "gctrace"), (V8, "--trace-gc"), (SERIAL, "jstat"), (PYTHON, "gc.freeze")],
)
def test_collection_is_known_by_its_functions(collects: list[str], shows: str) -> None:
    found = computing(collects, 60)
    assert "100 %" in found.claim and "30 %" in found.claim and "6 %" in found.claim
    assert shows in found.remedies[1].text and len(found.remedies) == 2


@pytest.mark.parametrize("comm", ["GC Thread#1", "G1 Conc#0", "ZWorkerYoung#0", "Shenandoah GC T"])
def test_collection_of_java_is_known_by_its_threads(comm: str) -> None:
    found = computing(["0x7f00 (libjvm.so)"], 60, comm)
    assert "30 %" in found.claim and "6 %" in found.claim
    assert "jstat -gcutil 100 1s" in found.remedies[1].text


def test_the_larger_of_own_code_and_collection_is_told_first() -> None:
    """Above contexts that a service made for two thirds of its time stood "see how often it collects"."""
    own = computing(V8, 40)
    assert own.headline == "app (100) computes in handle (app)" and "handle (app)" in own.remedies[0].text
    collects = computing(V8, 120)
    assert collects.headline == "app (100) computes and collects garbage"
    assert "--trace-gc" in collects.remedies[0].text
    library = Builder().thread("main", cpu_user="8 s").stack("cpu", user=SERIAL, count=60)
    for number in range(14):  # may collect as well
        library.stack("cpu", user=[f"_ZN5ZMark{number:02}follow (libjvm.so)"], count=10)
    assert "jstat" in finding(library.model(), "CPU-BOUND").remedies[0].text


def test_what_is_not_surely_a_tenth_is_not_worth_a_word() -> None:
    assert "garbage" not in computing(GO, 22).claim  # 11 % +-4 %
    assert "garbage" in computing(GO, 40).claim  # 20 % +-6 %
    assert "garbage" not in computing(OWN, 60, "GCC").claim
    assert "garbage" not in computing(["main.gcDrain (app)"], 60).claim


def test_a_few_samples_name_nothing() -> None:
    builder = Builder().thread("GC Thread#0", cpu_user="5 s").stack("cpu", user=OWN, count=20)
    assert "garbage" not in finding(builder.model(), "CPU-BOUND").claim


# GC-HEAVY

HEAVY, WORKLIST = "GC-HEAVY", "futex:0x7f00"
MARKS = ["_ZN2v88internal17ConcurrentMarking8RunMajorEv (node)"]
WAITS = ["_ZN4heap4base8Worklist (node)", *MARKS]


def full_heap(collecting: int = 300, own: int = 100) -> Builder:
    """A loop that computes and collects, and a helper that only collects: 8 s of CPU time together."""
    builder = Builder().thread("node", tid=100, cpu_user="4 s", runq_busy="500 ms")
    builder.stack("cpu", tid=100, user=OWN, count=own).stack("cpu", tid=100, user=V8, count=collecting - 200)
    builder.thread("node", tid=101, cpu_user="4 s", runq_busy="2 s").stack("cpu", tid=101, user=MARKS, count=200)
    builder.row("runq.busy", "own:100:node", durations={"10 ms": 200})
    builder.row("lock.futex", WORKLIST, "900 ms", count=10)
    builder.stack("wait", "lock.futex", object=WORKLIST, user=WAITS, count=10, weight="100 ms")
    return builder.row("lock.futex", "futex:0x7f40", "800 ms", count=10)


def test_collection_of_most_of_the_cpu_time_is_a_fault_with_its_locks_and_queues() -> None:
    """Its helpers wait for its locks, and for CPUs that it uses itself; another lock is no part of it."""
    found = finding(full_heap().model(), HEAVY)
    assert found.severity is Severity.WARNING and "(V8)" in found.headline
    assert found.claims["cpu.user"] == 6_000_000_000  # three quarters of 8 s
    assert found.claims["lock.futex", WORKLIST] == 900_000_000
    assert found.claims["runq.busy", "own:100:node"] == 2_000_000_000
    assert ("lock.futex", "futex:0x7f40") not in found.claims
    assert "--max-old-space-size" in found.remedies[0].text


def test_who_allocates_is_named_by_what_the_collector_interrupts() -> None:
    """Listeners that were left made all the garbage: "see how full the heap is"."""
    builder = full_heap(collecting=200)
    leak = "Session.onChange (/srv/server.js:13)"
    builder.stack("cpu", tid=100, user=V8, script=["emit (node:events:513)", leak], count=90)
    builder.stack("cpu", tid=100, user=V8, script=["render (/srv/server.js:50)"], count=10)
    found = finding(builder.model(), "GC-HEAVY")
    assert found.headline.endswith("most of it called from Session.onChange (server.js:13)")
    assert found.remedies[0].text == "allocate less in Session.onChange (server.js:13)"
    assert "90 % +-6 %" in found.evidence[1].text


def test_its_locks_are_no_finding_of_their_own() -> None:
    found = diagnose(full_heap().model())
    assert found.findings[0].id == HEAVY
    locks = [key for each in found.findings if each.id == "LOCK-CONTENTION" for key in each.claims]
    assert locks == [("lock.futex", "futex:0x7f40")]


def test_collection_of_half_the_cpu_time_is_none() -> None:
    """With an error of 5 points 54 % may be less than half."""
    assert check(full_heap(collecting=215, own=185).model(), HEAVY).number == pytest.approx(0.5375)


@pytest.mark.parametrize(("collecting", "heavy"), [(20, False), (180, True)])
def test_of_a_server_the_threads_that_read_requests_decide(collecting: int, heavy: bool) -> None:
    """Collectors beside them use CPUs that requests may not need: that is no time of theirs."""
    builder = Builder().thread("loop", tid=100, cpu_user="4 s", rest="wait.events").reads(400)
    builder.stack("cpu", tid=100, user=OWN, count=200 - collecting).stack("cpu", tid=100, user=V8, count=collecting)
    builder.thread("helper", tid=101, cpu_user="2 s").stack("cpu", tid=101, user=MARKS, count=800)
    builder.row("runq.busy", "own:100:node", "1 s", count=100)
    builder.line(exchange(400, 4_000_000_000, {"cpu.user": 4_000_000_000})).line(latency([10_000_000] * 400))
    model = builder.model()
    assert model.request_time is not None
    found = [each for each in outcomes(model, HEAVY) if isinstance(each, Finding)]
    assert bool(found) is heavy
    assert [list(each.claims) for each in found] == ([["cpu.user"]] if heavy else [])
    if not heavy:
        text = check(model, HEAVY).text
        assert "of the CPU samples of threads that serve requests, 82 %" in text and "of all 1,000" in text, text


def test_without_samples_of_the_cpu_it_cannot_tell() -> None:
    assert silence(Builder().thread(cpu_user="5 s").without("stacks").model(), HEAVY).fix
