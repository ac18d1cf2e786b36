"""JVM-ALLOCATION-RATE, JVM-GC-PRESSURE, JVM-HEAP-EXHAUSTED, JVM-METASPACE, JVM-PAUSE-ON-DISK, JVM-SAFEPOINT-SLOW."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.idle.sleeps import sleep
from perfdiag.diagnosis.rule import Confidence, Finding, Mechanism, Severity
from perfdiag.model.waits.stopped_threads import VM_THREAD as VM_COMM
from perfdiag.recording import schema

from unit.support.exchanges import exchange, latency, unread
from unit.support.judging import check, finding, findings, outcomes, silence
from unit.support.jvm import BARRIER, MIB, OPERATION, PATH, VM_THREAD, S, counters, java
from unit.support.recording import Builder
from unit.test_stopped_threads import ENTERS, MONITOR, PARKED

ASKS = ["_ZN15VM_GC_Operation13doit_prologueEv (libjvm.so)"]

ALLOCATION = "JVM-ALLOCATION-RATE"
PRESSURE, EXHAUSTED, METASPACE, SLOW = "JVM-GC-PRESSURE", "JVM-HEAP-EXHAUSTED", "JVM-METASPACE", "JVM-SAFEPOINT-SLOW"
FULL = {"sun__gc__generation__1__space__0__used": 38 * MIB}
SAFEPOINT = ("runtime.safepoint", "lock:safepoint:100")
NONE = counters()


def test_collections_that_take_a_fifth_of_the_window() -> None:
    found = finding(java(counters(**FULL), counters(young=100, young_ns=2 * S, **FULL), "2 s").model(), PRESSURE)
    assert (found.severity, found.confidence) == (Severity.WARNING, Confidence.HIGH)
    assert found.claims == {SAFEPOINT: 4 * S} and found.mechanism is Mechanism.LIMIT
    assert found.headline.startswith("The old generation is ")  # the young one may have room
    assert "-Xmx" in found.remedies[0].text
    roomy = finding(java(NONE, counters(young=100, young_ns=2 * S), "2 s").model(), PRESSURE)
    assert roomy.mechanism is Mechanism.BUSY and "allocate less" in roomy.remedies[0].text


def test_what_a_nested_collector_counts_are_phases() -> None:
    """ "1,221 collections by Shenandoah full" was said of 69, none of which was full."""
    names = {"sun__gc__collector__0__name": "Shenandoah partial", "sun__gc__collector__1__name": "Shenandoah full"}
    end = counters(full=1221, full_ns=2 * S, stops=310, **names)
    found = finding(java(counters(**names), end, "2 s").model(), PRESSURE)
    assert any(each.text.startswith("1,221 phases of collections by Shenandoah") for each in found.evidence), found
    assert "collections" not in found.headline + found.claim


def test_collections_that_take_little_of_the_window_are_no_fault() -> None:
    """Threads wait for them, because the host has no CPU left for the collector."""
    assert finding(java(NONE, counters(young=9, young_ns=S // 10), "2 s").model(), PRESSURE).severity is Severity.INFO
    said = check(java(NONE, counters(young=9, young_ns=S // 10), "1 ms").model(), PRESSURE)
    assert said.number < 0.01


def test_without_counters_stops_are_not_known_to_be_collections() -> None:
    model = java(None, None, "2 s").fact(PATH, "unread off\n").model()
    assert [check(model, PRESSURE).number, model.ns("runtime.safepoint")] == [0, 4 * S]
    assert "-XX:-UsePerfData" in silence(model, EXHAUSTED).reason


def test_a_monitor_whose_holder_is_stopped_is_part_of_the_collection() -> None:
    builder = java(NONE, counters(young=100, young_ns=2 * S), "2 s").thread("late", tid=103, rest="cpu.user")
    builder.row(PARKED, MONITOR, "2 s", count=9, waker_tid=101)
    builder.stack("wait", PARKED, tid=103, object=MONITOR, user=ENTERS, weight="1 s")
    builder.because(PARKED, MONITOR, "cpu.user", "2 s", steps=[PARKED], root_tid=VM_THREAD)
    faults = [each for each in diagnose(builder.model()).findings if each.severity is not Severity.INFO]
    assert [each.id for each in faults] == [PRESSURE] and faults[0].is_root
    assert faults[0].claimed_ns == 6 * S


def test_counters_know_better_than_sampled_stacks() -> None:
    """Most CPU samples are in the collector: with the JVM's own counters that is one finding, not two."""
    collects = ["_ZN16DefNewGeneration7collectEbbmb (libjvm.so)"]

    def ids(end: dict[str, object] | None) -> set[str]:
        builder = java(end and NONE, end, "2 s").thread("busy", tid=104, cpu_user="5 s")
        builder.stack("cpu", tid=VM_THREAD, user=collects, count=900).stack("cpu", tid=104, user=["f (app)"], count=100)
        return {each.id for each in diagnose(builder.model()).findings if each.severity is not Severity.INFO}

    assert ids(counters(young=100, young_ns=2 * S)) == {PRESSURE}
    assert "GC-HEAVY" in ids(None), "without counters the samples tell"


