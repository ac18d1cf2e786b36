"""The requests and calls of a report."""

from collections.abc import Mapping, Sequence

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.text import printable
from perfdiag.diagnosis.evidence.peers import name_of
from perfdiag.diagnosis.evidence.requests.calls import by_peer
from perfdiag.diagnosis.evidence.requests.places import place
from perfdiag.diagnosis.evidence.requests.untimed_requests import mostly_at_once, mostly_unsure
from perfdiag.diagnosis.policy import general_policy
from perfdiag.model.model import Model
from perfdiag.model.requests import named_calls as found
from perfdiag.model.requests.error_counts import error_counts
from perfdiag.model.requests.exchanges import Exchange, Latencies, together
from perfdiag.recording import schema
from perfdiag.recording.given_up import REQUESTS
from perfdiag.recording.packed_numbers import Sums, numbers_by_name
from perfdiag.report import contract


def served(model: Model) -> list[contract.Request]:
    """Return the requests by name and port, those that took most time first; before them names with a limit of their
    own, which were asked for."""
    asked = {each.name for each in model.header.options.slo_names}
    found = [each for each in model.exchanges if each.served]
    errors = error_counts(model.answers, "accepted")
    ordered = sorted(found, key=lambda each: each.line.name not in asked)
    return [_request(model, each, errors.get((each.line.object, each.line.name), {})) for each in ordered]


def answered(model: Model) -> contract.Percentiles | None:
    """Return how long all served requests took, None if there were none."""
    whole = together(each.whole for each in model.exchanges if each.from_outside)
    return percentiles(whole) if whole.count else None


def sample(model: Model) -> contract.Sample | None:
    """Return which part of the connections stands for all; None where all were followed."""
    one_of = model.one_connection_in
    if one_of < 2:
        return None
    first = next(step for step in model.given_up if step.feature == REQUESTS)
    after_ns = max(0, first.at_ns - model.header.start_ns)
    return contract.Sample(one_of=one_of, after_ns=after_ns, error=model.request_error)


def called(model: Model) -> list[contract.Call]:
    """Return the calls and look-ups by peer, those that took most time first."""
    called = [each for each in model.exchanges if not each.served and each.line.direction != "datagram_port"]
    return [_call(model, each) for each in called]


def named_calls(model: Model) -> list[contract.NamedCall]:
    """Return the calls whose text shows what they ask for, by peer and request, those that took most time first."""
    peers = by_peer(model, "connected")
    errors = error_counts(model.answers, "connected")
    return [
        contract.NamedCall(
            name=printable(each.line.name),
            peer=peers[each.line.object].object if each.line.object in peers else printable(each.line.object),
            request=printable(each.line.request),
            whole=percentiles(each.latency),
            ns=each.line.sum_ns,
            times=each.times,
            errors=_statuses(errors.get((each.line.object, each.line.name), {})),
        )
        for each in found.named_calls(model.named_calls, model.exchanges)
    ]


def unread(model: Model) -> list[contract.Unread]:
    """Return the requests that were not read at the end, by port, the oldest first."""
    lines = sorted(model.requests_awaited, key=lambda line: (-line.oldest_ns, line.object))
    return [contract.Unread(place=place(line.object), count=line.count, oldest_ns=line.oldest_ns) for line in lines]


def silent(model: Model) -> list[contract.Silent]:
    """Return the connections that may hold an unanswered request from before the window, by port or peer, the oldest
    first."""
    places = groups_by_key(((line.direction, line.object, bool(line.oldest_ns)), line) for line in model.silent)
    found = [
        contract.Silent(
            place=name_of(object, place(object)),
            called=direction == "connected",
            pids=sorted({line.pid for line in lines if line.pid}),
            count=sum(line.count for line in lines),
            oldest_ns=max(line.oldest_ns for line in lines) or None,
        )
        for (direction, object, _), lines in places.items()
    ]
    return sorted(found, key=lambda each: (-(each.oldest_ns or 0), each.place))


