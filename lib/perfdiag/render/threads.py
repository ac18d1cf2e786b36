"""Threads that still waited at the end, and, for a full page, what each of the busiest did."""

from collections.abc import Sequence

from rich.text import Text

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.units import count, duration, plural, share
from perfdiag.recording.accounts import Kind, kind_of, phrase_of
from perfdiag.render.layout import HEADING, Page, Section, pad
from perfdiag.report.contract import Report, Thread, Waiting
from perfdiag.report.status import CANNOT_TELL

_SHOWN_TIDS = 3
_MOST_THREADS = 200  # in the full report, the busiest first


def still_waiting(report: Report, page: Page) -> Section:
    """Return the threads in one wait through the whole window; those of one name in one wait together. A short report
    shows possibly idle threads only if their wait may be why the cause is unknown."""
    groups = groups_by_key(
        ((wait.comm, wait.account, wait.object), wait)
        for wait in report.still_waiting
        if page.full or report.verdict.status == CANNOT_TELL or kind_of(wait.account) is not Kind.UNKNOWN
    )
    alike = list(groups.values())
    blocks = [[page.chunk(_still(waits, page), 4 + 20 * index, limit=2)] for index, waits in enumerate(alike)]

    def fold(hidden: Sequence[int]) -> list[Text]:
        return [Text(f"  and {plural(sum(len(alike[index]) for index in hidden), 'thread')} more: --full")]

    title = "STILL WAITING when the recording ended"
    return Section([page.line(title, HEADING)] if blocks else [], blocks, fold)


def _still(waits: Sequence[Waiting], page: Page) -> str:
    first = waits[0]
    object = f", {first.object}" if first.object else ""
    object += f", in {first.code}" if first.code else ""
    tids = ", ".join(str(wait.tid) for wait in waits[: page.limit(_SHOWN_TIDS)])
    more = len(waits) - _SHOWN_TIDS
    tids += f" and {count(more)} more" if more > 0 and not page.full else ""
    least = duration(min(wait.at_least_ns for wait in waits))
    return f"{first.comm} ({tids}): {phrase_of(first.account)} ({first.account}{object}) for at least {least}"


def threads(report: Report, page: Page) -> Section:
    """Return the busiest threads, for a full page."""
    lines = [page.line(_thread(thread)) for thread in report.threads[:_MOST_THREADS]]
    more = len(report.threads) - len(lines)
    if more:
        lines.append(Text(f"  and {count(more)} more, less busy than these: --json"))
    return Section(
        [page.line("THREADS  lifetime in the window, largest accounts", HEADING), *lines] if lines else [], []
    )


def _thread(thread: Thread) -> str:
    largest = sorted(thread.accounts.items(), key=lambda item: -item[1])[:3]
    does = ", ".join(f"{name} {share(ns / thread.wall_ns)}" for name, ns in largest if thread.wall_ns)
    fold = f"{count(thread.threads)} ended" if thread.exited else plural(thread.threads, "thread")
    who = f"{thread.comm} ({thread.tid or fold})"
    return f"  {pad(who, 26)} {duration(thread.wall_ns):>8}  {does}"
