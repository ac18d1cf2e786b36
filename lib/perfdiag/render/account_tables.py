"""Where the time went: one table with one whole, its rows in words, and the findings that explain each row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.text import Text

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.units import about_at_most, count, duration, give_or_take, plural, share
from perfdiag.diagnosis.rule import Mechanism
from perfdiag.model.requests.request_time import beyond
from perfdiag.recording.accounts import explained_phrase_of, phrase_of
from perfdiag.render.account_objects import objects, sum_ns
from perfdiag.render.host_consumers import who_has
from perfdiag.render.layout import DIM, ESSENTIAL, NEVER, Block, Chunk, Page, Section, clip, heading, pad
from perfdiag.render.problem import numbered, to_mend
from perfdiag.report.contract import Account, Finding, Report

ELSE = "everything else"
LEAST = 0.01  # of the whole: a row of less is folded
FELT = 0.05  # of the whole: a row of as much is essential
_BAR, _WIDE_BAR, _SHORTEST_BAR = 20, 30, 4
_ROOM_FOR_OBJECT = 16
_ARROW = "  -> "
_MOST_PARKED = 40  # objects, in the full report
_MOST_OBJECTS = 40  # of an account in the full report


@dataclass(frozen=True)
class _Row:
    phrase: str
    account: str
    ns: int
    entries: Sequence[Account] = ()  # of the threads' time: what was waited for
    numbers: Sequence[int] = ()  # of the findings that explain it
    cause_found: bool = False  # of an account that tells no cause, the part whose cause is found
    more_accounts: int = 0  # whose time is in this row, too

    @property
    def account_shown(self) -> str:
        """The name of its account, with the number of those that are joined to it."""
        return f"{self.account} +{self.more_accounts}" if self.more_accounts else self.account

    @property
    def mark(self) -> str:
        """The numbers of its findings, behind an arrow."""
        return f"{_ARROW}{', '.join(map(str, self.numbers))}" if self.numbers else ""


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
        account = f"{row.account_shown:<{self.account if row.mark else 0}}"
        line = f"{self._begin(row.phrase, bar, row.ns)}{account}{row.mark}"
        room = page.width - cell_len(line) - 3
        at = objects(row.entries, room) if room >= _ROOM_FOR_OBJECT else ""
        return clip(f"{line}   {at}".rstrip(), page.width)

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
    rows = [row for name, ns in time.accounts.items() if ns for row in _requests_rows(report, page, name, ns)]
    rows = sorted(rows if page.full else _joined(rows), key=lambda row: -row.ns)
    many = _counted(report, time.count) + (f" and {time.own_count:,} of its own" if time.own_count else "")
    title, remark = f"REQUEST TIME  {duration(time.ns)}, {many}", ""
    if time.excess:
        limits = {each.limit_ns for each in report.requests if each.over_slo and each.limit_ns is not None}
        over = duration(next(iter(limits))) if len(limits) == 1 else "their limit"
        title = f"REQUEST TIME  {duration(time.ns)}, lost by the {many} over {over}"
        remark = f"({beyond(time.median_over)})" if page.full or time.median_over else ""
    return _table(report, page, heading(title, remark, page.width), time.ns, rows)


def _requests_rows(report: Report, page: Page, account: str, ns: int) -> list[_Row]:
    """Return the row of an account; of an unknown one two, as what findings explain of it is not unknown."""
    words = explained_phrase_of(account)
    causes = [(number, each) for number, each in _explaining(report, page, account) if words and _has_cause(each)]
    explained_ns = min(ns, sum(each.accounts[account] for _, each in causes))
    numbers = [number for number in _numbers(report, page, account) if number not in dict(causes)]
    rows = [
        _Row(f"{words}, cause found", account, explained_ns, (), [number for number, _ in causes], cause_found=True),
        _Row(phrase_of(account), account, ns - explained_ns, (), numbers),
    ]
    return [row for row in rows if row.ns]


def _joined(rows: Sequence[_Row]) -> list[_Row]:
    """Return the rows, each time whose cause is found in the row of what that cause makes threads wait for."""
    joined = [row for row in rows if not row.cause_found]
    for row in sorted((each for each in rows if each.cause_found), key=lambda each: -each.ns):
        own = [each for each in joined if each.numbers == row.numbers and len(row.numbers) == 1]
        if not own:
            joined.append(row)
            continue
        main = max(own, key=lambda each: each.ns)
        joined[joined.index(main)] = replace(main, ns=main.ns + row.ns, more_accounts=main.more_accounts + 1)
    return joined


def _has_cause(finding: Finding) -> bool:
    return finding.mechanism != Mechanism.UNDETERMINED.value


def time_by_account(report: Report) -> Mapping[str, int]:
    """Return the time that the table shows of each account."""
    if report.request_time:
        return report.request_time.accounts
    return {name: sum_ns(entries) for name, entries in _by_account(report, "latency").items()}


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
        _Row(phrase_of(name), name, sum_ns(entries), entries, _numbers(report, page, name) if ranked else ())
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
    phrase = max([len(ELSE), *(min(len(row.phrase), 25) for row in shown or rows)])
    account = max([0, *(len(row.account_shown) for row in shown)])
    marks = max([0, *(len(row.mark or _ARROW) for row in shown)])
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
        chunks.append(Chunk([page.line(f"      and {len(rest)} more, {duration(sum_ns(rest))}: --json")], rank))
    return chunks


def _numbers(report: Report, page: Page, account: str) -> list[int]:
    return [number for number, _ in _explaining(report, page, account)]


def _explaining(report: Report, page: Page, account: str) -> list[tuple[int, Finding]]:
    """Return the findings that explain an account, with their numbers: faults, or, without any, the first; a full page
    has all others, too."""
    named = to_mend(report) or numbered(report)[: None if page.full else 1]
    return [(number, each) for number, each in named if each.accounts.get(account, 0) > 0]


def _idle_accounts(report: Report) -> list[tuple[str, int]]:
    """Return the idle accounts, which differ: asleep on a timer, stopped, waiting for work."""
    return [(name, sum_ns(entries)) for name, entries in _by_account(report, "idle").items() if sum_ns(entries)]


def _idle(idle: Sequence[tuple[str, int]], page: Page) -> list[Text]:
    """Return the idle accounts, if there are more than the one in the heading."""
    if len(idle) < 2:
        return []
    return page.wrapped(
        f"idle: {', '.join(f'{phrase_of(name)} {duration(ns)} ({name})' for name, ns in idle)}", rest="    "
    )


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
    return dict(sorted(found.items(), key=lambda item: -sum_ns(item[1])))
