"""JVM-GC-PRESSURE: threads of a Java virtual machine wait while it collects garbage."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.jvm.asked_stops import asked_stop
from perfdiag.diagnosis.evidence.jvm.stopped_time import (
    Stopped,
    allocation_shown,
    collecting_is_fault,
    collections_shown,
    old_part,
    pool_shown,
    stopped,
)
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import jvm_policy
from perfdiag.diagnosis.rule import Check, Confidence, Finding, Mechanism, Outcome, Remedy, rule
from perfdiag.diagnosis.significance import duration, fix, percent, size, worth
from perfdiag.model.java_machines import Collector, JavaMachine, Pool
from perfdiag.model.model import Model
from perfdiag.model.waits.stopped_threads import ACCOUNT

ON_REQUEST = "System.gc()"
_FOR_CLASSES = "Metadata GC"  # metaspace was full, not the heap
_LARGER_REGIONS = fix(
    "start with larger regions (-XX:G1HeapRegionSize, up to 32m): arrays and other objects of more than half a region"
    " go to the old generation at once (humongous), and need free regions in a row; or allocate smaller ones"
)


@rule(
    "JVM-GC-PRESSURE",
    title="Threads wait while the JVM collects garbage",
    accounts=(ACCOUNT,),
    meaning=(
        "The Java virtual machine stops its threads to collect garbage, so often or for so long that they lose a"
        " share of their time. Threads that wait for a lock whose holder is stopped lose it, too."
    ),
    measured=(
        "Waits of threads in runtime.safepoint, each found by the VM Thread that ends it, with the JVM's own counters"
        " of collections, stops and memory at both ends of the window. Waits behind stopped holders of locks are"
        " claimed too, as seen at each wake-up. It is a fault if collections take more than 5 % of the window, or"
        " requests lose that much."
    ),
    alternatives="The collector has no CPU: see CPU-CONTENTION; or its memory is in swap: see MEM-SWAP-IN.",
    remedies="A larger heap (-Xmx) if it stays nearly full after collections; else allocate less.",
    names={Mechanism.STOPPED: "JVM-STOPS-ASKED"},
    verify="runtime.safepoint is under 5 % of busy time.",
    beats=("LOCK-CONTENTION",),
)
def pressure(model: Model) -> Iterable[Outcome]:
    """Judge the time that collections took of the target's threads."""
    share, found = 0.0, False
    machines = stopped(model)
    for each in machines:
        claims = each.collecting_claims()
        if worth(model, sum(claims.values())):
            found = True
            yield _finding(model, each)
        elif model.busy_ns:
            share += sum(claims.values()) / model.busy_ns
    if machines and not found:
        yield Check("JVM-GC-PRESSURE", f"garbage collection in Java {percent(share)} of busy time", share, "share")


def _finding(model: Model, each: Stopped) -> Finding:
    claims = each.collecting_claims()
    ns, machine = sum(claims.values()), each.machine
    full = old_part(machine) if machine else None
    evidence = [pool_shown(machine.old)] if machine and machine.old and full is not None else []
    evidence += each.waits()
    evidence += [*collections_shown(machine), *allocation_shown(machine)] if machine else []
    number = machine.collections if machine and not machine.is_nested else 0
    counted = f" in {number:,} collections" if number else ""
    whole = _full_with_room(machine, full)
    asked = asked_stop(model, each.pid, machine.cause if machine else "")
    evidence += asked.evidence if asked else []
    why = f" (last cause: {machine.cause})" if machine and machine.cause else ""
    return conclude(
        model,
        claims,
        headline=asked.headline if asked else _headline(machine, full, whole),
        claim=f"Threads waited {duration(ns)}{counted}{why}.{_state(full)}",
        mechanism=Mechanism.STOPPED if asked else Mechanism.LIMIT if _is_full(full) else Mechanism.BUSY,
        departs=collecting_is_fault(model, each),
        best=Confidence.HIGH if machine else Confidence.MEDIUM,
        doubts=["" if machine else _unread(model, each.pid)],
        evidence=evidence,
        remedies=[
            *([asked.remedy] if asked else []),
            *([_LARGER_REGIONS] if whole and not asked else []),
            *([] if asked and asked.part else _larger_young(machine)),
            *([] if asked and asked.part else _remedies(each.pid, full, machine.cause if machine else "")),
        ],
        alternatives=["the collector has no CPU", "memory of the heap is in swap"],
        verify=time_under(model, "runtime.safepoint"),
        inside=True,
    )


