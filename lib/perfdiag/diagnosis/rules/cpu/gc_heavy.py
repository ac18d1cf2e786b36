"""GC-HEAVY: a runtime's garbage collector takes more CPU time than the program."""

from collections.abc import Iterable
from dataclasses import replace

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.cpu.garbage_collection import Collection, collection
from perfdiag.diagnosis.evidence.cpu.stack_samples import FUNCTIONS, CpuSamples, Hot, Part, part_of
from perfdiag.diagnosis.evidence.cpu.time_split import sample_limits
from perfdiag.diagnosis.evidence.fix_checks import part_under
from perfdiag.diagnosis.evidence.jvm.stopped_time import has_pressure
from perfdiag.diagnosis.evidence.request_readers import of_readers, request_readers
from perfdiag.diagnosis.evidence.runqueue.competition import competition
from perfdiag.diagnosis.evidence.target import CPU, subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import (
    Check,
    Claim,
    Confidence,
    Evidence,
    EvidenceKind,
    Mechanism,
    Outcome,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import duration, fix, percent, total_ns
from perfdiag.model.model import Model

ID = "GC-HEAVY"
LOCK, RUNQ = "lock.futex", "runq.busy"


@rule(
    ID,
    title="Garbage collection takes most of the CPU time",
    accounts=("cpu.user", LOCK, RUNQ),
    meaning=(
        "The runtime (Java, Go, V8, Python, .NET) computes more for its garbage collector than for the program. The"
        " heap is nearly full, or the program allocates too much. Requests wait while the collector holds up their"
        " thread or uses their CPU."
    ),
    measured=(
        "CPU samples inside the collector's functions and threads; of a server, of the threads that"
        " read its requests. A fault if they are surely more than half. Also claimed: waits for the collector's locks,"
        " and waits of its helper threads for CPUs used by the target's own threads."
    ),
    alternatives="A short burst of collections after a start, or a collection that somebody asked for. JVM-GC-PRESSURE"
    " replaces this finding where the counters of a Java virtual machine show that it stops its threads for too long.",
    remedies="Give the heap more room, keep less alive, or allocate less.",
    verify="With --full, less than half of the CPU samples are in the collector.",
    beats=("CPU-BOUND", "CPU-SINGLE-THREAD", "CPU-OVERSUBSCRIBED", "LOCK-CONTENTION"),
)
def collects_garbage(model: Model) -> Iterable[Outcome]:
    """Judge the part of the CPU samples that are inside a collector."""
    samples = CpuSamples(model)
    if samples.count < cpu_policy.samples_for_function:
        if not model.measured("stacks"):
            yield Silence(ID, "no CPU stack was sampled", "see perfdiag check, feature stacks")
        return
    garbage = collection(model, samples)
    part = _part(model, samples, garbage) if garbage else None
    gives_way = garbage is not None and garbage.collector.runtime == "Java" and has_pressure(model)
    if garbage is None or part is None or part.share - part.error <= cpu_policy.collector_heavy_share or gives_way:
        of = f"{samples.count:,} CPU samples"
        if garbage and part and request_readers(model):
            of = f"the CPU samples of threads that serve requests, {garbage.part} of all {of}"
        text = f"garbage collection {part or 'under a tenth'} of {of}"
        yield Check(ID, text, part.share if part else 0.0, "share", large=False)
        return
    user_ns = min(round(part.share * model.ns(*CPU)), model.ns("cpu.user"))
    locks, queues = _locks(model, garbage), _queues(model, garbage)
    claims: dict[Claim, int] = {"cpu.user": user_ns, **locks, **queues}
    runtime, allocator = garbage.collector.runtime, garbage.allocator(samples)
    of = " of the threads that serve requests" if request_readers(model) else ""
    where = f", most of it called from {allocator.name}" if allocator else ""
    yield conclude(
        model,
        {claim: ns for claim, ns in claims.items() if ns},
        headline=f"Garbage collection ({runtime}) takes {percent(part.share)} of the CPU time{where}",
        claim=(
            f"{subject(model, begin=True)} spends {percent(part.share)} of the CPU time{of} in the garbage collector"
            f" of {runtime}, more than in its own code{where}."
        ),
        mechanism=Mechanism.WORK,
        best=Confidence.MEDIUM if locks else Confidence.HIGH,  # which locks are the collector's, only samples tell
        doubts=sample_limits(model, samples),
        evidence=[
            replace(garbage, part=part).evidence_of(of),
            *_allocates(allocator),
            *_waits(sum(locks.values()), "waits for locks of the collector", "stack samples"),
            *_waits(
                sum(queues.values()),
                "waits of its threads for CPUs used by other threads of the same program",
                "ledger",
            ),
        ],
        remedies=[*([fix(f"allocate less in {allocator.name}")] if allocator else []), garbage.remedy],
        alternatives=["a burst of collections after a start"],
        verify=part_under(model, "the collector", "CPU samples", part.share, cpu_policy.collector_heavy_share),
    )


def _part(model: Model, samples: CpuSamples, garbage: Collection) -> Part:
    """Return the collector's part; where requests rank, of the threads that serve them."""
    stacks = of_readers(model, samples.stacks)
    return part_of(sum(each.count for each in stacks if garbage.collects(each)), sum(each.count for each in stacks))


def _locks(model: Model, garbage: Collection) -> dict[Claim, int]:
    """Return the locks for which mostly the collector waited."""
    weights = sums_by_key(
        (stack.object, (stack.weight_ns or 1) * (1 if garbage.collects(stack) else -1))
        for stack in model.wait_stacks(LOCK)
    )
    return {(row.account, row.key): row.distribution.sum_ns for row in model.rows_of(LOCK) if weights[row.key] > 0}


def _queues(model: Model, garbage: Collection) -> dict[Claim, int]:
    """Return how long its helpers waited for CPUs that the target's own threads used."""
    rows = [] if request_readers(model) else competition(model).own  # no request waits in these
    whole_ns = total_ns(rows)
    helpers_ns = sum(thread.ns(RUNQ) for thread in model.threads if thread.tid in garbage.helpers)
    part = min(1.0, helpers_ns / whole_ns) if whole_ns else 0.0
    return {(row.account, row.key): round(row.distribution.sum_ns * part) for row in rows}


def _allocates(allocator: Hot | None) -> list[Evidence]:
    """Return out of which function the collector is called, of the samples that show it."""
    if allocator is None:
        return []
    text = f"{allocator.part} of its samples with known callers are called from {allocator.name}"
    return [Evidence(text, allocator.part.share, "share", FUNCTIONS, allocator.part.error, EvidenceKind.FUNCTIONS)]


def _waits(ns: int, what: str, probe: str) -> list[Evidence]:
    return [Evidence(f"{duration(ns)} of {what}", float(ns), "ns", probe)] if ns else []
