"""A rule on CPU time that the target's own code takes."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.cpu.garbage_collection import collection
from perfdiag.diagnosis.evidence.cpu.spinning import spinning
from perfdiag.diagnosis.evidence.cpu.stack_samples import ENOUGH, FUNCTIONS, CpuSamples, called_by, words
from perfdiag.diagnosis.evidence.cpu.time_split import NO_SPLIT, cheaper, sample_limits, split_error, split_limit
from perfdiag.diagnosis.evidence.target import CPU, again, cpu_ns, subject
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    EvidenceKind,
    Finding,
    Mechanism,
    Outcome,
    Severity,
    rule,
)
from perfdiag.diagnosis.significance import duration, fix, judged, percent, plain, worth
from perfdiag.model.model import Model

# "Bound" means that more than half of the busy time is of this kind: no other cause can be larger.
BOUND_SHARE = 0.5
# All there is to see of a loop that waits for a flag is one function: other work is seldom that even.
ONE_LOOP = 0.95


@rule(
    "CPU-BOUND",
    title="The target's own code takes most of its time",
    accounts=("cpu.user",),
    meaning="More than half of the busy time the target runs its own code. That is what a CPU is for: profile, no"
    " fault. The functions named are where a change of the code gives most back. What only asks whether there is"
    " work is taken off first: CPU-SPINNING.",
    measured="Exact CPU time of the threads (ledger), split into user and kernel by ticks (error stated), joined with"
    " CPU stacks sampled at the scheduler's tick, by thread, over the whole window. A function's share is that of"
    " the samples whose innermost frame it is, with its 95 % interval.",
    alternatives="A low clock, remote memory or a busy sibling hyperthread make the same code take longer: they are"
    " findings of their own and take their part first. A loop that waits for a flag in memory makes no call and looks"
    " like one that computes: only its name can tell them apart. Work that runs in step with the tick is sampled"
    " wrongly.",
    remedies="Change or avoid the functions named; cache results; more or faster CPUs.",
    verify="Measure the same work again: its CPU time per piece of work must have shrunk, not only its share.",
)
def bound(model: Model) -> Iterable[Outcome]:
    """Join cpu.user with the innermost functions of sampled CPU stacks, over the window."""
    ns = model.ns("cpu.user") - sum(loop.user_ns for loop in spinning(model))
    share = ns / model.busy_ns if model.busy_ns else 0.0
    error = split_error(model)
    if share < BOUND_SHARE or not worth(model, ns):
        cpu = model.ns(*CPU)
        text = f"own code {duration(ns)}, {percent(share)} of busy time"
        if error > NO_SPLIT:
            text = f"cpu (user or kernel) {duration(cpu)}, {percent(cpu / model.busy_ns)} of busy time"
        yield Check("CPU-BOUND", text, share, "share")
        return
    samples = CpuSamples(model)
    evidence = [
        Evidence(
            f"{duration(ns)} in own code", float(ns), "ns", "ledger, split by ticks", error=error * model.ns(*CPU)
        ),
        *_threads(model),
        *_functions(samples),
    ]
    confidence, limits = judged(model, Confidence.HIGH, [*sample_limits(model, samples), split_limit(error)])
    garbage = collection(model, samples)
    if garbage:
        evidence.append(garbage.evidence)
    named = samples.hottest(1) if samples.count >= ENOUGH else []
    top = f", most in {named[0][0]} ({named[0][1]} of CPU samples)" if named else ""
    if garbage:
        top = f", and {garbage.part} of its CPU samples are garbage collection"
    own = "its own code" if error <= NO_SPLIT else "cpu (user or kernel)"
    claim = f"{subject(model, begin=True)} computes: {percent(share)} of its busy time is {own}{top}."
    remedy = fix(f"{cheaper(samples)}; if the code is as it must be, more or faster CPUs are what helps")
    yield Finding(
        "CPU-BOUND",
        Severity.INFO,
        confidence,
        claim,
        {"cpu.user": ns},
        evidence,
        [*([garbage.remedy] if garbage else []), remedy],
        alternatives=[
            "code whose time is cache misses or a busy sibling hyperthread: not measured here",
            *(
                [f"{named[0][0]} waits for a flag in memory: that looks like computing"]
                if named and named[0][1].share >= ONE_LOOP
                else []
            ),
        ],
        limits=limits,
        verify=f"{again(model)}: CPU time per piece of work",
        headline=f"{subject(model, begin=True)} computes{', much of it garbage collection' if garbage else ''}",
        mechanism=Mechanism.WORK,
    )


def _threads(model: Model) -> list[Evidence]:
    busiest = sorted(model.threads, key=cpu_ns, reverse=True)[:3]
    text = ", ".join(f"{plain(t.comm)} {duration(cpu_ns(t))}" for t in busiest if cpu_ns(t))
    return [Evidence(f"busiest threads: {text}", float(cpu_ns(busiest[0])), "ns", "ledger")] if text else []


def _functions(samples: CpuSamples) -> list[Evidence]:
    if samples.count < ENOUGH:
        return []
    hottest, called = samples.hottest(), called_by(samples)
    first = f"; the first is{called}" if called else ""
    return (
        [
            Evidence(
                f"{words(hottest)} of {samples.count:,} CPU samples{first}",
                hottest[0][1].share,
                "share",
                FUNCTIONS,
                error=hottest[0][1].error,
                kind=EvidenceKind.FUNCTIONS,
            )
        ]
        if hottest
        else []
    )


__all__ = ["bound"]
