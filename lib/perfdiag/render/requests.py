"""The lines on requests served and calls made."""

from collections.abc import Mapping, Sequence

from rich.text import Text

from perfdiag.common.units import about_at_most, count, duration, give_or_take, plural, rate, share
from perfdiag.diagnosis.policy import requests_policy
from perfdiag.render.layout import HEADING, LINES, Block, Page, Section
from perfdiag.report.contract import Call, Percentiles, Report, Request, Silent, Unread

_STATUSES = 3  # of a name; all are in the JSON
_MOST = 1000  # names, and peers, of a full page: who wants more wants a table, not a text


def requests(report: Report, page: Page) -> Section:
    """Return a line for each name with its percentiles, and for each peer that was called."""
    unread = [each for each in report.unread if each.oldest_ns >= requests_policy.held_up_ns]
    silent = [each for each in report.silent if each.oldest_ns and page.full]
    most = _MOST if page.full else LINES  # those of a page are drawn, not those that it has no room for anyway
    # How fast requests are answered the first line says, and what makes them slow the findings.
    requests, calls = (report.requests[:most], report.calls[:most]) if page.full else ([], [])
    if not (requests or calls or unread or silent):
        return Section([], [])
    waiting = [*map(_unread, unread), *map(_silent, silent)]
    told = waiting + [served_line(each) for each in requests] + [_called(each) for each in calls]
    untold = len(waiting) + len(report.requests) + len(report.calls) - len(told) if page.full else 0
    blocks: list[Block] = [[page.chunk(text, 50 + 8 * index, first="  ", limit=2)] for index, text in enumerate(told)]

    def fold(hidden: Sequence[int]) -> list[Text]:
        return [Text(f"  and {count(len(hidden))} more: --full")]

    title = "REQUESTS, from arrival to answer"
    title += "; calls, until the answer's first byte" if calls else ""
    tail = [Text(f"  and {count(untold)} more: --json")] if page.full and untold else []
    return Section([page.line(title, HEADING)], blocks, fold, tail)


def _unread(unread: Unread) -> str:
    oldest = "" if unread.count == 1 else "up to "
    return f"{unread.place}: {count(unread.count)} still unread at the end, for {oldest}{duration(unread.oldest_ns)}"


def _silent(silent: Silent) -> str:
    many = f"{plural(silent.count, 'connection')} silent"
    word = "since the target spoke" if silent.called else "since the client spoke"
    where = f"calls to {silent.place}" if silent.called else silent.place
    return (
        f"{where}: {many} {word}, {duration(silent.oldest_ns or 0)} ago: an unanswered request, or no answer was needed"
    )


def served_line(request: Request) -> str:
    """Return how many requests there were of one name, and how long they took."""
    name = f"{request.name} on " if request.name else ""
    where = f"port {request.port}" if request.port.isdigit() else request.port
    parts = [f"{name}{where}: {_counted(request.whole)}, {rate(request.per_second)}"]
    parts += _percentiles(request.whole)
    if request.over_slo is not None and request.limit_ns is not None:
        parts.append(f"{count(request.over_slo)} over {duration(request.limit_ns)}")
    if request.open:
        parts.append(f"{count(request.open)} still waiting, for up to {duration(request.oldest_ns or 0)}")
    if request.unanswered:
        parts.append(f"{count(request.unanswered)} without an answer")
    if request.untimed:
        parts.append(f"{plural(request.untimed, 'message')} not timed: perhaps no request")
    if request.unsure:
        parts.append(f"{count(request.unsure)} may be acknowledgements, not requests")
    parts += answered_with(request.errors)
    if request.declined:
        carry = "connection carries" if request.declined == 1 else "connections carry"
        parts.append(f"{count(request.declined)} {carry} several at once: not told apart")
    elif request.early:
        parts.append(f"{count(request.early)} came before the previous answer")
    if request.whole.p99_ns is None and request.rarity_unseen is not None:
        parts.append(f"too few to see what happens to fewer than 1 in {round(1 / request.rarity_unseen)}")
    return ", ".join(parts)


def answered_with(errors: Mapping[str, int]) -> list[str]:
    """Return the statuses of errors that answers have most often: "12 answered with 504"."""
    return [f"{count(times)} answered with {status}" for status, times in list(errors.items())[:_STATUSES]]


def _called(call: Call) -> str:
    if call.datagrams is not None:
        return _sent(call, call.datagrams)
    kind = "name look-ups of" if call.lookups else "calls to"
    parts = [f"{kind} {call.peer}: {count(call.whole.count)}, {rate(call.per_second)}"]
    parts += _percentiles(call.whole)
    if call.outstanding_share:
        parts.append(f"outstanding {share(call.outstanding_share)} of the window")
    if call.connect.count:
        parts.append(f"{plural(call.connect.count, 'connect')}, longest {duration(call.connect.max_ns)}")
    if call.connects_failed:
        parts.append(f"{count(call.connects_failed)} of them failed")
    if call.connecting:
        parts.append(f"{count(call.connecting)} of them not made yet")
    if call.retries:
        sent = f"{count(call.retries)} asked" if call.lookups else f"{plural(call.retries, 'SYN')} sent"
        parts.append(f"{sent} again")
    if call.unawaited:
        parts.append(f"{count(call.unawaited)} sent without waiting for an answer")
    if call.unanswered:
        parts.append(f"{count(call.unanswered)} without an answer")
    if call.open:
        # Whether somebody still waits for a name the socket of a look-up does not tell: UDP is closed unseen.
        waits = "not answered, the first asked" if call.lookups else "still waiting, for up to"
        ago = " ago" if call.lookups else ""
        parts.append(f"{count(call.open)} {waits} {duration(call.oldest_ns)}{ago}")
    return ", ".join(parts)


def _sent(call: Call, datagrams: int) -> str:
    """Return the datagrams: several at once are counted, not timed."""
    parts = [f"datagrams to {call.peer}: {count(datagrams)}, {count(call.came_back or 0)} came back"]
    parts += _percentiles(call.whole)
    if call.open and call.came_back:
        parts.append(f"the first without an answer sent {duration(call.oldest_ns)} ago")
    return ", ".join(parts)


def _percentiles(times: Percentiles) -> list[str]:
    if not times.count:
        return []
    if times.p50_ns is None:
        return [f"mean {duration(times.mean_ns or 0)} (percentiles unknown)"]
    known = (
        ("p50", times.p50_ns, times.p50_range_ns),
        ("p90", times.p90_ns, times.p90_range_ns),
        ("p99", times.p99_ns, times.p99_range_ns),
    )
    return [
        *(
            f"{name} {about_at_most(ns, times.max_ns)}{_range(between)}"
            for name, ns, between in known
            if ns is not None
        ),
        f"longest {duration(times.max_ns)}",
    ]


def _range(between: tuple[int, int] | None) -> str:
    return f" ({duration(between[0])} to {duration(between[1])})" if between else ""


def _counted(times: Percentiles) -> str:
    return count(times.count) + give_or_take(times.count_error)
