"""Where the time went: one table with one whole, its rows in words, and the findings that explain each row."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.units import about_at_most, count, duration, give_or_take, plural, share
from perfdiag.model.requests.request_time import beyond
from perfdiag.recording.accounts import phrase_of
from perfdiag.render.host_consumers import who_has
from perfdiag.render.layout import DIM, ESSENTIAL, NEVER, Block, Chunk, Page, Section, clip, heading, pad
from perfdiag.render.problem import numbered, to_mend
from perfdiag.report.contract import Account, Finding, Report

OWN_THREAD = "own thread "  # how objects.py begins the name of a thread of the target
ELSE = "everything else"
LEAST = 0.01  # of the whole: a row of less is folded
FELT = 0.05  # of the whole: a row of as much is essential
_BAR, _WIDE_BAR, _SHORTEST_BAR = 20, 30, 4
_LEAST_OBJECT = 0.005  # of its account
_ROOM_FOR_OBJECT = 16
_PROCESS = re.compile(r"(.*\S) \((\d+)\)")
_LEAST_COMM = 6  # letters of a name, if it has to be cut
_MOST_PARKED = 40  # objects, in the full report
_MOST_OBJECTS = 40  # of an account in the full report


@dataclass(frozen=True)
class _Row:
    account: str
    ns: int
    entries: Sequence[Account] = ()  # of the threads' time: what was waited for
    numbers: Sequence[int] = ()  # of the findings that explain it


@dataclass(frozen=True)
class _Columns:
    """Widths of a table, and its whole."""

    whole_ns: int
    phrase: int
    bar: int
    account: int

    def line(self, row: _Row, page: Page) -> str:
        """Return a row: phrase, bar, share, time, account, findings, and objects if there is room."""
        part = row.ns / self.whole_ns if self.whole_ns else 0.0
        bar = "#" * max(1 if row.ns else 0, round(part * self.bar))
        mark = f"  -> {', '.join(map(str, row.numbers))}" if row.numbers else ""
        line = f"{self._begin(phrase_of(row.account), bar, row.ns)}{row.account:<{self.account if mark else 0}}{mark}"
        room = page.width - cell_len(line) - 3
        objects = _objects(row.entries, room) if room >= _ROOM_FOR_OBJECT else ""
        return clip(f"{line}   {objects}".rstrip(), page.width)

    def rest(self, ns: int) -> str:
        """Return the row of all accounts without one of their own."""
        return self._begin(ELSE, "", ns).rstrip()

    def _begin(self, phrase: str, bar: str, ns: int) -> str:
        part = ns / self.whole_ns if self.whole_ns else 0.0
        shown = f"{bar:<{self.bar}} " if self.bar else ""
        return f"  {pad(phrase, self.phrase)} {shown}{share(part):>5} {duration(ns):>8}   "


def where(report: Report, page: Page) -> list[Section]:
    """Return the table of the requests' time, or of the threads'; a full page has the threads' in both cases."""
    threads = _threads_time(report, page)
    if not report.request_time:
        return [threads] if threads.blocks or page.full else []
    return [_requests_time(report, page), *([threads] if page.full else [])]


def _requests_time(report: Report, page: Page) -> Section:
    time = report.request_time
    assert time is not None
    rows = [_Row(name, ns, (), _numbers(report, page, name)) for name, ns in time.accounts.items() if ns]
    many = _counted(report, time.count) + (f" and {time.own_count:,} of its own" if time.own_count else "")
    title, remark = f"REQUEST TIME  {duration(time.ns)}, {many}", ""
    if time.excess:
        limits = {each.limit_ns for each in report.requests if each.over_slo and each.limit_ns is not None}
        over = duration(next(iter(limits))) if len(limits) == 1 else "their limit"
        title = f"REQUEST TIME  {duration(time.ns)}, lost by the {many} over {over}"
        remark = f"({beyond(time.median_over)})" if page.full or time.median_over else ""
    return _table(report, page, heading(title, remark, page.width), time.ns, rows)


def _counted(report: Report, number: int) -> str:
    """Return how many requests there are, those apart that the first line of the report does not count."""
    unread = sum(each.count for each in report.unread)
    if not unread or report.answered is None or report.answered.count + unread != number:
        error = report.sample.error if report.sample else 0.0
        return plural(number, "request") + give_or_take(round(error * number))
    return f"{plural(report.answered.count, 'request')} and {unread:,} still unread at the end"


