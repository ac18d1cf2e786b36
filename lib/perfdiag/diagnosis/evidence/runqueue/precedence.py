"""Why another process goes before the target where both want a CPU: policy, weight or nice value of the two."""

from enum import Enum
from pathlib import PurePosixPath

from perfdiag.common.text import printable
from perfdiag.diagnosis.evidence.target import idle_class, idle_group, subject, yielding
from perfdiag.diagnosis.policy import runqueue_policy
from perfdiag.facts.competitors import REAL_TIME, Competitor
from perfdiag.model.model import Model


class Ahead(Enum):
    """What lets it go first."""

    REAL_TIME = "real-time policy"
    WEIGHT = "weight of its control group"
    TARGET_YIELDS = "policy or nice value of the target"
    NICE = "its nice value"


def ahead(model: Model, competitor: int) -> tuple[Ahead, str] | None:
    """Return why a process goes first, as of the end of the window, and that in words for the end of a headline; None:
    both go by turns, or what decides is not known."""
    seen = model.facts.competitors.get(competitor)
    if seen is not None and seen.policy in REAL_TIME:
        return Ahead.REAL_TIME, "it has a real-time policy"
    waiting = max(model.threads, key=lambda thread: thread.ns("runq.busy"), default=None)
    pid = waiting.pid if waiting else 0
    if idle_class(model).get(pid) == "":
        return Ahead.TARGET_YIELDS, f"{subject(model)} is SCHED_IDLE"
    if nice := yielding(model).get(pid):
        return Ahead.TARGET_YIELDS, f"{subject(model)} runs at nice {nice}"
    if group := idle_group(model):
        return Ahead.TARGET_YIELDS, f"cpu.idle of {printable(group)} is 1"
    if seen is None:
        return None
    if weights := _weights(model, seen):
        own, theirs = weights
        more = theirs >= runqueue_policy.weight_felt_factor * own
        return (Ahead.WEIGHT, f"its CPU weight is {theirs}, that of {subject(model)} {own}") if more else None
    by_session = model.facts.sysctl("kernel/sched_autogroup_enabled") == "1"
    first = not by_session and not seen.weighed and (seen.nice or 0) < 0
    return (Ahead.NICE, f"it runs at nice {seen.nice}") if first else None


def _weights(model: Model, seen: Competitor) -> tuple[int, int] | None:
    """Return the weights of the two control groups that compete: beside each other, the target in one of them."""
    theirs = {str(PurePosixPath(group.directory).parent): group for group in seen.weighed}
    for group in model.facts.cpu_groups:
        beside = theirs.get(str(PurePosixPath(group.path).parent))
        if beside and group.depth > 0 and group.weight and beside.directory != group.path:
            return group.weight, beside.weight
    return None
