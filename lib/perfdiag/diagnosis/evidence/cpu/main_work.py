"""What the target mostly computes: a kind of kernel work, a function or a library."""

from dataclasses import dataclass

from perfdiag.diagnosis.evidence.cpu import kernel_work
from perfdiag.diagnosis.evidence.cpu.call_path import cpu_path, path_evidence
from perfdiag.diagnosis.evidence.cpu.stack_samples import FUNCTIONS, CpuSamples, Part
from perfdiag.diagnosis.evidence.target import CPU, who_computes
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Evidence, EvidenceKind, Remedy
from perfdiag.diagnosis.significance import fix, percent, worth
from perfdiag.model.model import Model, once


@dataclass(frozen=True)
class MainWork:
    """What most of the CPU samples, or most of the kernel's, stand in."""

    where: str  # "in libcrypt.so.1", "with looking up file names"
    part: Part
    samples: str  # of which it is a part: "CPU", "kernel"
    evidence: Evidence
    remedy: Remedy | None  # of that kind of kernel work


def main_work(model: Model, samples: CpuSamples) -> MainWork | None:
    """Return what is mostly computed; None: too few samples, or nothing stands out."""
    if samples.count < cpu_policy.samples_for_function:
        return None
    kernel = sum(stack.count for stack in samples.stacks if stack.kernel)
    if 2 * kernel > samples.count:
        return _of_kernel(model, samples, kernel)
    spot = samples.hot_spot()
    if spot is None or (spot.nameless_of is not None and samples.hot_path()):
        return _of_path(samples)
    return MainWork(f"in {spot.name}", spot.part, "CPU", _shown(f"in {spot.name}: {spot.part}", spot.part), None)


def _of_path(samples: CpuSamples) -> MainWork | None:
    """Return the work of many functions that one calls."""
    first = next(iter(samples.hot_path()), None)
    if first is None:
        return None
    path = path_evidence(cpu_path(samples), samples.count, "CPU samples")
    shown = path or [_shown(f"inside {first.name}: {first.part}", first.part)]
    return MainWork(f"inside {first.name}", first.part, "CPU", shown[0], None)


def _shown(text: str, part: Part) -> Evidence:
    return Evidence(f"{text} of CPU samples", part.share, "share", FUNCTIONS, part.error, kind=EvidenceKind.FUNCTIONS)


def _of_kernel(model: Model, samples: CpuSamples, kernel: int) -> MainWork | None:
    first = next(iter(kernel_work.work(samples)), None)
    if first is None or first.part.share < cpu_policy.hot_spot_share:
        return None
    text = f"{first.part} of {kernel:,} kernel samples: {first.name}"
    evidence = Evidence(text, first.part.share, "share", FUNCTIONS, first.part.error)
    remedy = next(iter(kernel_work.remedies(model, samples, [first])), None)
    return MainWork(f"with {first.name}", first.part, "kernel", evidence, remedy)


@once
def all_work(model: Model) -> MainWork | None:
    """Return what the whole target mostly computes."""
    return main_work(model, CpuSamples(model))


def need_less(model: Model) -> list[Remedy]:
    """Return how a target that lacks CPU time gets along with less; none if nothing stands out."""
    found = all_work(model) if worth(model, model.ns(*CPU)) else None
    if found is None:
        return []
    share = percent(found.part.share)
    who = who_computes(model, begin=False)
    return [fix(f"let {who} compute less: {share} of its {found.samples} samples are {found.where}")]
