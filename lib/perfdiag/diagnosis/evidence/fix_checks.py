"""How to check a fix: a command that measures the same thing again, and the value that shows that the fix worked."""

import shlex

from perfdiag.common.units import duration
from perfdiag.common.units import share as percent
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.policy import general_policy, requests_policy
from perfdiag.model.model import Model
from perfdiag.model.share_denominator import whole_name, whole_ns


def checked(command: str, success: str) -> str:
    """Return a command, and behind it what its output shows after a fix that worked."""
    return f"{command}   ({success})"


def measured(model: Model, success: str, *more: str) -> str:
    """Return the command that measures the target again, with `more` options, and what it shows after the fix."""
    return checked(again(model, *more), success)


def time_under(model: Model, *accounts: str) -> str:
    """Return the check that the time of accounts is no fault any more; of a smaller time, that it is not felt."""
    time, whole = model.request_time, whole_ns(model)
    ns = sum(time.accounts.get(name, 0) for name in accounts) if time else model.ns(*accounts)
    part = ns / whole if whole else 0.0
    names = " and ".join(accounts)
    if part <= general_policy.worth_share or part > 1:  # of time that nobody works at, idle time can be many times
        return measured(model, f"less {names} for the same work")
    goal = general_policy.fault_share if part > general_policy.fault_share else general_policy.worth_share
    return measured(model, f"{names} under {percent(goal)} of {whole_name(model)}, now {percent(part)}")


def less(model: Model, what: str, ns: float) -> str:
    """Return the check that the same work takes less of something that has no norm."""
    return measured(model, f"less {what} for the same work, now {duration(ns)} in {duration(model.window_ns)}")


def fewer(model: Model, what: str, count: int) -> str:
    """Return the check that the same work needs fewer of what is fast."""
    return measured(model, f"fewer {what} for the same work, now {count:,} in {duration(model.window_ns)}")


def shorter(model: Model, what: str, now_ns: float, goal_ns: float) -> str:
    """Return the check that something takes less than `goal_ns`; what does already need only get shorter."""
    goal = f"{what} under {duration(goal_ns)}" if goal_ns < now_ns else f"{what} shorter"
    return measured(model, f"{goal}, now {duration(now_ns)}")


def part_under(model: Model, what: str, of: str, now: float, goal: float) -> str:
    """Return the check that a part is below the one from which on it is a fault."""
    return measured(model, f"{what} under {percent(goal)} of {of}, now {percent(now)}", "--full")


def steady(path: str, *counters: str) -> str:
    """Return the check that counters in a file stand still under the same load."""
    several = len(counters) > 1
    patterns = [word for name in counters for word in ("-e", name)] if several else [counters[0]]
    success = "the counts stay the same" if several else "the count stays the same"
    return checked(watched("grep", *patterns, path), success)


def watched(*words: str) -> str:
    """Return how to run a command every 10 s.

    Without -x a second shell would read its words: users name control groups, and systemd writes "\\x2d" for a dash.
    """
    return f"watch -n 10 -x {shlex.join(words)}"


def read_in_time(model: Model) -> str:
    """Return the check that requests do not wait to be read."""
    return measured(model, f"requests are read within {duration(requests_policy.held_up_ns)}")
