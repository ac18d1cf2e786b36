"""Where the time went: accounts with their objects, idle and "cannot tell" apart, who still waits, threads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.text import Text

from perfdiag.common.units import about, count, duration, plural, share
from perfdiag.recording.accounts import BY_NAME
from perfdiag.render.layout import HEADING, Block, Chunk, Page, Section, clip, heading, pad
from perfdiag.report.contract import Account, Report, Thread, Waiting

_LONGEST_BAR = 20
OWN_THREAD = "own thread "  # how object_names.py begins the name of a thread of the target
_SHOWN_TIDS = 3
_LEAST_OBJECT = 0.005  # of its account
_PROCESS = re.compile(r"(.*\S) \((\d+)\)")
_LEAST_COMM = 6  # letters of a name, if it has to be cut
_MOST_PARKED = 40  # objects, in the full report
_MOST_OBJECTS = 40  # of an account in the full report
_MOST_THREADS = 200  # in the full report, the busiest first


def where(report: Report, page: Page) -> Section:
    """Non-idle time by account; rows that do not fit are folded with their sum."""
    rows = _by_account(report, "latency")
    names = list(rows)
    width = max([12, *(len(name) for name in names)])
    blocks: list[Block] = []
    for index, (name, entries) in enumerate(rows.items()):
        felt = index == 0 or _part(report, _ns(entries)) >= 0.01
        rank = 1 + index if felt and index < 6 else 20 + index
        blocks.append(_row(report, page, f"{name:<{width}}", entries, rank))

    def fold(hidden: Sequence[int]) -> list[Text]:
        ns = sum(_ns(rows[names[index]]) for index in hidden)
        which = ", ".join(names[index] for index in hidden)
        return [page.line(f"  and {len(hidden)} more: {share(_part(report, ns))}, {duration(ns)} ({which})")]

    return Section(_heading(report, page), blocks, fold, [*_idle(report, page), *_parked(report, page)])


def _heading(report: Report, page: Page) -> list[Text]:
    idle = [name for name, _ in _idle_accounts(report)]
    named = f", {idle[0]}" if len(idle) == 1 else ""
    beside = f"(idle apart: {duration(report.idle_ns)}{named})"
    return heading(f"WHERE {duration(report.busy_ns)} OF NON-IDLE THREAD TIME WENT", beside, page.width)


def _idle_accounts(report: Report) -> list[tuple[str, int]]:
    """Return the idle accounts: asleep by its own choice, stopped and waiting for work are not the same."""
    return [(name, _ns(entries)) for name, entries in _by_account(report, "idle").items() if _ns(entries)]


def _idle(report: Report, page: Page) -> list[Text]:
    """Return the line of the idle accounts, where there is more than the one that the heading names."""
    idle = _idle_accounts(report)
    if len(idle) < 2:
        return []
    return [page.line(f"  idle apart: {', '.join(f'{name} {duration(ns)}' for name, ns in idle)}")]


def _row(report: Report, page: Page, name: str, entries: Sequence[Account], rank: int) -> Block:
    ns = _ns(entries)
    part = _part(report, ns)
    room = min(_LONGEST_BAR, max(4, page.width - len(name) - 31))
    bar = "#" * max(1 if ns else 0, round(part * room))
    line = f"  {name} {bar:<{room}} {share(part):>5} {duration(ns):>7}  "
    chunks = [Chunk([page.line((line + _objects(entries, page.width - len(line))).rstrip())], rank)]
    released = next((entry.released_by for entry in entries if entry.released_by), None)
    if released:
        does = ", ".join(f"{account} {share(part)}" for account, part in list(released.accounts.items())[:3])
        text = f"mostly due to {released.comm} ({released.tid}), "
        text += f"which itself: {does}" if does else f"not of the target: perfdiag latency --pid {released.tid}"
        chunks.append(page.chunk(text, rank + 3, first="    ", limit=2))
    if page.full:
        listed = [entry for entry in entries if entry.p50_ns]
        chunks += [Chunk(page.wrapped(_distribution(entry), first="      "), rank) for entry in listed[:_MOST_OBJECTS]]
        if rest := listed[_MOST_OBJECTS:]:
            chunks.append(Chunk([page.line(f"      and {len(rest)} more, {duration(_ns(rest))}: --json")], rank))
    return chunks


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
    """Return an object that fits; of "COMM (PID)" the name is cut: half a pid is none."""
    who = _PROCESS.fullmatch(object)
    behind = f" ({who[2]})" if who else ""
    if who is None or cell_len(object) <= width or width < len(behind) + _LEAST_COMM:
        return clip(object, width)
    return clip(who[1], width - len(behind)) + behind


def _named(entries: Sequence[Account]) -> dict[str, int]:
    """Return the time of each object, the largest first.

    The target's own threads, one by one small, are one; so are neighbours of one name, as in findings.
    """
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
        parts += [f"{name} {about(ns)}" for name, ns in (("p50", entry.p50_ns), ("p99", entry.p99_ns)) if ns]
    parts.append(f"longest {duration(entry.max_ns)}")
    return ", ".join(parts)


def _sum(entry: Account) -> str:
    return f"{entry.object or '(no object)'}: {duration(entry.ns)} in {count(entry.count)}"


def _parked(report: Report, page: Page) -> list[Text]:
    ns = report.coverage.cannot_tell_ns
    if not ns:
        return []
    says = "waiting or idle, cannot tell; counted as neither"
    time = report.request_time
    if time and "wait.parked" in time.accounts:
        of = "slow requests" if time.excess else "requests"
        says = f"{duration(time.accounts['wait.parked'])} in {of}; else idle or not, cannot tell"
    lines = [page.line(f"  wait.parked, {duration(ns)}: {says}")]
    entries = [entry for entry in report.accounts if entry.kind == "unknown"]
    for entry in entries[:_MOST_PARKED] if page.full else ():
        inside = f", in {entry.code}" if entry.code else ""
        waker = entry.released_by
        by = f", mostly due to {waker.comm} ({waker.tid})" if waker else ""
        lines += page.wrapped(f"{_sum(entry)}{inside}{by}", first="      ")
    if page.full and len(entries) > _MOST_PARKED:
        lines.append(page.line(f"      and {len(entries) - _MOST_PARKED} more: --json"))
    return lines


def still_waiting(report: Report, page: Page) -> Section:
    """Threads in one wait through the whole window; those of one name in one wait together."""
    groups: dict[tuple[str, str, str], list[Waiting]] = {}
    for wait in report.still_waiting:
        groups.setdefault((wait.comm, wait.account, wait.object), []).append(wait)
    alike = list(groups.values())
    blocks = [[page.chunk(_still(waits, page), 3 + 4 * index, limit=3)] for index, waits in enumerate(alike)]

    def fold(hidden: Sequence[int]) -> list[Text]:
        return [Text(f"  and {plural(sum(len(alike[index]) for index in hidden), 'thread')} more: --full")]

    heading = [Text("STILL WAITING when the recording ended", HEADING)] if blocks else []
    return Section(heading, blocks, fold)


def _still(waits: Sequence[Waiting], page: Page) -> str:
    first = waits[0]
    meaning = BY_NAME[first.account].meaning if first.account in BY_NAME else first.account
    object = f" ({first.object})" if first.object else ""
    object += f" in {first.code}" if first.code else ""
    tids = ", ".join(str(wait.tid) for wait in waits[: page.limit(_SHOWN_TIDS)])
    more = len(waits) - _SHOWN_TIDS
    tids += f" and {count(more)} more" if more > 0 and not page.full else ""
    least = duration(min(wait.at_least_ns for wait in waits))
    return f"{first.comm} ({tids}) {'is' if len(waits) == 1 else 'are'} {meaning}{object}, for at least {least}"


def threads(report: Report, page: Page) -> Section:
    """Of the full report: the busiest threads."""
    lines = [page.line(_thread(thread)) for thread in report.threads[:_MOST_THREADS]]
    more = len(report.threads) - len(lines)
    if more:
        lines.append(Text(f"  and {count(more)} more, less busy than these: --json"))
    return Section([Text("THREADS  wall time, largest accounts", HEADING), *lines] if lines else [], [])


def _thread(thread: Thread) -> str:
    largest = sorted(thread.accounts.items(), key=lambda item: -item[1])[:3]
    does = ", ".join(f"{name} {share(ns / thread.wall_ns)}" for name, ns in largest if thread.wall_ns)
    fold = f"{count(thread.threads)} ended" if thread.exited else plural(thread.threads, "thread")
    who = f"{thread.comm} ({thread.tid or fold})"
    return f"  {pad(who, 26)} {duration(thread.wall_ns):>8}  {does}"


def _by_account(report: Report, kind: str) -> dict[str, list[Account]]:
    """Return the entries of a kind by account, the largest account first."""
    found: dict[str, list[Account]] = {}
    for entry in report.accounts:
        if entry.kind == kind:
            found.setdefault(entry.account, []).append(entry)
    return dict(sorted(found.items(), key=lambda item: -_ns(item[1])))


def _ns(entries: Iterable[Account]) -> int:
    return sum(entry.ns for entry in entries)


def _part(report: Report, ns: int) -> float:
    return ns / report.busy_ns if report.busy_ns else 0.0


__all__ = ["still_waiting", "threads", "where"]
