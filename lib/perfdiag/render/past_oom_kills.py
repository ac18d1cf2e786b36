"""Past OOM kills as text: every kill in full, names escaped, plain text without a terminal."""

import time

from rich.text import Text

from perfdiag.common.units import count, duration, plural
from perfdiag.render.layout import COLUMNS, HEADING, Page, apart
from perfdiag.report.contract.past_oom_kills import Kill, PastKills

SHOWN = 5  # kills that are told in full, unless everything is asked for; the newest
GROUPS = 5


def lines(found: PastKills, width: int = COLUMNS, *, full: bool = False) -> list[Text]:
    """Return the lines of the report, none wider than `width` cells."""
    page = Page(width, full)
    shown = found.kills if full else found.kills[-SHOWN:]
    told: list[Text | str] = [
        Text(apart("perfdiag host", f"{found.host or 'a saved log'}, {found.source}", width), HEADING),
        page.line(f"OOM kills from {when(found.since_ns)} to {when(found.until_ns)}"),
        Text(),
        *page.wrapped(found.verdict, first="PROBLEM  " if found.kills else "NO PROBLEM  ", rest="  ", style=HEADING),
    ]
    if len(found.kills) > len(shown):
        told += ["", *_earlier(found.kills[: -len(shown)], page)]
    for number, kill in enumerate(found.kills, 1):
        if number > len(found.kills) - len(shown):
            told += ["", *_kill(number, kill, page)]
    told += _counters(found, page)
    if found.not_measured:
        told += ["", Text("NOT MEASURED", HEADING)]
        for item in found.not_measured:
            told += page.wrapped(f"{item.what}: {item.reason}")
            told += page.wrapped(item.fix, first="    ")
    return [Text(line) if isinstance(line, str) else line for line in told]


def when(realtime_ns: int) -> str:
    """Return a time of day in this host's time zone: "2026-11-22 02:13:05"."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(realtime_ns // 1_000_000_000))
    except (ValueError, OverflowError, OSError):
        return f"{realtime_ns} ns after 1970"


def _earlier(kills: list[Kill], page: Page) -> list[Text]:
    """Return one line for each kill that is not shown in full."""
    told = [page.line(f"EARLIER, {plural(len(kills), 'kill')} (--full shows all)", HEADING)]
    for kill in kills[-SHOWN:]:
        names = ", ".join(f"{victim.comm} (pid {victim.pid})" for victim in kill.victims[:3]) or "nobody"
        told.append(page.line(f"  {_time(kill)}  {kill.cause}: {names}"))
    if len(kills) > SHOWN:
        told.append(page.line(f"  and {count(len(kills) - SHOWN)} before them"))
    return told


def _time(kill: Kill) -> str:
    if kill.realtime_ns is None:
        return f"{kill.clock_ns / 1e9:.3f} s after its boot" if kill.clock_ns is not None else "time unknown"
    doubt = f" or up to {duration(kill.early_ns)} earlier" if kill.early_ns else ""
    return f"{when(kill.realtime_ns)}{doubt}"


def _kill(number: int, kill: Kill, page: Page) -> list[Text]:
    told = [Text(apart(f"{number} {kill.id}  {_time(kill)}", f"confidence {kill.confidence}", page.width), HEADING)]
    told += page.wrapped(kill.claim)
    for each in kill.evidence:
        told += page.wrapped(each.text, first="  - ", rest="    ")
    for label, texts in (("ruled out", kill.ruled_out), ("or", kill.alternatives), ("limits", kill.limits)):
        for text in texts:
            told += page.wrapped(text, first=f"  {label:<10}", rest=" " * 12)
    for remedy in kill.remedies:
        told += page.wrapped(remedy.text, first=f"  {remedy.kind.value:<10}", rest=" " * 12)
    return told + page.wrapped(kill.verify, first=f"  {'verify':<10}", rest=" " * 12)


def _counters(found: PastKills, page: Page) -> list[Text | str]:
    """Return what the kernel counts, whatever the log has."""
    told: list[Text | str] = []
    if found.counted is not None:
        text = f"{plural(found.counted, 'kill')} since boot (/proc/vmstat), {count(found.in_log)} of them in this log"
        told += page.wrapped(text)
    for group in (found.groups or [])[: None if page.full else GROUPS]:
        told += page.wrapped(f"{count(group.kills)} in {group.path}, since it was made")
    more = len(found.groups or []) - GROUPS
    if more > 0 and not page.full:
        told += page.wrapped(f"and {plural(more, 'group')} more (--full)")
    if found.outside:
        told += page.wrapped(f"{plural(found.outside, 'report')} of the log outside this time")
    return ["", Text("COUNTED", HEADING), *told] if told else []
