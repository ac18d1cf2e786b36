"""JVM-METASPACE: the metaspace (permspace) of a Java virtual machine is nearly used up."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.jvm.stopped_time import COUNTERS, Stopped, stopped
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import jvm_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import duration, fix, percent, size
from perfdiag.model.java_machines import JavaMachine, Pool, java_machines
from perfdiag.model.model import Model
from perfdiag.model.waits.stopped_threads import ACCOUNT

_OF_METADATA = ("Metadata GC", "Permanent Generation Full")


@rule(
    "JVM-METASPACE",
    title="The JVM's metaspace is nearly full",
    accounts=(ACCOUNT,),
    meaning=(
        "Classes of a Java virtual machine are kept in metaspace (in permspace up to JDK 7), which has a limit of its"
        " own (MaxMetaspaceSize, MaxPermSize). Near it, full collections try to unload classes; at it, an"
        " OutOfMemoryError follows. Class loaders that are never let go fill it."
    ),
    measured=(
        "Committed metaspace against its limit, or repeated full collections for metadata that free none; its growth,"
        " classes loaded and unloaded, and the last collection's cause, by the JVM's own counters at both ends of the"
        " window."
    ),
    alternatives="A program that has loaded all its classes and stays there.",
    remedies="Find who loads classes and keeps their loaders; raise the limit if all are needed.",
    verify="jstat -gcmetacapacity PID: MC stays below MCMX.",
    beats=("JVM-ALLOCATION-RATE", "JVM-GC-PRESSURE", "JVM-HEAP-EXHAUSTED", "LOCK-CONTENTION"),
)
def metaspace(model: Model) -> Iterable[Outcome]:
    """Judge committed metaspace against its limit."""
    nearly, highest = False, None
    for each in stopped(model):
        part = _part(each.machine.metaspace) if each.machine else None
        if (
            each.machine
            and part is not None
            and (part >= jvm_policy.metaspace_full_share or _meets_limit(each.machine))
        ):
            nearly = True
            yield _finding(model, each, each.machine, part)
        elif part is not None:
            highest = max(highest or 0.0, part)
    if not nearly and highest is not None:
        name = next(machine.metaspace.name for machine in java_machines(model) if machine.metaspace)
        yield Check("JVM-METASPACE", f"{name} {percent(highest)} of its limit", highest, "share", large=False)


def _part(pool: Pool | None) -> float | None:
    return pool.committed_bytes / pool.limit_bytes if pool and pool.limit_bytes else None


def _finding(model: Model, each: Stopped, machine: JavaMachine, part: float) -> Finding:
    pool = machine.metaspace
    assert pool and pool.limit_bytes
    collects = _collects(machine)
    grows = machine.metaspace_grown_bytes or 0
    left_ns = machine.window_ns * (pool.limit_bytes - pool.committed_bytes) // grows if grows > 0 else None
    option = "MaxMetaspaceSize" if pool.name == "metaspace" else "MaxPermSize"
    until = f"; at this rate it is full in {duration(left_ns)}" if left_ns else ""
    return conclude(
        model,
        each.collecting_claims() if collects else {},
        headline=f"The JVM's {pool.name} is nearly full",
        claim=(
            f"{_committed(pool, part)} of {pool.name} is committed{until}."
            f"{' Collections try to unload classes.' if collects else ''}"
        ),
        mechanism=Mechanism.LIMIT,
        severity=Severity.CRITICAL if (collects or grows > 0) and not _unloads(machine) else Severity.INFO,
        evidence=_evidence(machine, pool),
        remedies=[
            fix(
                f"see who loads classes and keeps their loaders: jcmd {each.pid} VM.classloader_stats,"
                f" GC.class_histogram; count redeployments and generated proxies"
            ),
            fix(f"raise -XX:{option} if all classes are needed"),
        ],
        alternatives=["the program has loaded all its classes, and stays there"],
        verify=checked(f"jstat -gcmetacapacity {each.pid} 1s", "MC, the committed size, stays below MCMX"),
        inside=True,
    )


def _committed(pool: Pool, part: float) -> str:
    if part < jvm_policy.metaspace_full_share or pool.limit_bytes is None:
        return f"All that -XX:MaxMetaspaceSize allows, {size(pool.committed_bytes)},"
    return f"{size(pool.committed_bytes)} of at most {size(pool.limit_bytes)} ({percent(part)})"


def _collects(machine: JavaMachine) -> bool:
    return machine.cause.startswith(_OF_METADATA) and machine.collections > 0


def _meets_limit(machine: JavaMachine) -> bool:
    full = sum(collector.count for collector in machine.collectors if collector.full)
    stays = machine.metaspace_grown_bytes is not None and machine.metaspace_grown_bytes <= 0
    return _collects(machine) and full >= jvm_policy.metaspace_collections and stays and not _unloads(machine)


def _unloads(machine: JavaMachine) -> bool:
    """Return whether classes go as they come: a limit that is met now and then is what makes them go."""
    loaded, unloaded = machine.classes_loaded, machine.classes_unloaded
    return bool(loaded and unloaded and 2 * unloaded >= loaded)


def _evidence(machine: JavaMachine, pool: Pool) -> list[Evidence]:
    text = f"{pool.name}: {size(pool.committed_bytes)} committed, {size(pool.used_bytes)} used"
    found = [Evidence(text, float(pool.committed_bytes), "bytes", COUNTERS)]
    if machine.classes_loaded is not None and machine.classes_unloaded is not None:
        text = f"{machine.classes_loaded:,} classes loaded, {machine.classes_unloaded:,} unloaded in the window"
        found.append(Evidence(text, float(machine.classes_loaded), "count", COUNTERS))
    if machine.metaspace_grown_bytes is not None:
        grown = machine.metaspace_grown_bytes
        found.append(Evidence(f"grown by {size(max(0, grown))} in the window", float(grown), "bytes", COUNTERS))
    if machine.cause:
        found.append(Evidence(f"last collection: {machine.cause}", float(machine.collections), "count", COUNTERS))
    return found
