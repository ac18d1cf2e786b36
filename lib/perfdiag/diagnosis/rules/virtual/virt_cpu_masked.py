"""VIRT-CPU-MASKED: the guest's CPU model hides useful instructions."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.cpu.stack_samples import SAMPLED, CpuSamples, Part
from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.target import CPU, again
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import cpu_policy, virtual_policy
from perfdiag.diagnosis.rule import Check, Claims, Confidence, Evidence, Finding, Mechanism, Outcome, Silence, rule
from perfdiag.diagnosis.significance import (
    duration,
    fix,
    plain,
    worth,
)
from perfdiag.model.model import Model

# CPU features, and the kernel functions that replace them.
WITHOUT: dict[str, tuple[str, ...]] = {
    "aes": ("aes_encrypt", "aes_decrypt", "aesti_", "crypto_aes_", "aes_x86_64", "gf128mul_", "ghash_"),
    "avx2": ("chacha_block_generic", "sha256_generic", "sha512_generic", "sha256_block_generic", "poly1305_blocks_gen"),
    "sse4_2": ("crc32c_le_base", "crc32_body", "crc32_le_base", "__crc32c_le", "crc32c_base"),
}


@rule(
    "VIRT-CPU-MASKED",
    title="The guest's CPU model hides useful instructions",
    accounts=("cpu.kernel", "cpu.irq"),
    meaning=(
        "The host hides CPU instructions from this guest, so the kernel does their work in ordinary code: encryption"
        " without AES, checksums without CRC32."
    ),
    measured=(
        "Features of every server CPU of the last ten years that this guest lacks, and CPU samples inside the kernel"
        " functions that replace them, times CPU time."
    ),
    alternatives=(
        "A program with its own code that ignores CPU features. Losses in user code cannot be seen from outside."
    ),
    remedies="Give the guest the host's CPU model (host-passthrough, -cpu host), or a model of its generation.",
    verify="The feature is in /proc/cpuinfo of the guest, and the functions are gone from the samples.",
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
    met=False,
)
def masked(model: Model) -> Iterable[Outcome]:
    """Judge hidden features by samples in their replacements."""
    id = "VIRT-CPU-MASKED"
    machine, processor = model.facts.hypervisor, model.facts.processor
    if machine is not None and machine.name == "none":
        yield Check(id, "bare metal hides no CPU feature", 0.0, "count")
        return
    if machine is None or processor is None or not processor.flags:
        yield Silence(id, "the features hidden by this guest's CPU model are unknown", "grep -m1 flags /proc/cpuinfo")
        return
    hidden = processor.masked_features
    costly = [(feature, functions) for feature, functions in WITHOUT.items() if feature in hidden]
    if not costly:
        names = f" ({plain(', '.join(hidden[:4]))})" if hidden else ""
        yield Check(id, f"the CPU model hides {len(hidden)} useful features{names}", float(len(hidden)), "count")
        return
    samples = CpuSamples(model)
    if samples.count < cpu_policy.samples_for_function:
        if worth(model, model.ns(*CPU)):
            yield Silence(
                id,
                f"{', '.join(name for name, _ in costly)} hidden; {samples.count} CPU samples are too few to see the"
                " cost",
                f"record longer: {again(model, '--duration 60')}",
            )
        return
    prefixes = tuple(function for _, functions in costly for function in functions)
    part, claims = samples.charged(model, prefixes)
    ns, names = sum(claims.values()), ", ".join(name for name, _ in costly)
    if part.share - part.error < virtual_policy.masked_share or not worth(model, ns):
        yield Check(id, f"{names} hidden by the CPU model; replacements {part} of CPU samples", part.share, "share")
        return
    yield _finding(model, names, part, claims, samples.count)


def _finding(model: Model, names: str, part: Part, claims: Claims, samples: int) -> Finding:
    ns = sum(claims.values())
    return conclude(
        model,
        claims,
        headline=f"The CPU model of this guest hides {names}: the kernel computes without it",
        claim=f"The kernel computed {duration(ns)} without {names}: the CPU model of this guest hides it.",
        mechanism=Mechanism.LIMIT,
        best=Confidence.MEDIUM,
        evidence=[
            Evidence(
                f"{part} of CPU samples in functions that replace {names} ({part.count:,} of {samples:,})",
                float(ns),
                "ns",
                "stack samples",
                error=part.error * model.ns(*SAMPLED),
            )
        ],
        remedies=[fix("give this guest the host's CPU model (host-passthrough, -cpu host); power it off first")],
        alternatives=["the hardware lacks it (check /proc/cpuinfo of the host)"],
        verify=checked("grep -m1 flags /proc/cpuinfo", f"has {names}"),
    )
