"""How long those requests took that a cause concerns: the median of all says nothing about what a few suffer."""

from collections import defaultdict
from collections.abc import Iterable

from perfdiag.common.units import about_at_most, duration, give_or_take, plural
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import Finding, account_of
from perfdiag.diagnosis.significance import brief
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange, Latencies, together
from perfdiag.model.requests.request_sums import accounts_of, of_all
from perfdiag.recording.accounts import PARKED


class OfAll(str):
    """The sentence on all requests: the first line of a report on a terminal has their times, too."""

    __slots__ = ()


MOSTLY = 0.9  # of what a cause takes of all requests


def answered(model: Model, cause: Finding | None = None) -> str:
    """Return the sentence on how long requests took, also if only those over the objective rank the findings; ""
    without any. If nearly all that a cause takes is of one name, which fewer than half have, of these."""
    served = [each for each in model.exchanges if each.from_outside]
    whole = together(each.whole for each in served)
    if not whole.count:
        return ""
    only = _concerned(model, served, cause) if cause else None
    if only is None:
        return OfAll(f"Its {plural(whole.count, 'request')}{give_or_take(whole.error)} took {_times(whole)}.")
    of = f"{only.whole.count:,} of {plural(whole.count, 'request')}"
    return f"It concerns {of}: {brief(only.title)}, {_times(only.whole)}."


def _concerned(model: Model, served: list[Exchange], cause: Finding) -> Exchange | None:
    spent = _spent(model, served, cause)
    most = max(range(len(served)), key=lambda index: spent[index])
    only, count = served[most], sum(each.whole.count for each in served)
    is_only = spent[most] > 0 and spent[most] >= MOSTLY * sum(spent)
    return only if is_only and only.line.name and 0 < 2 * only.whole.count < count else None


def _spent(model: Model, served: list[Exchange], cause: Finding) -> list[float]:
    """Return what requests of each name spent in the accounts that a cause claims."""
    claimed = _claimed(model, cause)
    times = [_in_accounts(each, claimed) for each in served]
    wholes = list(map(sum, zip(*times, strict=True)))
    shares = [ns / whole if whole else 0.0 for ns, whole in zip(claimed.values(), wholes, strict=True)]
    return [sum(ns * share for ns, share in zip(row, shares, strict=True)) for row in times]


def _claimed(model: Model, cause: Finding) -> dict[str, int]:
    """Return what a cause claims by account; which futexes requests of one name waited for is not known."""
    parked = {PARKED, *(account for account, _ in model.request_time.rows)} if model.request_time else {PARKED}
    claimed: defaultdict[str, int] = defaultdict(int)
    for claim, ns in cause.claims.items():
        account = account_of(claim)
        claimed[PARKED if account in parked else account] += ns
    return claimed


def _in_accounts(exchange: Exchange, accounts: Iterable[str]) -> list[int]:
    of = of_all(exchange.line)
    spent = {**accounts_of(of, {}), PARKED: of.accounts.get(PARKED, 0)}
    return [spent.get(account, 0) for account in accounts]


def _times(whole: Latencies) -> str:
    p50, p99 = whole.quantile_ns(0.5), whole.quantile_ns(0.99)
    many = whole.count >= general_policy.waits_for_p99
    slowest = (
        f"p99 {about_at_most(p99, whole.max_ns)}" if p99 is not None and many else f"longest {duration(whole.max_ns)}"
    )
    middle = f"p50 {about_at_most(p50, whole.max_ns)}, " if p50 is not None else ""
    return f"{middle}{slowest}"
