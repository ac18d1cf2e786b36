"""Stops that somebody asks a Java virtual machine for."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.evidence.jvm.asked_stops import asked_stop

from unit.support import Builder

HISTOGRAM = "_ZN20VM_GC_HeapInspection4doitEv (libjvm.so)"
COLLECTION = "_ZN26VM_GenCollectForAllocation4doitEv (libjvm.so)"


def java(*operations: str, count: int = 80) -> Builder:
    builder = Builder(comm="java").thread("main", cpu_user="1 s").thread("VM Thread", tid=102, cpu_user="3 s")
    for operation in operations:
        builder.stack("cpu", tid=102, user=["mark (libjvm.so)", operation, "start_thread (libc.so.6)"], count=count)
    return builder


def test_a_histogram_of_the_heap_is_no_pressure() -> None:
    """97 % of request time was lost to collections for jcmd GC.class_histogram: raise -Xmx, the report said, and jcmd
    GC.class_histogram shows why."""
    found = asked_stop(java(HISTOGRAM).model(), 100)
    assert found and "makes a histogram of its heap" in found.headline and found.part == 1.0
    assert "jmap -histo" in found.remedy.text and len(found.evidence) == 1


@pytest.mark.parametrize("operations", [[], [COLLECTION], [COLLECTION, COLLECTION, HISTOGRAM], ["VM_doit (libjvm.so)"]])
def test_collections_of_the_programs_own_are_not_asked_for(operations: list[str]) -> None:
    assert asked_stop(java(*operations).model(), 100) is None


def test_the_cause_of_the_last_collection_tells_where_there_are_no_samples() -> None:
    found = asked_stop(java().model(), 100, "Heap Dump Initiated GC")
    assert found and "dumps its heap" in found.headline and not found.evidence
    assert asked_stop(java(COLLECTION).model(), 100, "Heap Dump Initiated GC") is None


def test_few_samples_and_dumps_of_threads_are_no_reason_for_collections() -> None:
    """One sample of a thread dump made "the heap is too small" a stop that somebody asked for."""
    dumps = "_ZN13VM_ThreadDump4doitEv (libjvm.so)"
    assert asked_stop(java(HISTOGRAM, count=1).model(), 100) is None
    assert asked_stop(java(dumps).model(), 100, "G1 Evacuation Pause") is None
