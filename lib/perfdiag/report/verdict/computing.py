"""The sentence on a target that computes: no fault, but it tells where the time goes."""

from collections.abc import Sequence

from perfdiag.common.units import share
from perfdiag.diagnosis.evidence.cpu.garbage_collection import collection
from perfdiag.diagnosis.evidence.cpu.stack_samples import NAMELESS, CpuSamples, called_by
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Finding
from perfdiag.model.model import Model

MOST = 0.5  # of the time
SHOWN = 2  # functions, or modules whose code has no names
WORTH_NAMING = 0.05  # of all CPU samples
OWN, KERNEL, STATEMENT = "CPU-BOUND", "CPU-KERNEL-HEAVY", "SQL-SLOW-QUERY"


def computes(model: Model, findings: Sequence[Finding]) -> str:
    """Return that the target mostly computes, and in which functions; "" if its first finding says otherwise."""
    first = next(iter(findings), None)
    if first is None or first.id not in (OWN, KERNEL, STATEMENT) or first.share < MOST:
        return ""
    whole = "request time" if model.request_time else "busy time"
    samples = CpuSamples(model)
    where = _where(samples, kernel=first.id == KERNEL)
    if first.id != OWN:  # its headline names the work, or the statement
        return f"{first.headline} ({share(first.share)} of {whole}{f', {where}' if where else ''})."
    garbage = ", much of it garbage collection" if collection(model, samples) else ""
    return f"It is computing: {share(first.share)} of {whole} is own code{garbage}{f' ({where})' if where else ''}."


def _where(samples: CpuSamples, *, kernel: bool) -> str:
    """Return the functions with most samples: "in inflate (zlib) called by load (app)"."""
    if samples.count < cpu_policy.samples_for_function:
        return ""
    hot = [name for name, part in samples.hottest(SHOWN, kernel=kernel) if part.share > max(part.error, WORTH_NAMING)]
    called = called_by(samples) if len(hot) == 1 and not kernel else ""
    return f"in {' and '.join(map(_named, hot))}{called}" if hot else ""


def _named(function: str) -> str:
    """Return a function by its name, or code without names by its module."""
    module = function.removeprefix(NAMELESS).strip(" ()") if function.startswith(NAMELESS) else ""
    if module == "anonymous":
        return "unnamed code made at run time"
    return f"unnamed functions of {module}" if module else function
