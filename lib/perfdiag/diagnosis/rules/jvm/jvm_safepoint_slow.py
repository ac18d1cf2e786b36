"""JVM-SAFEPOINT-SLOW: a Java virtual machine takes long to stop its threads, or stops them for other work."""

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.jvm.late_threads import Late, late_threads
from perfdiag.diagnosis.evidence.jvm.stopped_time import COUNTERS, Stopped, stopped
from perfdiag.diagnosis.evidence.locks.holder_sentences import does_in_brief
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import jvm_policy
from perfdiag.diagnosis.rule import Check, Claims, Evidence, Finding, Mechanism, Outcome, Remedy, other_cause, rule
from perfdiag.diagnosis.significance import duration, fix, percent, worth
from perfdiag.model.java_machines import JavaMachine
from perfdiag.model.model import Model
from perfdiag.model.waits.stopped_threads import ACCOUNT

_SHOWN = 3  # threads that were late
_NO_CPU = other_cause("the last thread waits for a CPU", "CPU-CONTENTION", "CPU-OVERSUBSCRIBED")


@rule(
    "JVM-SAFEPOINT-SLOW",
    title="The JVM takes long to stop its threads, or stops them often",
    accounts=(ACCOUNT,),
    meaning=(
        "To stop its threads (a safepoint), a Java virtual machine waits for the last of them. A thread in a long"
        " counted loop, in a page fault or without a CPU makes all others wait. Thread dumps, deadlock checks,"
        " deoptimisation and class redefinition stop threads, too."
    ),
    measured=(
        "Stops, their time and the time until the last thread had stopped, by the JVM's own counters; joined with"
        " waits in runtime.safepoint. The late thread is the one that was stopped for less than the others, and busy"
        " meanwhile. The part of stops that is neither is collections: JVM-GC-PRESSURE."
    ),
    alternatives="The host has too few CPUs, and the last thread waits for one: CPU-CONTENTION, CPU-OVERSUBSCRIBED.",
    remedies="Find the late thread, or the operation, in -Xlog:safepoint*.",
    verify="runtime.safepoint is under 5 % of busy time.",
    beats=("JVM-ALLOCATION-RATE", "JVM-GC-PRESSURE", "JVM-HEAP-EXHAUSTED", "JVM-METASPACE", "LOCK-CONTENTION"),
)
def slow(model: Model) -> Iterable[Outcome]:
    """Judge the time until threads have stopped, and stops that are for no collection."""
    late, other, judged = False, False, None
    for each in stopped(model):
        machine = each.machine
        if machine is None or machine.stopped_ns is None or not machine.window_ns:
            continue
        judged = max(judged or 0.0, each.reaching_part)
        claims = each.reaching_claims()
        if each.reaching_part >= jvm_policy.safepoint_late_share and worth(model, sum(claims.values())):
            late = True
            yield _late(model, each, machine, claims)
        rest = 1.0 - each.collecting_part
        claims = each.claims(rest)
        often = (
            rest >= jvm_policy.safepoint_other_share
            and rest * machine.stopped_ns >= jvm_policy.safepoint_of_window_share * machine.window_ns
        )
        if often and worth(model, sum(claims.values())):
            other = True
            yield _other(model, each, machine, claims, rest)
    if judged is not None and not late and not other:
        text = f"{percent(judged)} of the JVM's pauses is the wait until the last thread has stopped"
        yield Check("JVM-SAFEPOINT-SLOW", text, judged, "share", large=False)


def _late(model: Model, each: Stopped, machine: JavaMachine, claims: Claims) -> Finding:
    late = late_threads(model, machine)
    only = late[0] if len(late) == 1 else None
    return conclude(
        model,
        claims,
        headline=f"Threads of the JVM wait for {f'{only.thread.name}, the' if only else 'the'} last one to stop",
        claim=f"The JVM waited {duration(machine.reaching_ns or 0)} for the last thread to stop, of"
        f" {duration(machine.stopped_ns or 0)} in which it stopped them all.",
        mechanism=Mechanism.SLOW,
        # The last one may have waited for a CPU: where threads do that for longer, it is no fault of its own.
        departs=model.ns("runq.") < (machine.reaching_ns or 0),
        evidence=[*map(_lateness, late[:_SHOWN]), *_evidence(machine, each)],
        remedies=_remedies(late),
        alternatives=[_NO_CPU],
        verify=time_under(model, "runtime.safepoint"),
        inside=True,
    )  # fmt: skip


def _lateness(late: Late) -> Evidence:
    text = (
        f"{late.thread.name} was stopped for {duration(late.stopped_ns)}, others for up to {duration(late.others_ns)};"
    )
    text += f" meanwhile it {does_in_brief(late.account)} ({percent(late.share)})"
    return Evidence(text, float(late.others_ns - late.stopped_ns), "ns", "ledger")


def _remedies(late: Sequence[Late]) -> list[Remedy]:
    """Return how to find the thread that is late, and what helps against what it does."""
    see = fix("see which thread is late: -Xlog:safepoint*=debug, or -XX:+SafepointTimeout -XX:SafepointTimeoutDelay=50")
    loop = fix("let long loops that count an int stop, too: -XX:+UseCountedLoopSafepoints")
    mapped = fix("read the file instead of mapping it: a thread in a page fault stops when the page has come")
    if not late:
        return [see, loop, mapped]
    if late[0].account.startswith("cpu."):
        return [loop, see]
    return [mapped, see] if late[0].account.startswith(("disk.", "nfs.", "memory.", "remote.")) else [see]


def _other(model: Model, each: Stopped, machine: JavaMachine, claims: Claims, rest: float) -> Finding:
    ns = round(rest * (machine.stopped_ns or 0))
    return conclude(
        model,
        claims,
        headline="The JVM stops its threads for other work than collections",
        claim=f"The JVM stopped all threads for {duration(ns)}, and not for a collection.",
        mechanism=Mechanism.MANY,
        evidence=_evidence(machine, each),
        remedies=[
            fix("see which operations stop them: -Xlog:safepoint; thread dumps, deadlock checks of a monitor agent,"
                " biased locking (-XX:-UseBiasedLocking up to JDK 17) and redefined classes do")
        ],
        alternatives=["collections whose time the JVM does not count"],
        verify=time_under(model, "runtime.safepoint"),
        inside=True,
    )  # fmt: skip


def _evidence(machine: JavaMachine, each: Stopped) -> list[Evidence]:
    stops, whole_ns, reaching_ns = machine.stops or 0, machine.stopped_ns or 0, machine.reaching_ns or 0
    text = f"{stops:,} stops, {duration(whole_ns)}; {duration(reaching_ns)} until the last thread had stopped"
    found = [Evidence(text, float(whole_ns), "ns", COUNTERS)]
    if machine.collecting_ns is not None:
        text = f"{duration(machine.collecting_ns)} of that for collections"
        found.append(Evidence(text, float(machine.collecting_ns), "ns", COUNTERS))
    return [*found, *each.waits()]
