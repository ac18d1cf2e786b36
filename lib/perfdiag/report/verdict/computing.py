"""The sentence on a target that computes: no fault, but it tells where the time goes."""

from __future__ import annotations

from collections.abc import Sequence

from perfdiag.common.units import share
from perfdiag.diagnosis.evidence.cpu.garbage_collection import collection
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples, called_by
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Finding
from perfdiag.model.model import Model

MOST = 0.5  # of the time
SHOWN = 2  # functions, or modules whose code has no names
WORTH_NAMING = 0.05  # of all CPU samples
NAMELESS = "code without names"
KERNEL = "CPU-KERNEL-HEAVY"
_WHAT = {"CPU-BOUND": "own code", KERNEL: "kernel code"}


def computes(model: Model, findings: Sequence[Finding]) -> str:
    """Return that the target mostly computes, and in which functions; "" if its first finding says otherwise."""
    first = next(iter(findings), None)
    if first is None or first.id not in _WHAT or first.share < MOST:
        return ""
    whole = "request time" if model.request_time else "busy time"
    samples, kernel = CpuSamples(model), first.id == KERNEL
    garbage = ", much of it garbage collection" if not kernel and collection(model, samples) else ""
    return (
        f"It is computing: {share(first.share)} of {whole} is"
        f" {_WHAT[first.id]}{garbage}{_where(samples, kernel=kernel)}."
    )


def _where(samples: CpuSamples, *, kernel: bool) -> str:
    """Return the functions with most samples: " (in inflate (zlib) called by load (app))"."""
    if samples.count < cpu_policy.samples_for_function:
        return ""
    hot = [name for name, part in samples.hottest(SHOWN, kernel=kernel) if part.share > max(part.error, WORTH_NAMING)]
    called = called_by(samples) if len(hot) == 1 and not kernel else ""
    return f" (in {', '.join(map(_named, hot))}{called})" if hot else ""


def _named(function: str) -> str:
    """Return a function by its name, or code without names by its module."""
    module = function.removeprefix(NAMELESS).strip(" ()") if function.startswith(NAMELESS) else ""
    if module == "anonymous":
        return "code made at run time, without names"
    return f"{module}, no function names" if module else function


__all__ = ["computes"]