def test_full_collections_that_free_nothing() -> None:
    end = counters(young=1, young_ns=S // 10, full=90, full_ns=4 * S, **FULL)
    model = java(counters(**FULL), end, "4 s").model()
    found = finding(model, EXHAUSTED)
    assert found.severity is Severity.CRITICAL and found.claims == {SAFEPOINT: 8 * S}
    first = next(each for each in diagnose(model).findings if isinstance(each, Finding))
    assert first.id == EXHAUSTED and PRESSURE not in {each.id for each in diagnose(model).findings}
    assert not findings(java(NONE, end, "4 s").model(), EXHAUSTED), "half of it was free once"
    rarely = counters(full=9, full_ns=S // 2, **FULL)
    assert not findings(java(counters(**FULL), rarely, "1 s").model(), EXHAUSTED)


def test_metaspace_near_its_limit() -> None:
    near = {"sun__gc__metaspace__capacity": 95 * MIB, "sun__gc__metaspace__used": 70 * MIB}
    begin = counters(sun__gc__metaspace__capacity=90 * MIB)
    found = finding(java(begin, counters(java__cls__loadedClasses=900, **near)).model(), METASPACE)
    assert found.severity is Severity.CRITICAL and "full in 10.0 s" in found.claim
    still = finding(java(counters(**near), counters(**near)).model(), METASPACE)
    assert still.severity is Severity.INFO, "it has loaded all its classes"
    caused = counters(full=5, full_ns=S, sun__gc__lastCause="Metadata GC Threshold", **near)
    assert finding(java(counters(**near), caused, "1 s").model(), METASPACE).claims == {SAFEPOINT: 2 * S}
    assert check(java(NONE, NONE).model(), METASPACE).number == 0.1
    again = counters(full=9, full_ns=S, sun__gc__lastCause="Metadata GC Threshold")
    met = finding(java(NONE, again, "1 s").model(), METASPACE)
    assert met.severity is Severity.CRITICAL and "MaxMetaspaceSize" in met.claim, "the limit that is counted is another"
    grown = counters(sun__gc__metaspace__capacity=8 * MIB)
    assert not findings(java(grown, again, "1 s").model(), METASPACE), "there was room"
    churn = caused | {"java.cls.loadedClasses": 1500, "java.cls.unloadedClasses": 900}
    assert finding(java(counters(**near), churn, "1 s").model(), METASPACE).severity is Severity.INFO, "classes go"


def test_threads_that_stop_late() -> None:
    late = counters(young=10, young_ns=S // 2, reaching_ns=S)
    found = finding(java(NONE, late, "1500 ms").model(), SLOW)
    assert found.severity is Severity.WARNING and found.claims == {SAFEPOINT: 2 * S}
    assert finding(java(NONE, late, "1500 ms").thread("b", runq_busy="2 s").model(), SLOW).severity is Severity.INFO
    assert check(java(NONE, counters(young=10, young_ns=S), "1 s").model(), SLOW).number == 0


def test_who_asks_for_a_collection_waits_for_the_last_thread_too() -> None:
    """All allocating threads wait for the collection that they asked for, and that is late: it took 1 % of the stop."""
    builder = java(NONE, counters(young=10, young_ns=S // 100, reaching_ns=S - S // 100), "100 ms")
    for tid in (103, 104, 105):
        builder.thread(f"allocator-{tid}", tid=tid, rest="cpu.user")
        builder.row(PARKED, OPERATION, "900 ms", count=9, waker_tid=VM_THREAD)
        builder.stack("wait", PARKED, tid=tid, object=OPERATION, user=ASKS, weight="900 ms")
    first = diagnose(builder.model()).findings[0]
    assert first.id == SLOW and first.severity is Severity.WARNING
    assert first.claimed_ns == pytest.approx(0.99 * 2.9 * S)


def test_a_pause_of_more_nanoseconds_than_32_bits_hold() -> None:
    found = finding(java(counters(**FULL), counters(full=1, full_ns=5 * S, **FULL), "5 s").model(), PRESSURE)
    assert found.claims == {SAFEPOINT: 10 * S}
    assert 5e9 in [each.value for each in found.evidence], "in one stop"


def test_stops_that_are_for_no_collection() -> None:
    found = finding(java(NONE, counters(young=1, young_ns=S // 100, stops=100, more_ns=S), "1 s").model(), SLOW)
    assert found.mechanism is Mechanism.MANY and found.claims == {SAFEPOINT: round(2 * S * 0.99)}


def test_long_collections_outweigh_more_stops_that_are_short() -> None:
    """Two full collections of 200 ms among seven stops: nothing else stops threads for long."""
    end = counters(full=2, full_ns=4 * S // 10, stops=7, more_ns=S // 1000)
    model = java(NONE, end, "400 ms").model()
    faults = [each for each in outcomes(model, SLOW) if isinstance(each, Finding) and each.severity is Severity.WARNING]
    assert not faults and finding(model, PRESSURE).claims[SAFEPOINT] == pytest.approx(8 * S // 10, rel=0.01)


def test_a_collector_that_waits_for_a_cpu_of_its_own_threads_is_not_their_fault() -> None:
    """One CPU: the VM Thread waits for it until all have stopped, and they wait for the VM Thread."""
    builder = java(counters(**FULL), counters(full=10, full_ns=3 * S, **FULL), "4 s")
    for tid in range(120, 130):
        builder.thread("many", tid=tid, rest="cpu.user").row("runq.busy", "own:100:java", durations={"5 ms": 1000})
        builder.row("runq.busy", "", durations={"5 ms": 20})  # behind whom is not known, as of a chain's root
    builder.because(PARKED, BARRIER, "runq.busy", "3 s", root_tid=VM_THREAD)
    found = next(each for each in diagnose(builder.model()).findings if each.id == EXHAUSTED)
    assert found.claimed_ns == 8 * S, "all of it"


def test_requests_that_lie_unread_while_all_threads_are_stopped_wait_for_the_collection() -> None:
    builder = java(counters(**FULL), counters(full=10, full_ns=3 * S, **FULL), "2 s")
    builder.thread("pool", tid=103, rest="net.request", requests=(20, 0))
    builder.row(PARKED, BARRIER, "1 s", count=10, waker_tid=VM_THREAD)
    builder.because(PARKED, BARRIER, "cpu.user", "5 s", count=10, root_tid=VM_THREAD)
    line = exchange(20, 10 * S, {PARKED: S, "cpu.user": S}, read_delay_ns=8 * S)
    builder.line(line).line(latency([S // 2] * 20)).line(latency([4 * S // 10] * 20, "read_delay"))
    builder.line(schema.RequestParked(100, BARRIER, False, 20, S))
    for each in unread({(PARKED, "cpu.user"): 8 * S}, served=False):
        builder.line(each)
    found = diagnose(builder.model()).findings[0]
    assert found.id == EXHAUSTED and found.share == pytest.approx(0.9)


def test_no_virtual_machine() -> None:
    model = java(None, None).model()
    assert not [outcome for id in (PRESSURE, EXHAUSTED, METASPACE, SLOW) for outcome in outcomes(model, id)]


def _stopped_behind(*steps: str, root: str, ns: str, root_object: str = "") -> Builder:
    """Two workers stopped for 2 s each by collections, of which the VM Thread was elsewhere for `ns` in all."""
    end = counters(young=100, young_ns=2 * S)
    builder = java(NONE, end, "2 s")
    return builder.because(
        PARKED, BARRIER, root, ns, steps=steps, root_tid=0 if steps else VM_THREAD, root_object=root_object
    )


def test_stops_that_wait_for_the_log_are_no_collections() -> None:
    model = _stopped_behind("ipc.pipe", root="wait.timer", ns="3 s").model()
    found = finding(model, "JVM-PAUSE-ON-DISK")
    assert found.claims == {SAFEPOINT: 3 * S} and "-Xlog:async" in found.remedies[0].text
    assert next((each.id, each.claimed_ns) for each in diagnose(model).findings) == ("JVM-PAUSE-ON-DISK", 3 * S)


def test_a_disk_at_the_root_of_stops_is_named_too() -> None:
    model = _stopped_behind(root="disk.write", ns="3 s", root_object="8:0").model()
    assert finding(model, "JVM-PAUSE-ON-DISK").claims == {SAFEPOINT: 3 * S}


def test_stops_in_which_the_collector_works_wait_for_nothing() -> None:
    for root in ("cpu.user", "runq.busy", "wait.parked", "memory.swap_in"):
        model = _stopped_behind(root=root, ns="3 s").model()
        assert check(model, "JVM-PAUSE-ON-DISK").number == 0, root


def test_a_few_short_waits_for_the_log_are_no_finding() -> None:
    assert (
        0 < check(_stopped_behind("disk.write", root="cpu.user", ns="4 ms").model(), "JVM-PAUSE-ON-DISK").number < 0.01
    )


def test_the_thread_that_was_stopped_for_less_is_the_late_one() -> None:
    """Two were stopped for 2 s each, of which 1.9 s were until a third, which computes, had stopped too."""
    end = counters(young=100, young_ns=S // 10, reaching_ns=1_900_000_000)
    builder = java(NONE, end, "2 s").thread("late", tid=103, cpu_user="3 s").thread("idle", tid=104, rest="wait.timer")
    found = finding(builder.model(), SLOW)
    assert "late (103)" in found.headline and "UseCountedLoopSafepoints" in found.remedies[0].text
    assert found.evidence[0].value == 2 * S
    paged = java(NONE, end, "2 s").thread("late", tid=103, **{"memory_major_fault": "3 s"})
    assert "mapping" in finding(paged.model(), SLOW).remedies[0].text


def test_without_a_busy_thread_nobody_is_called_late() -> None:
    end = counters(young=100, young_ns=S // 10, reaching_ns=1_900_000_000)
    found = finding(java(NONE, end, "2 s").thread("short", tid=103, cpu_user="50 ms").model(), SLOW)
    assert "(103)" not in found.headline and "SafepointTimeout" in found.remedies[0].text


def test_the_poll_until_all_threads_have_stopped_is_no_sleep_of_the_program() -> None:
    end = counters(young=100, young_ns=S // 10, reaching_ns=1_900_000_000)
    builder = java(NONE, end, "2 s").thread(VM_COMM, tid=120, wait_timer="9 s")
    assert sleep(builder.model()) is None
    assert sleep(java(NONE, end, "2 s").thread("naps", tid=120, wait_timer="9 s").model())


EDEN = {"sun__gc__generation__0__space__0__name": "eden", "sun__gc__generation__0__space__0__capacity": 18 * MIB}


def _allocating(collections: int, old_bytes: int = 9 * MIB) -> Builder:
    """Two workers stopped for 2 s each, in so many collections of an eden of 18 MiB, in ten seconds."""
    begin = counters(**EDEN, sun__gc__generation__1__space__0__used=old_bytes)
    end = counters(young=collections, young_ns=2 * S, **EDEN, sun__gc__generation__1__space__0__used=old_bytes)
    return java(begin, end, "2 s")


def test_a_gigabyte_a_second_is_named_before_the_collections() -> None:
    model = _allocating(1000).model()
    found = finding(model, ALLOCATION)
    assert found.claims == {SAFEPOINT: 4 * S} and found.severity is Severity.WARNING
    assert found.evidence[0].value == 1000 * 18 * MIB / 10
    assert "async-profiler" in found.remedies[0].text
    assert next(each.id for each in diagnose(model).findings) == ALLOCATION


def test_a_full_old_generation_or_an_even_pace_is_none() -> None:
    assert check(_allocating(500).model(), ALLOCATION).number == 500 * 18 * MIB / 10
    assert check(_allocating(1000, old_bytes=38 * MIB).model(), ALLOCATION)
    assert any(each.unit == "bytes/s" for each in finding(_allocating(500).model(), PRESSURE).evidence)


@pytest.mark.parametrize(("young_bytes", "small"), [(2 * MIB, True), (20 * MIB, False)])
def test_a_young_generation_that_was_made_small_is_named_with_its_remedy(young_bytes: int, small: bool) -> None:
    """ "Allocate less", or a larger heap, of which nine tenths were free."""
    end = counters(young=400, young_ns=2 * S, sun__gc__generation__0__maxCapacity=young_bytes)
    found = finding(java(NONE, end, "2 s").model(), PRESSURE)
    assert ("only 2.00 MiB" in found.headline) is small and ("-Xmn" in found.remedies[0].text) is small


def test_pauses_of_a_concurrent_cycle_find_no_eden_full() -> None:
    cycle = {**EDEN, "sun__gc__collector__1__name": "G1 concurrent cycle pauses"}
    begin, end = counters(**cycle), counters(young=500, young_ns=2 * S, full=500, full_ns=S, **cycle)
    assert check(java(begin, end, "2 s").model(), ALLOCATION).number == 500 * 18 * MIB / 10


@pytest.mark.parametrize(
    ("full_ns", "cause", "old_bytes", "told"),
    [
        (3 * S, "G1 Preventive Collection", 9, True),
        (S, "G1 Preventive Collection", 9, False),
        (3 * S, "System.gc()", 9, False),
        (3 * S, "Metadata GC Clear Soft References", 9, False),
        (3 * S, "G1 Preventive Collection", 41, False),
    ],
)
def test_g1_collects_the_whole_heap_though_it_has_room(full_ns: int, cause: str, old_bytes: int, told: bool) -> None:
    """Large arrays in small regions: "allocate less", while a third of the heap was free."""
    names = {"sun__gc__collector__1__name": "G1 full collection pauses", "sun__gc__lastCause": cause}
    names["sun__gc__generation__1__space__0__used"] = old_bytes * MIB
    end = counters(young=80, young_ns=2 * S, full=24, full_ns=full_ns, **names)
    found = finding(java(counters(**names), end, "2 s").model(), PRESSURE)
    assert ("G1 collects the whole heap, 24 times" in found.headline) is told, found.headline
    assert ("G1HeapRegionSize" in found.remedies[0].text) is told


def test_without_an_eden_nothing_is_said_of_allocation() -> None:
    assert not outcomes(java(NONE, counters(young=1000, young_ns=2 * S), "2 s").model(), ALLOCATION)
    zgc = {**EDEN, "sun__gc__collector__0__name": "ZGC Young Collection Pauses"}
    model = java(counters(**zgc), counters(young=1000, young_ns=2 * S, **zgc), "2 s").model()
    assert not outcomes(model, ALLOCATION)