def _is_full(full: float | None) -> bool:
    return full is not None and full >= jvm_policy.old_generation_full_share


def _full_with_room(machine: JavaMachine | None, full: float | None) -> Collector | None:
    """Return the collections of G1 of the whole heap, where these are most of the time though the old generation has
    room, and neither somebody nor metaspace asked for them: what is larger than half a region needs several free ones
    in a row."""
    if machine is None or full is None or _is_full(full) or machine.cause.startswith((ON_REQUEST, _FOR_CLASSES)):
        return None
    whole_ns = sum(each.ns or 0 for each in machine.collectors)
    return next(
        (each for each in machine.collectors if each.full and "G1" in each.name and 2 * (each.ns or 0) > whole_ns), None
    )


def _headline(machine: JavaMachine | None, full: float | None, whole: Collector | None) -> str:
    if whole and full is not None:
        return (
            f"Threads stop while G1 collects the whole heap, {whole.count:,} times, though {percent(1 - full)} of the"
            " old generation is free"
        )
    if full is not None and _is_full(full):
        what = "old generation" if machine and len(machine.generations) > 1 else "heap"
        state = f"The {what} is {percent(full)} full after collections"
        return f"{state}, and threads stop until the JVM has collected garbage"
    return f"Threads stop while the JVM collects garbage{_small(machine)}"


def _young(machine: JavaMachine | None) -> Pool | None:
    """Return the young generation that was made too small for what is allocated: the old one has room, and is far
    larger; None if it was not, or nobody knows."""
    if (
        machine is None
        or len(machine.generations) < 2
        or (old_part(machine) or 1.0) >= jvm_policy.old_generation_full_share
    ):
        return None
    young, old = machine.generations[0], machine.generations[-1]
    known = young.limit_bytes and old.limit_bytes
    small = known and (young.limit_bytes or 0) < jvm_policy.young_small_share * (old.limit_bytes or 0)
    return young if small else None


def _small(machine: JavaMachine | None) -> str:
    young = _young(machine)
    return f": its young generation has only {size(young.limit_bytes or 0)}" if young else ""


def _larger_young(machine: JavaMachine | None) -> list[Remedy]:
    young = _young(machine)
    if machine is None or machine.old is None or young is None:
        return []
    sizes = f"{size(young.limit_bytes or 0)} beside {size(machine.old.limit_bytes or 0)} of the old one"
    return [fix(f"make the young generation larger: start without -Xmn, or with a larger one (now {sizes})")]


def _unread(model: Model, pid: int) -> str:
    facts = model.facts.java_machines.get(pid)
    return f"the JVM's counters are not known: {facts.unread if facts and facts.unread else 'not recorded'}"


def _state(full: float | None) -> str:
    if full is None:
        return ""
    if full >= jvm_policy.old_generation_full_share:
        return f" The heap is too small for what lives in it: {percent(full)} of the old generation is in use."
    return f" What lives in the heap fits ({percent(full)} of the old generation): threads allocate fast."


def _remedies(pid: int, full: float | None, cause: str) -> list[Remedy]:
    if cause.startswith(ON_REQUEST):
        asks = "the program asks for collections itself (System.gc()): find who calls it, or set -XX:+DisableExplicitGC"
        return [fix(asks)]
    larger = fix("raise -Xmx, or keep less in memory; jcmd PID GC.class_histogram shows what".replace("PID", str(pid)))
    less = fix("allocate less: async-profiler -e alloc, or jcmd PID JFR.start, show where".replace("PID", str(pid)))
    return [larger, less] if full is None or full >= jvm_policy.old_generation_full_share else [less, larger]