def _threads_time(report: Report, page: Page) -> Section:
    ranked = report.request_time is None
    rows = [
        _Row(name, _ns(entries), entries, _numbers(report, page, name) if ranked else ())
        for name, entries in _by_account(report, "latency").items()
    ]
    title = f"BUSY TIME  {duration(report.busy_ns)}, all threads"
    idle, unknown_ns = _idle_accounts(report), report.coverage.cannot_tell_ns
    names = f": {phrase_of(idle[0][0])}" if len(idle) == 1 and not unknown_ns else ""
    apart = [f"idle {duration(report.idle_ns)}{names}"] if report.idle_ns else []
    apart += [f"blocked or idle, unknown: {duration(unknown_ns)}"] if unknown_ns else []
    remark = f"({'; '.join(apart)})" if apart else ""
    table = _table(report, page, heading(title, remark, page.width), report.busy_ns, rows)
    table.tail = [*table.tail, *(_idle(idle, page) if page.full else []), *_parked(report, page)]
    return table


def _table(report: Report, page: Page, title: list[Text], whole_ns: int, rows: Sequence[_Row]) -> Section:
    shown = [row for row in rows if page.full or row.numbers or row.ns >= LEAST * whole_ns]
    names = [phrase_of(row.account) for row in shown or rows]
    phrase = max([len(ELSE), *(min(len(name), 25) for name in names)])
    account = max([0, *(len(row.account) for row in shown)])
    marks = max([0, *(len(f"  -> {', '.join(map(str, row.numbers))}") for row in shown)])
    room = page.width - phrase - account - marks - 22
    longest = _WIDE_BAR if page.width > 100 else _BAR
    columns = _Columns(whole_ns, phrase, min(longest, room) if room >= _SHORTEST_BAR else 0, account)
    blocks = [_block(report, page, columns, index, row) for index, row in enumerate(rows)]

    def fold(hidden: Sequence[int]) -> list[Text]:
        ns = sum(rows[index].ns for index in hidden)
        return [page.line(columns.rest(ns))] if ns else []

    return Section(title, blocks, fold)


def _block(report: Report, page: Page, columns: _Columns, index: int, row: _Row) -> Block:
    part = row.ns / columns.whole_ns if columns.whole_ns else 0.0
    rank = ESSENTIAL + index
    if index == 0 or row.numbers or (part >= FELT and index < 6):
        rank = 1 + index
    elif part < LEAST:
        rank = NEVER
    chunks = [Chunk([page.line(columns.line(row, page))], rank)]
    chunks += who_has(report, page, row.account, rank + 1)
    if page.full and row.entries:
        chunks += _in_full(row.entries, page, rank)
    return chunks


def _in_full(entries: Sequence[Account], page: Page, rank: int) -> list[Chunk]:
    """Return which threads ended the waits, and how long the waits took, by object."""
    chunks = []
    released = next((entry.released_by for entry in entries if entry.released_by), None)
    if released:
        does = ", ".join(f"{account} {share(part)}" for account, part in list(released.accounts.items())[:3])
        text = f"mostly ended by {released.comm} ({released.tid})"
        text += (
            f", which spends its time in {does}"
            if does
            else f", another process: perfdiag latency --pid {released.tid}"
        )
        chunks.append(page.chunk(text, rank, first="      "))
    listed = [entry for entry in entries if entry.p50_ns]
    chunks += [page.chunk(_distribution(entry), rank, first="      ") for entry in listed[:_MOST_OBJECTS]]
    if rest := listed[_MOST_OBJECTS:]:
        chunks.append(Chunk([page.line(f"      and {len(rest)} more, {duration(_ns(rest))}: --json")], rank))
    return chunks


def _numbers(report: Report, page: Page, account: str) -> list[int]:
    """Return the numbers of the findings that explain an account: faults, or, without any, the first; a full page has
    all others, too."""
    named = to_mend(report) or numbered(report)[: None if page.full else 1]
    return [number for number, each in named if _explains(each, account)]


def _explains(finding: Finding, account: str) -> bool:
    return finding.accounts.get(account, 0) > 0


def _idle_accounts(report: Report) -> list[tuple[str, int]]:
    """Return the idle accounts, which differ: asleep on a timer, stopped, waiting for work."""
    return [(name, _ns(entries)) for name, entries in _by_account(report, "idle").items() if _ns(entries)]


