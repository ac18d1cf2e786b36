"""Objectives for single names (--slo NAME=TIME), and names that nothing in the window has."""

from enum import Enum

from perfdiag.diagnosis.evidence.requests.calls import not_followed
from perfdiag.diagnosis.evidence.sql.statement_of import in_short
from perfdiag.diagnosis.significance import plain
from perfdiag.model.coverage.databases import STATEMENTS
from perfdiag.model.model import Model
from perfdiag.model.waits.receiving_calls import CALL
from perfdiag.recording import schema

SHOWN = 4


class _Kind(Enum):
    """What an objective is for; the value is for people."""

    REQUEST = "request"
    CALL = "system call"
    STATEMENT = "SQL statement"


def is_call(name: str) -> bool:
    """Return whether an objective is for a system call instead of requests."""
    return name.startswith(CALL)


def times_operations(model: Model) -> bool:
    """Return whether --slo asked for system calls: without a name, or with one of theirs."""
    options = model.header.options
    return options.slo_ns is not None or any(is_call(each.name) for each in options.slo_names)


def without_match(model: Model) -> list[str]:
    """Return a sentence for each kind on names that nothing of it in the window has."""
    found = []
    for kind in _Kind:
        names = _by_count(model, kind)
        wanted = [each.name for each in model.header.options.slo_names if _kind_of(each) is kind]
        there = set(names)
        if missing := [plain(name) for name in wanted if name not in there]:
            found.append(f"NOTHING MATCHED --slo {_listed(missing)}: {_there(model, kind, names)}")
    return found


def _kind_of(objective: schema.Objective) -> _Kind:
    if objective.statement:
        return _Kind.STATEMENT
    return _Kind.CALL if is_call(objective.name) else _Kind.REQUEST


def _by_count(model: Model, kind: _Kind) -> list[str]:
    """Return the names there are, the most frequent first."""
    if kind is _Kind.STATEMENT:
        return [each.name.rstrip(";") for each in sorted(model.statements, key=lambda each: -each.count) if each.name]
    if kind is _Kind.CALL:
        return [each.name for each in sorted(model.operations, key=lambda each: -each.count)]
    lines = [each.line for each in model.exchanges if each.served]
    return list(dict.fromkeys(line.name for line in sorted(lines, key=lambda line: -line.count)))


def _there(model: Model, kind: _Kind, names: list[str]) -> str:
    """Return why nothing has such a name, and which names there are."""
    feature = {_Kind.REQUEST: "requests", _Kind.CALL: "operations", _Kind.STATEMENT: STATEMENTS}[kind]
    if not model.measured(feature) or (kind is _Kind.STATEMENT and model.header.options.no_apps):
        return f"{kind.value}s were not measured"
    if kind is _Kind.STATEMENT:
        known = [in_short(plain(name)) for name in names]
        return f"none was run; seen: {_listed(known)}" if known else "no server of SQL was seen to run any"
    if model.coverage.lost.get("operations_full") if kind is _Kind.CALL else not_followed(model):
        return f"the table of {kind.value}s was full"
    known = [plain(name) for name in names if name]
    came = "waited for anything but work" if kind is _Kind.CALL else "came"
    if known:
        return f"no {kind.value} of that name {came}; seen: {_listed(known)}"
    return "requests have no names" if names else f"no {kind.value} {came}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