def time(model: Model) -> contract.RequestTime | None:
    """Return what all requests together spent their time in, if it ranks the findings."""
    known = model.request_time
    if known is None:
        return None
    accounts = {printable(name): ns for name, ns in sorted(known.accounts.items(), key=lambda item: -item[1])}
    own = [each.line.over_slo if known.excess else each.line.count for each in model.exchanges if each.internal]
    return contract.RequestTime(
        count=known.count - sum(own),
        own_count=sum(own),
        ns=known.ns,
        excess=known.excess,
        median_over=known.median_over,
        accounts=accounts,
    )


def few_timed(model: Model) -> bool:
    """Return whether most messages of the target's clients may be no requests, or several at once."""
    return bool(mostly_at_once(model)) or mostly_unsure(model)


def percentiles(latencies: Latencies) -> contract.Percentiles:
    """Return the percentiles that so many values allow."""
    return contract.Percentiles(
        count=latencies.count,
        mean_ns=latencies.sum_ns // latencies.count if latencies.count else None,
        p50_ns=latencies.quantile_ns(0.5),
        p90_ns=latencies.quantile_ns(0.9),
        p99_ns=latencies.quantile_ns(0.99) if latencies.count >= general_policy.waits_for_p99 else None,
        max_ns=latencies.max_ns,
        count_error=latencies.error,
        p50_range_ns=latencies.range_ns(0.5),
        p90_range_ns=latencies.range_ns(0.9),
        p99_range_ns=latencies.range_ns(0.99) if latencies.count >= general_policy.waits_for_p99 else None,
    )


def _per_second(model: Model, count: int) -> float:
    return count * 1e9 / model.window_ns if model.window_ns else 0.0


def _statuses(errors: Mapping[str, int]) -> Mapping[str, int]:
    return {printable(status): count for status, count in errors.items()}


def _request(model: Model, exchange: Exchange, errors: Mapping[str, int]) -> contract.Request:
    line = exchange.line
    is_sampled = model.one_connection_in > 1
    return contract.Request(
        name=printable(line.name),
        port=exchange.object.removeprefix("port "),
        per_second=_per_second(model, line.count),
        whole=percentiles(exchange.whole),
        first_byte=percentiles(exchange.first_byte),
        read_delay=percentiles(exchange.read_delay),
        unanswered=None if is_sampled else line.unanswered,
        open=None if is_sampled else line.open,
        oldest_ns=None if is_sampled else line.oldest_ns,
        untimed=line.untimed,
        unsure=line.unsure,
        errors=_statuses(errors),
        early=line.early,
        declined=line.declined,
        on_one_thread=line.whole / line.count if line.count else None,
        limit_ns=model.limit_ns(line.name),
        over_slo=None if model.limit_ns(line.name) is None else line.over_slo,
        rarity_unseen=min(1.0, 3 * model.one_connection_in / line.count) if line.count else None,
        bytes_in=line.bytes_in,
        bytes_out=line.bytes_out,
        accounts=_sums(line.accounts),
        slowest=_sums(line.over_slo_accounts),
    )


def _call(model: Model, exchange: Exchange) -> contract.Call:
    line = exchange.line
    return contract.Call(
        peer=exchange.object,
        lookups=line.direction == "lookup",
        datagrams=line.unawaited if line.direction == "datagram" else None,
        came_back=line.untimed if line.direction == "datagram" else None,
        per_second=_per_second(model, line.count),
        whole=percentiles(exchange.whole),
        outstanding_share=min(1.0, line.busy_ns / model.window_ns) if model.window_ns else 0.0,
        unanswered=line.unanswered,
        open=line.open,
        oldest_ns=line.oldest_ns,
        connect=percentiles(exchange.connect),
        connects_failed=line.connects_failed,
        connecting=line.connecting,
        unawaited=0 if line.direction == "datagram" else line.unawaited,
        retries=line.retries,
        bytes_in=line.bytes_in,
        bytes_out=line.bytes_out,
    )


def _sums(parts: Sequence[schema.PartSum]) -> Mapping[str, int]:
    if isinstance(parts, Sums):
        shown = set(map(printable, parts.names))
        if shown == set(parts.names) and len(shown) == len(parts):
            return numbers_by_name(parts)
    return {printable(part.account): part.sum_ns for part in parts}
