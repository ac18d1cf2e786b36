"""jvmgc.bt: every collection is counted, and takes as long as the JVM says itself."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import pytest

from live.support.bpftrace import Stats, refused
from live.support.fixtures import Cleanup, Trace
from live.support.java import SERIAL, Java, need_java

PARALLEL = ("-XX:+UseParallelGC", "-Xmx128m")
G1 = ("-XX:+UseG1GC", "-Xmx128m")
# Collections that System.gc() asks for, in JDK 17 and in JDK 25.
OPERATIONS = {"GenCollectFull", "SerialGCCollect", "ParallelGCSystemGC", "ParallelGCCollect", "G1CollectFull"}

pytestmark = pytest.mark.may_skip("java")


@pytest.mark.parametrize("options", [SERIAL, PARALLEL, G1], ids=["serial", "parallel", "g1"])
def test_collections_of_the_whole_heap(options: Sequence[str], cleanup: Cleanup, trace: Trace) -> None:
    """The JVM counts milliseconds: it may be off by one in each collection."""
    need_java()
    java = cleanup.enter_context(Java("Collections", 300_000, 7, options=options))
    script = trace("jvmgc", java)
    truth = java.run()
    seen = script.stop(example=options == SERIAL)
    collections = [value for value in seen.maps["@collections"].values() if isinstance(value, Stats)]
    count, total_ms = (sum(one.count for one in collections), sum(one.total for one in collections) / 1e6)
    assert count == truth["collections"] >= 7
    assert abs(total_ms - truth["collection_ms"]) <= count + 0.02 * truth["collection_ms"]
    [operation] = OPERATIONS & {key[0] for key in seen.maps["@stops"]}
    stops = seen.stats("@stops", operation)
    assert stops.count == 7 <= sum(seen.histogram("@stop_ns").values()) <= seen.stats("@until_stopped").count + 1
    assert total_ms - 1 <= stops.total / 1e6 < truth["elapsed_ns"] / 1e6
    assert stops.average <= seen.number("@longest_ns", operation) < stops.total
    assert seen.stats("@until_stopped").total < sum(map(total_ns, seen.maps["@stops"].values()))
    assert seen.unseen <= 1


def total_ns(value: object) -> int:
    assert isinstance(value, Stats)
    return value.total


def test_stops_that_are_no_collections(cleanup: Cleanup, trace: Trace) -> None:
    need_java()
    java = cleanup.enter_context(Java("Stops", 23))
    script = trace("jvmgc", java)
    truth = java.run()
    seen = script.stop()
    stops = seen.stats("@stops", "FindDeadlocks")
    assert stops.count == 23 and stops.total < truth["elapsed_ns"]
    assert "@collections" not in seen.maps


def test_others_are_not_traced(cleanup: Cleanup, trace: Trace) -> None:
    need_java()
    idle, busy = (cleanup.enter_context(Java("Collections", 1000, 7)) for _ in range(2))
    script = trace("jvmgc", idle)
    busy.run()
    assert "@collections" not in script.stop().maps


def test_it_ends_with_its_target(cleanup: Cleanup, trace: Trace) -> None:
    need_java()
    java = cleanup.enter_context(Java("Collections", 1000, 7))
    script = trace("jvmgc", java)
    java.process.kill()
    java.process.wait()
    script.stop()


def test_a_program_without_its_probes_is_refused(version: str) -> None:
    """Each probe is told to be missing by newer versions; 0.17 ends with status -2."""
    done = refused(version, "jvmgc", os.getpid())
    assert done.returncode in (1, 254) and "Tracing" not in done.stdout, done
    assert re.search(r"no valid attach points|couldn't get argument . for :hotspot:", done.stderr), done
