"""Requests and operations that all kept their limit (--slo): the check of SLO-BREACH."""

from collections.abc import Iterable

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.requests.calls import not_followed
from perfdiag.diagnosis.evidence.requests.objectives import is_call
from perfdiag.diagnosis.evidence.requests.untimed_requests import why_few_timed
from perfdiag.diagnosis.rule import Check, Outcome, Silence
from perfdiag.diagnosis.significance import duration, plain
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import unsure
from perfdiag.recording import schema

SLO = "SLO-BREACH"
IN_CLIENTS = "measure how long requests take in the clients"


def kept_requests(model: Model) -> Iterable[Outcome]:
    """Return the check that no request was over its limit, with the longest one; the silence where few were timed."""
    options = model.header.options
    named = [each for each in options.slo_names if not each.statement and not is_call(each.name)]
    if (options.slo_ns is not None or named) and (untimed := why_few_timed(model)):
        yield Silence(SLO, untimed, IN_CLIENTS)
        return
    limited = [
        (each, limit)
        for each in model.exchanges
        if each.served and each.line.count and (limit := model.limit_ns(each.line.name)) is not None
    ]
    if not limited:
        return
    if lost := not_followed(model):
        yield Silence(SLO, f"{lost}: the requests that were counted kept their limits", "record for a shorter time")
        return
    if unsure(each.line for each, _ in limited):
        few = "few messages could be timed for sure: most may be no requests, or several at once"
        yield Silence(SLO, few, IN_CLIENTS)
        return
    counted = sum(each.line.count for each, _ in limited)
    names = {each.line.name for each, _ in limited}
    name = f" {plain(next(iter(names)))}".rstrip() if len(names) == 1 else ""
    over = f"{plural(counted, 'request')}{name} over {_limit({limit for _, limit in limited})}"
    waiting = sum(each.line.open for each, _ in limited)
    still = f"; {waiting:,} not answered yet" if waiting else ""
    yield Check(SLO, f"0 of {over}, {_worst(limited, name)}{still}{_rarest(counted)}", 0.0, "count")


def _limit(limits: set[int]) -> str:
    return duration(min(limits)) if len(limits) == 1 else "their limits"


def _worst(limited: list[tuple[Exchange, int]], name: str) -> str:
    """Return the longest request; with several limits, the one nearest to its own."""
    each, limit = max(limited, key=lambda pair: (pair[0].whole.max_ns / pair[1], pair[0].line.name))
    longest = f"longest {duration(each.whole.max_ns)}"
    if len({limit for _, limit in limited}) == 1:
        return longest
    return f"nearest {plain(each.title)}: {longest} of {duration(limit)}"


def kept_operations(model: Model, operations: list[schema.Operation]) -> Check:
    """Return the check that none of these operations was over its limit."""
    counted = sum(operation.count for operation in operations)
    limit_ns, own = model.header.options.slo_ns, any(is_call(each.name) for each in model.header.options.slo_names)
    limit = "their limits" if own or limit_ns is None else duration(limit_ns)
    if not counted:
        return Check(SLO, f"no operation to hold against {limit}{_unseen(model)}", 0.0, "count")
    longest = f", longest {duration(max(each.max_ns for each in operations))}"
    return Check(
        SLO, f"0 of {counted:,} operations over {limit}{longest}{_rarest(counted)}{_unseen(model)}", 0.0, "count"
    )


def _rarest(counted: int) -> str:
    """Return which frequency so few requests cannot show."""
    return f"; too few to see what happens to fewer than 1 in {counted // 3:,}" if counted >= 3 else ""


def _unseen(model: Model) -> str:
    """Return how many calls ended unseen while the kernel did not run the BPF program."""
    skipped = model.coverage.lost.get("calls_skipped", 0)
    return f"; {skipped:,} ends of calls on this host, of any process, were not seen" if skipped else ""
