"""Garbage collection as a part of the CPU time: by functions, by names of threads, and when it is worth a word."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Finding

from unit.support import Builder
from unit.support.judging import finding

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
    assert shows in found.remedies[0].text and len(found.remedies) == 2


@pytest.mark.parametrize("comm", ["GC Thread#1", "G1 Conc#0", "ZWorkerYoung#0", "Shenandoah GC T"])
def test_collection_of_java_is_known_by_its_threads(comm: str) -> None:
    found = computing(["0x7f00 (libjvm.so)"], 60, comm)
    assert "30 %" in found.claim and "6 %" in found.claim
    assert "jstat -gcutil 100 1s" in found.remedies[0].text


def test_what_is_not_surely_a_tenth_is_not_worth_a_word() -> None:
    assert "garbage" not in computing(GO, 22).claim  # 11 % +-4 %
    assert "garbage" in computing(GO, 40).claim  # 20 % +-6 %
    assert "garbage" not in computing(OWN, 60, "GCC").claim
    assert "garbage" not in computing(["main.gcDrain (app)"], 60).claim


def test_a_few_samples_name_nothing() -> None:
    builder = Builder().thread("GC Thread#0", cpu_user="5 s").stack("cpu", user=OWN, count=20)
    assert "garbage" not in finding(builder.model(), "CPU-BOUND").claim
