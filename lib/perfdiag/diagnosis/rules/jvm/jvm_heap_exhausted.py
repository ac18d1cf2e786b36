"""JVM-HEAP-EXHAUSTED: full collections of a Java heap free next to nothing."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.jvm.stopped_time import COUNTERS, Stopped, collections_shown, fill, pool_shown, stopped
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import jvm_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import duration, fix, percent, plain
from perfdiag.model.java_machines import java_machines
from perfdiag.model.model import Model
from perfdiag.model.waits.stopped_threads import ACCOUNT


@rule(
    "JVM-HEAP-EXHAUSTED",
    title="The Java heap is full, and full collections free nothing",
    accounts=(ACCOUNT,),
    meaning=(
        "What lives in the heap of a Java virtual machine fills it. Each full collection stops all threads, frees"
        " next to nothing, and the next one follows. An OutOfMemoryError is near."
    ),
    measured=(
        "Full collections with all threads stopped for at least a tenth of the window, and at least 90 % of the old"
        " generation's limit in use whenever it was read, by the JVM's own counters; joined with waits in"
        " runtime.safepoint."
    ),
    alternatives="A burst that has just filled the heap; System.gc() called again and again.",
    remedies="Find what fills it (heap dump, class histogram); a larger -Xmx if all of it is needed.",
    verify="jstat -gcutil PID 1s: O, the old generation, falls well below 100 after each FGC.",
    beats=("JVM-ALLOCATION-RATE", "JVM-GC-PRESSURE", "LOCK-CONTENTION"),
)
def exhausted(model: Model) -> Iterable[Outcome]:
    """Judge the old generation after full collections."""
    found = False
    for each in stopped(model):
        if _is_exhausted(each):
            found = True
            yield _finding(model, each)
    known = [(machine.old.used_bytes, machine.old.limit_bytes) for machine in java_machines(model) if machine.old]
    parts = [used / limit for used, limit in known if limit]
    unread = [machine.unread for machine in java_machines(model) if machine.unread]
    if found:
        return
    if parts:
        text = f"old generation of the Java heap {percent(max(parts))} full after the last collection"
        yield Check("JVM-HEAP-EXHAUSTED", text, max(parts), "share", large=False)
    elif unread:
        reason = f"the counters of the Java virtual machine are not known: {plain(unread[0])}"
        yield Silence("JVM-HEAP-EXHAUSTED", reason, "by hand: jstat -gcutil PID 1s")


def full_ns(each: Stopped) -> int:
    """Return how long all threads were stopped for full collections, as far as known."""
    collectors = each.machine.collectors if each.machine else ()
    return sum(collector.ns or 0 for collector in collectors if collector.full and collector.count)


def _is_exhausted(each: Stopped) -> bool:
    machine = each.machine
    old = machine.old if machine else None
    if machine is None or old is None or not old.limit_bytes or not machine.window_ns:
        return False
    return (
        old.used_bytes >= jvm_policy.heap_exhausted_share * old.limit_bytes
        and full_ns(each) >= jvm_policy.heap_exhausted_of_window_share * machine.window_ns
    )


def _finding(model: Model, each: Stopped) -> Finding:
    machine = each.machine
    assert machine and machine.old
    took_ns = full_ns(each)
    evidence = [pool_shown(machine.old), *collections_shown(machine), *each.waits()]
    part = took_ns / machine.window_ns
    evidence.insert(1, Evidence(f"{percent(part)} of the window in full collections", float(took_ns), "ns", COUNTERS))
    return conclude(
        model,
        each.collecting_claims(),
        headline="The Java heap is full: full collections free next to nothing",
        claim=f"Full collections stopped all threads for {duration(took_ns)} and left {fill(machine.old)} in use.",
        mechanism=Mechanism.LIMIT,
        severity=Severity.CRITICAL,
        evidence=evidence,
        remedies=[
            fix(f"see what fills it: jcmd {each.pid} GC.class_histogram; a leak grows from one to the next"),
            fix("raise -Xmx if all of it is needed"),
        ],
        alternatives=["a burst has just filled the heap", "the program calls System.gc() itself"],
        verify=checked(f"jstat -gcutil {each.pid} 1s", "O, the old generation, falls well below 100 after each FGC"),
        inside=True,
    )
