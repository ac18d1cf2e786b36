"""A rule on instructions that the CPU model of a guest hides."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.cpu.stack_samples import ENOUGH, SAMPLED, CpuSamples
from perfdiag.diagnosis.evidence.target import CPU, again
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Silence, rule
from perfdiag.diagnosis.significance import (
    duration,
    fault,
    fix,
    judged,
    plain,
    worth,
)
from perfdiag.model.model import Model

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


__all__ = ["masked"]
