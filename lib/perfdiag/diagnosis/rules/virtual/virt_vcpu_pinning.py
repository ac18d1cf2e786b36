"""VIRT-VCPU-PINNING: several virtual CPUs are bound to the same CPU."""

from collections import Counter
from collections.abc import Iterable

from perfdiag.diagnosis.evidence.cpu_affinity import widened_affinity
from perfdiag.diagnosis.evidence.fix_checks import less
from perfdiag.diagnosis.evidence.runqueue.competition import competition
from perfdiag.diagnosis.evidence.target import cpus_of, subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Check, Evidence, Mechanism, Outcome, Silence, rule
from perfdiag.diagnosis.significance import (
    claims_of,
    duration,
    fix,
    percent,
    together,
    total_ns,
    waits,
    worth,
)
from perfdiag.facts.cpu_sets import Cpus
from perfdiag.model.guest.seen_by_host import VCPU
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger


@rule(
    "VIRT-VCPU-PINNING",
    title="Several virtual CPUs are bound to the same CPU",
    accounts=("runq.busy",),
    meaning=(
        "Several virtual CPU threads are bound to the same CPU and wait for each other while other CPUs may be idle."
        " A guest that spins for a lock can block the lock's holder."
    ),
    measured=(
        "The affinity of each virtual CPU thread, with the waits of own threads for each other in the run queue."
    ),
    alternatives="The host has no more CPUs.",
    remedies="Bind each virtual CPU to its own CPU, or do not bind any.",
    verify="taskset -acp of the emulator shows no CPU twice, and threads wait less behind each other.",
    beats=("CPU-OVERSUBSCRIBED", "CPU-CONTENTION"),
)
def pinning(model: Model) -> Iterable[Outcome]:
    """Judge the affinity of virtual CPU threads by their waits for each other."""
    id = "VIRT-VCPU-PINNING"
    vcpus = [thread for thread in model.threads if thread.tid and _is_vcpu(thread)]
    if not vcpus:
        return
    allowed = {thread.tid: cpus for thread in vcpus if (cpus := cpus_of(model, thread))}
    if len(allowed) < len(vcpus):
        yield Silence(id, "the affinity of the virtual CPUs is unknown", "taskset -acp PID")
        return
    single = [next(iter(cpus)) for cpus in allowed.values() if len(cpus) == 1]
    doubled = [cpu for cpu, number in Counter(single).items() if number > 1]
    rows = [row for row in competition(model).own if row.key.startswith("own:")]
    ns = total_ns(rows)
    if doubled and worth(model, ns):
        bound = [thread for thread in vcpus if allowed[thread.tid] == {doubled[0]}]
        trial = widened_affinity(model, bound[0])
        yield conclude(
            model,
            claims_of(rows),
            headline=f"{len(bound)} virtual CPUs are bound to CPU {doubled[0]} and wait for each other",
            claim=f"The threads of {subject(model)} waited {duration(ns)} for each other.",
            mechanism=Mechanism.BUSY,
            doubts=[f"the waits include all threads of {subject(model)}"],
            evidence=[
                waits(together(rows), "waits behind own threads"),
                Evidence(_bound(vcpus, allowed), float(len(single)), "count", "/proc/PID/task/TID/status"),
            ],
            remedies=[
                *([trial] if trial else []),
                fix("bind each virtual CPU to its own CPU, or none (virsh vcpupin)"),
            ],
            alternatives=["the guest has more virtual CPUs than the host has CPUs"],
            verify=less(model, "waiting behind own threads", ns),
        )
        return
    waited = sum(thread.ns("runq.busy") for thread in vcpus)
    part = waited / sum(thread.wall_ns for thread in vcpus) if any(thread.wall_ns for thread in vcpus) else 0.0
    yield Check(id, f"{_bound(vcpus, allowed)}; they waited {percent(part)} of their time for a CPU", part, "share")


def _is_vcpu(thread: ThreadLedger) -> bool:
    """Return whether a thread has been in a guest, or has the name of one that waits to get there."""
    return thread.ns("vm.guest") > 0 or bool(VCPU.fullmatch(thread.comm))


def _bound(vcpus: list[ThreadLedger], allowed: dict[int, Cpus]) -> str:
    """Return "8 virtual CPUs, 0 bound to one CPU"."""
    return f"{len(vcpus)} virtual CPUs, {sum(len(cpus) == 1 for cpus in allowed.values())} bound to one CPU each"