def _idle(idle: Sequence[tuple[str, int]], page: Page) -> list[Text]:
    """Return the idle accounts, if there are more than the one in the heading."""
    if len(idle) < 2:
        return []
    return page.wrapped(
        f"idle: {', '.join(f'{phrase_of(name)} {duration(ns)} ({name})' for name, ns in idle)}", rest="    "
    )


def _objects(entries: Sequence[Account], width: int) -> str:
    """Return the largest objects with their time, as many as fit: "vda (254:0) 9.10 s, sdb (8:16) 512 ms".

    No shares: those of the report are of all busy time, and these would be of their account.
    """
    named = _named(entries)
    whole_ns = _ns(entries)
    if 2 * sum(named.values()) < whole_ns:  # of most is not known at what: what is left may be next to nothing
        named = {object: ns for object, ns in named.items() if ns >= _LEAST_OBJECT * whole_ns}
    if len(named) == 1 and all(entry.object for entry in entries):
        return _clipped(next(iter(named)), width)
    line = ""
    for object, object_ns in list(named.items())[:3]:
        part = f" {duration(object_ns)}"
        if not line:
            line = _clipped(object, max(3, width - len(part))) + part
        elif cell_len(line) + 2 + cell_len(object) + len(part) <= width:
            line += f", {object}{part}"
    return line


def _clipped(object: str, width: int) -> str:
    """Return an object that fits; of "COMM (PID)" only the name is cut."""
    who = _PROCESS.fullmatch(object)
    behind = f" ({who[2]})" if who else ""
    if who is None or cell_len(object) <= width or width < len(behind) + _LEAST_COMM:
        return clip(object, width)
    return clip(who[1], width - len(behind)) + behind


def _named(entries: Sequence[Account]) -> dict[str, int]:
    """Return the time of each object, the largest first. The target's own small threads count as one, and so do other
    processes of one name, as in findings."""
    found: dict[str, int] = {}
    alike: dict[str, list[Account]] = {}
    for entry in entries:
        who = _PROCESS.fullmatch(entry.object) if entry.account == "runq.busy" else None
        own = entry.object.startswith(OWN_THREAD)
        alike.setdefault(OWN_THREAD if own else who[1] if who else entry.object, []).append(entry)
    for name, same in alike.items():
        if name:
            several = "own threads" if name == OWN_THREAD else f"{len(same)} x {name}"
            found[several if len(same) > 1 else same[0].object] = _ns(same)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _distribution(entry: Account) -> str:
    parts = [_sum(entry)]
    if entry.count > 1:
        parts += [
            f"{name} {about_at_most(ns, entry.max_ns)}"
            for name, ns in (("p50", entry.p50_ns), ("p99", entry.p99_ns))
            if ns
        ]
    parts.append(f"longest {duration(entry.max_ns)}")
    return ", ".join(parts)


def _sum(entry: Account) -> str:
    return f"{entry.object or '(no object)'}: {duration(entry.ns)} in {count(entry.count)}"


def _parked(report: Report, page: Page) -> list[Text]:
    """Return, on a full page, the waits that may be idle or not."""
    entries = [entry for entry in report.accounts if entry.kind == "unknown"]
    if not (page.full and entries):
        return []
    ns = report.coverage.cannot_tell_ns
    lines = page.wrapped(
        f"blocked or idle (unknown), left out of percentages: {duration(ns)} (wait.parked)", rest="    "
    )
    for entry in entries[:_MOST_PARKED]:
        inside = f", in {entry.code}" if entry.code else ""
        waker = entry.released_by
        by = f", mostly ended by {waker.comm} ({waker.tid})" if waker else ""
        lines += page.wrapped(f"{_sum(entry)}{inside}{by}", first="      ")
    if len(entries) > _MOST_PARKED:
        lines.append(page.line(f"      and {len(entries) - _MOST_PARKED} more: --json"))
    return [Text(line.plain, DIM) for line in lines]


def _by_account(report: Report, kind: str) -> Mapping[str, list[Account]]:
    """Return the entries of a kind by account, the largest account first."""
    found = groups_by_key((entry.account, entry) for entry in report.accounts if entry.kind == kind)
    return dict(sorted(found.items(), key=lambda item: -_ns(item[1])))


def _ns(entries: Iterable[Account]) -> int:
    return sum(entry.ns for entry in entries)
