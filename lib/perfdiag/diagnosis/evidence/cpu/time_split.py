"""CPU time of user code and of the kernel: the error of their split, and what makes either cheaper."""

import math

from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.evidence.target import cpu_ns
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.significance import percent
from perfdiag.model.model import Model


def split_error(model: Model) -> float:
    """Return the half width of the user share of the target's CPU time; threads without ticks know nothing (0.5)."""
    cpu = sum(cpu_ns(thread) for thread in model.threads)
    squares = sum(
        ((0.5 if thread.cpu_split_error is None else thread.cpu_split_error) * cpu_ns(thread)) ** 2
        for thread in model.threads
    )
    return math.sqrt(squares) / cpu if cpu else 0.0


def split_limit(error: float) -> str:
    """Return the limit of a coarse split, "" of a good one."""
    return f"the user/kernel split has an error of +-{percent(error)}" if error > cpu_policy.split_error_share else ""


def sample_limits(model: Model, samples: CpuSamples, *, kernel: bool = False) -> list[str]:
    """Return why the samples cannot name functions of user space or of the kernel."""
    if not model.measured("stacks"):
        return ["no CPU stacks were sampled to name functions"]
    if samples.count < cpu_policy.samples_for_function:
        return [f"only {samples.count} CPU samples, too few to name functions"]
    nameless = 1 - samples.named()
    return (
        []
        if kernel or nameless < 0.5
        else [f"{percent(nameless)} of the samples in own code have no function name (no symbols or perf map)"]
    )
