"""Rules on how the CPUs of a guest are set up: features its model hides, virtual CPUs bound to the same CPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from perfdiag.diagnosis.evidence.cpu.cpu_sets import Cpus
from perfdiag.diagnosis.evidence.cpu.stack_samples import ENOUGH, SAMPLED, CpuSamples
from perfdiag.diagnosis.evidence.runqueue.competition import competition
from perfdiag.diagnosis.evidence.target import CPU, again, cpus_of, subject, widened_affinity
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Silence, rule
from perfdiag.diagnosis.significance import (
    claims_of,
    duration,
    fault,
    fix,
    judged,
    percent,
    plain,
    together,
    total_ns,
    waits,
    worth,
)
from perfdiag.model.guest.seen_by_host import VCPU
from perfdiag.model.model import Model, ThreadLedger

# A feature that a CPU model can hide, and the kernel's functions that do its work without it.
WITHOUT: dict[str, tuple[str, ...]] = {
    "aes": ("aes_encrypt", "aes_decrypt", "aesti_", "crypto_aes_", "aes_x86_64", "gf128mul_", "ghash_"),
    "avx2": ("chacha_block_generic", "sha256_generic", "sha512_generic", "sha256_block_generic", "poly1305_blocks_gen"),
    "sse4_2": ("crc32c_le_base", "crc32_body", "crc32_le_base", "__crc32c_le", "crc32c_base"),
}
# An instruction that is done by hand is worth unmasking when a fiftieth of the CPU time goes there.
MASKED_SHARE = 0.02


@rule(
    "VIRT-CPU-MASKED",
    title="The guest's CPU model hides features that its work would use",
    accounts=("cpu.kernel", "cpu.irq"),
    meaning="A guest sees the CPU model that its host shows it. One that hides instructions makes the kernel do their"
    " work with ordinary ones: encryption without AES, checksums without CRC32.",
    measured="Features that every server CPU of ten years has and this guest does not see; for those hidden, CPU"
    " samples inside the kernel's functions that do without (share of all CPU samples with its 95 % interval, times"
    " the exact CPU time), over the whole window.",
    alternatives="A program that brings code of its own and does not look at what the CPU offers. What user code loses"
    " cannot be seen from outside.",
    remedies="Show the guest the host's CPU (host-passthrough, -cpu host), or a named model of its generation.",
    verify="grep flags /proc/cpuinfo in the guest: the feature is there, and the functions are gone from the samples.",
    beats=(
        "CPU-KERNEL-HEAVY",
        "CPU-IRQ-HEAVY",
        "CPU-BOUND",
        "CPU-SINGLE-THREAD",
        "CPU-FREQUENCY-LOW",
        "NUMA-REMOTE",
        "CPU-SPINNING",
        "DIR-HUGE",
        "PROC-CHILD-SLOW",
        "PROC-FORK-SLOW",
    ),
)
def masked(model: Model) -> Iterable[Outcome]:
    """Join hidden features with samples in what replaces them."""
    id = "VIRT-CPU-MASKED"
    machine, processor = model.facts.hypervisor, model.facts.processor
    if machine is not None and machine.name == "none":
        yield Check(id, "CPU model: bare metal hides no feature", 0.0, "count")
        return
    if machine is None or processor is None or not processor.flags:
        yield Silence(id, "what the CPU model of this guest hides is not known", "grep -m1 flags /proc/cpuinfo")
        return
    hidden = processor.masked_features
    costly = [(feature, functions) for feature, functions in WITHOUT.items() if feature in hidden]
    if not costly:
        names = f" ({plain(', '.join(hidden[:4]))})" if hidden else ""
        yield Check(id, f"CPU model hides {len(hidden)} features known to matter{names}", float(len(hidden)), "count")
        return
    samples = CpuSamples(model)
    if samples.count < ENOUGH:
        if worth(model, model.ns(*CPU)):
            yield Silence(
                id,
                f"{', '.join(name for name, _ in costly)} hidden, and {samples.count} CPU samples are too few to see"
                " the price",
                f"record longer: {again(model, '--duration 60')}",
            )
        return
    prefixes = tuple(function for _, functions in costly for function in functions)
    part, claims = samples.charged(model, prefixes)
    ns, names = sum(claims.values()), ", ".join(name for name, _ in costly)
    if part.share - part.error < MASKED_SHARE or not worth(model, ns):
        yield Check(
            id, f"{names} hidden by the CPU model: doing without took {part} of CPU samples", part.share, "share"
        )
        return
    confidence, limits = judged(model, Confidence.MEDIUM)
    error_ns = part.error * model.ns(*SAMPLED)
    yield Finding(
        id,
        fault(model, ns),
        confidence,
        f"The kernel does {duration(ns)} of work by hand that an instruction is for: the CPU model of this guest hides"
        f" {names}.",
        claims,
        [
            Evidence(
                f"{part.count:,} of {samples.count:,} CPU samples in functions that do without {names}: {part}",
                float(ns),
                "ns",
                "stack samples",
                error=error_ns,
            )
        ],
        [fix("show this guest the host's CPU model (host-passthrough, -cpu host); it must be powered off for it")],
        alternatives=["the hardware itself lacks it: look at /proc/cpuinfo of the host"],
        limits=limits,
        verify=f"grep -m1 flags /proc/cpuinfo shows {names}; {again(model)}",
        headline=f"The CPU model of this guest hides {names}: the kernel works by hand",
        mechanism=Mechanism.LIMIT,
    )


@rule(
    "VIRT-VCPU-PINNING",
    title="Virtual CPUs are bound to each other's CPUs",
    accounts=("runq.busy",),
    meaning="Threads that run a guest's virtual CPUs were bound to CPUs, several of them to the same one: they wait for"
    " each other while other CPUs may be idle, and a guest that waits for a lock spins on the CPU its holder needs.",
    measured="The CPUs that each thread of a virtual CPU may use, joined with the time its threads waited in the run"
    " queue behind each other, over the whole window.",
    alternatives="A host that has no other CPUs to give.",
    remedies="Bind each virtual CPU to one of its own, or none at all.",
    verify="taskset -acp of the emulator: no CPU stands twice; runq.busy behind own threads is gone.",
    beats=("CPU-OVERSUBSCRIBED", "CPU-CONTENTION"),
)
def pinning(model: Model) -> Iterable[Outcome]:
    """Join the affinity of the threads of virtual CPUs with their waits for each other."""
    id = "VIRT-VCPU-PINNING"
    vcpus = [thread for thread in model.threads if thread.tid and VCPU.fullmatch(thread.comm)]
    if not vcpus:
        return
    allowed = {thread.tid: cpus for thread in vcpus if (cpus := cpus_of(model, thread))}
    if len(allowed) < len(vcpus):
        yield Silence(id, "which CPUs the virtual CPUs may use is not known", "taskset -acp PID")
        return
    single = [next(iter(cpus)) for cpus in allowed.values() if len(cpus) == 1]
    doubled = [cpu for cpu, number in Counter(single).items() if number > 1]
    rows = [row for row in competition(model).own if row.key.startswith("own:")]
    ns = total_ns(rows)
    if doubled and worth(model, ns):
        bound = [thread for thread in vcpus if allowed[thread.tid] == {doubled[0]}]
        confidence, limits = judged(model, Confidence.HIGH, [f"the waits are those of all threads of {subject(model)}"])
        trial = widened_affinity(model, bound[0])
        yield Finding(
            id,
            fault(model, ns),
            confidence,
            f"{len(bound)} virtual CPUs are bound to CPU {doubled[0]}: they waited {duration(ns)} for each other.",
            claims_of(rows),
            [
                waits(together(rows), "waits behind own threads"),
                Evidence(_bound(vcpus, allowed), float(len(single)), "count", "/proc/PID/task/TID/status"),
            ],
            [*([trial] if trial else []), fix("bind each virtual CPU to a CPU of its own, or none (virsh vcpupin)")],
            alternatives=["the guest has more virtual CPUs than the host can give it"],
            limits=limits,
            verify=f"{again(model)}: runq.busy behind own threads",
            headline=f"{len(bound)} virtual CPUs are bound to CPU {doubled[0]} and wait for each other",
            mechanism=Mechanism.BUSY,
        )
        return
    waited = sum(thread.ns("runq.busy") for thread in vcpus)
    part = waited / sum(thread.wall_ns for thread in vcpus) if any(thread.wall_ns for thread in vcpus) else 0.0
    yield Check(id, f"{_bound(vcpus, allowed)}; they waited {percent(part)} of their time for a CPU", part, "share")


def _bound(vcpus: list[ThreadLedger], allowed: dict[int, Cpus]) -> str:
    """Return "8 virtual CPUs, 0 bound to one CPU"."""
    return f"{len(vcpus)} virtual CPUs, {sum(len(cpus) == 1 for cpus in allowed.values())} bound to one CPU each"


__all__ = ["masked", "pinning"]
