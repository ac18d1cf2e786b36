"""JVM-ALLOCATION-RATE: threads of a Java virtual machine allocate so fast that it collects all the time."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.jvm.stopped_time import (
    Stopped,
    allocated_a_second,
    allocation_shown,
    collecting_is_fault,
    collections_shown,
    old_part,
    pool_shown,
    stopped,
)
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import jvm_policy
from perfdiag.diagnosis.rule import Check, Finding, Mechanism, Outcome, rule
from perfdiag.diagnosis.significance import duration, fix, size, worth
from perfdiag.model.java_machines import JavaMachine
from perfdiag.model.model import Model
from perfdiag.model.waits.stopped_threads import ACCOUNT


@rule(
    "JVM-ALLOCATION-RATE",
    title="Threads of the JVM allocate faster than it can collect",
    accounts=(ACCOUNT,),
    meaning=(
        "Threads allocate at least 1 GiB a second, so the young generation is full again at once, and each collection"
        " stops all threads. What lives long fits into the heap: a larger one makes collections rarer, but the memory"
        " is written all the same."
    ),
    measured=(
        "Collections of the young generation times the size of eden, by the JVM's own counters, with the waits of"
        " threads in runtime.safepoint for collections. Not known for ZGC and Shenandoah."
    ),
    alternatives="A burst, such as a cache that is being filled: record again.",
    remedies="Find who allocates, and allocate less; a larger young generation (-Xmn) makes collections rarer.",
    verify="runtime.safepoint is under 5 % of busy time.",
    beats=("JVM-GC-PRESSURE", "LOCK-CONTENTION"),
)
def fast(model: Model) -> Iterable[Outcome]:
    """Judge how fast threads allocate, where collections are a fault and what lives long fits."""
    found, fastest = False, None
    for each in stopped(model):
        a_second = allocated_a_second(each.machine) if each.machine else None
        if each.machine is None or a_second is None:
            continue
        fastest = max(fastest or 0.0, a_second)
        claims = each.collecting_claims()
        fits = (old_part(each.machine) or 0.0) < jvm_policy.old_generation_full_share
        quick = a_second >= jvm_policy.allocated_bytes_per_second
        if quick and fits and collecting_is_fault(model, each) and worth(model, sum(claims.values())):
            found = True
            yield _finding(model, each, each.machine, a_second)
    if fastest is not None and not found:
        text = f"threads of the JVM allocate {size(fastest)} a second"
        yield Check("JVM-ALLOCATION-RATE", text, fastest, "bytes/s", large=False)


def _finding(model: Model, each: Stopped, machine: JavaMachine, a_second: float) -> Finding:
    claims = each.collecting_claims()
    old = [pool_shown(machine.old)] if machine.old and old_part(machine) is not None else []
    return conclude(
        model,
        claims,
        headline=f"Threads allocate {size(a_second)} a second; the JVM stops them to collect it",
        claim=f"Threads allocated {size(a_second)} a second, and waited {duration(sum(claims.values()))} while the JVM"
        " collected that.",
        mechanism=Mechanism.MANY,
        evidence=[*allocation_shown(machine), *collections_shown(machine), *old, *each.waits()],
        remedies=[
            fix(f"find who allocates: async-profiler -e alloc, or jcmd {each.pid} JFR.start; then allocate less"),
            fix("make collections rarer: a larger young generation (-Xmn), and -Xmx with it"),
        ],
        alternatives=["a burst, such as a cache that is being filled"],
        verify=time_under(model, "runtime.safepoint"),
        inside=True,
    )
