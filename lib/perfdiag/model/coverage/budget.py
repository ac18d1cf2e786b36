"""What the recorder gave up in the window to keep the cost of its programs within the budget (--max-cost)."""

from collections.abc import Mapping, Sequence

from perfdiag.common.units import duration
from perfdiag.model.model import NotMeasured
from perfdiag.recording import schema
from perfdiag.recording.given_up import REQUESTS
from perfdiag.recording.recording import Recording

FEATURE = "cost"
PARTS_PER_MILLION = 1_000_000


def budget_text(ppm: int) -> str:
    """Return a budget as it is typed: "2%"."""
    return f"{ppm / 10_000:g}%"


def is_kept(cost: schema.Cost | None, options: schema.Options) -> bool | None:
    """Return whether the programs kept the budget since the last step; None: there is none, or it was not measured."""
    if cost is None or options.max_cost_ppm is None or not cost.kept_of_ns or cost.kept_ns is None:
        return None
    return cost.kept_ns * PARTS_PER_MILLION <= options.max_cost_ppm * cost.kept_of_ns


def why_given_up(line: schema.GivenUp, options: schema.Options) -> str:
    """Return why the recorder took a step."""
    if line.per_second is not None:
        return f"{line.per_second:,} requests a second: one connection in {line.one_of} stands for all"
    ppm = options.max_cost_ppm
    under = "low" if ppm is None else f"under {budget_text(ppm)} of the target's CPU time (--max-cost)"
    return f"given up to keep what measuring costs {under}"


def last_steps(lines: Sequence[schema.GivenUp]) -> dict[str, schema.GivenUp]:
    """Return the last step of each feature."""
    return {line.feature: line for line in lines}


def not_measured(recording: Recording, features: Mapping[str, tuple[str, str]]) -> list[NotMeasured]:
    """Return what was given up, wholly or all but a part, since when, and the option that keeps it."""
    found = []
    for line in sorted(last_steps(recording.given_up).values(), key=lambda line: -line.at_ns):  # what hurts went last
        feature = line.feature
        what, _ = features.get(feature, (feature, ""))
        after = duration(max(0, line.at_ns - recording.header.start_ns))
        part = f"all but one in {line.one_of:,} of {'connections: ' * (feature == REQUESTS)}" if line.one_of else ""
        why = why_given_up(line, recording.header.options)
        fix = "give it more: a larger --max-cost; 100% keeps all" if line.per_second is None else "--max-cost 100%"
        # Nothing of requests is recorded where they are given up; what came before of others counts.
        key = REQUESTS if feature == REQUESTS and not line.one_of else FEATURE
        found.append(NotMeasured(f"{part}{what}, after {after}", why, fix, key, given_up=feature))
    return found
