"""How computing gets cheaper: by what calls the hot code, where that is somebody else's."""

from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples, Hot
from perfdiag.diagnosis.evidence.debuggers import first_shown_pid
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.model.model import Model
from perfdiag.model.stacks.symbols import module_of, of_runtime, symbol_of


def cheaper(model: Model, samples: CpuSamples) -> str:
    """Return the remedy for hot code, or how to find it. A library is nothing that its user can make cheaper: what
    calls it is."""
    pid = first_shown_pid(model)
    if samples.count < cpu_policy.samples_for_function:
        return f"find the hot functions: perf top -p {pid}, or record longer (--duration 60)"
    spot = samples.hot_spot()
    if spot and samples.is_own(spot):
        return f"call {spot.name} less" if _is_given(spot) else f"make {spot.name} cheaper, or call it less"
    within = _within(samples, spot)
    if within:
        return f"call {spot.name} less in {within}" if spot and module_of(spot.name) else f"do less in {within}"
    if spot and spot.nameless_of is None:
        return f"find what calls {spot.name}, and call it less: perf top -g -p {pid}"
    if spot:
        return "find the hot functions (install debug symbols, or let the runtime write a perf map)"
    return f"find what calls the hot functions: perf top -g -p {pid}"


def _is_given(spot: Hot) -> bool:
    """Return whether a function came with its language: nobody makes that cheaper."""
    return module_of(spot.name) == "internal"


def _within(samples: CpuSamples, spot: Hot | None) -> str:
    """Return the function outside of its library that calls hot code, "" if none stands out."""
    callers = samples.callers() if spot and spot in samples.hottest(1) else []
    paths = [each.name for each in (*samples.hot_path(), *samples.shared_out(cpu_policy.shared_out_share))]
    library = (module_of(spot.name) or spot.nameless_of or spot.name) if spot else ""
    own = (each for each in (*callers, *paths) if symbol_of(each) != "main" and not of_runtime(each))
    outside = (each for each in own if module_of(each) != library)
    return next(outside, "")
