"""Objectives for single names (--slo NAME=TIME), and names that nothing in the window has."""

from perfdiag.diagnosis.evidence.requests.calls import not_followed
from perfdiag.diagnosis.significance import plain
from perfdiag.model.model import Model
from perfdiag.model.waits.receiving_calls import CALL

SHOWN = 4


def is_call(name: str) -> bool:
    """Return whether an objective is for a system call instead of requests."""
    return name.startswith(CALL)


def times_operations(model: Model) -> bool:
    """Return whether --slo asked for system calls: without a name, or with one of theirs."""
    options = model.header.options
    return options.slo_ns is not None or any(is_call(each.name) for each in options.slo_names)


def without_match(model: Model) -> list[str]:
    """Return a sentence on names of requests that nothing in the window has, and one on names of system calls."""
    found = []
    for calls in (False, True):
        names = _by_count(model, calls)
        wanted = [each.name for each in model.header.options.slo_names if is_call(each.name) is calls]
        there = set(names)
        if missing := [plain(name) for name in wanted if name not in there]:
            found.append(f"NOTHING MATCHED --slo {_listed(missing)}: {_there(model, calls, names)}")
    return found


def _by_count(model: Model, calls: bool) -> list[str]:
    """Return the names there are, the most frequent first."""
    if calls:
        return [each.name for each in sorted(model.operations, key=lambda each: -each.count)]
    lines = [each.line for each in model.exchanges if each.served]
    return list(dict.fromkeys(line.name for line in sorted(lines, key=lambda line: -line.count)))


def _there(model: Model, calls: bool, names: list[str]) -> str:
    """Return why nothing has such a name, and which names there are."""
    kind = "system call" if calls else "request"
    if not model.measured("operations" if calls else "requests"):
        return f"{kind}s were not measured"
    if model.coverage.lost.get("operations_full") if calls else not_followed(model):
        return f"the table of {kind}s was full"
    known = [plain(name) for name in names if name]
    came = "waited for anything but work" if calls else "came"
    if known:
        return f"no {kind} of that name {came}; seen: {_listed(known)}"
    return "requests have no names" if names else f"no {kind} {came}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
