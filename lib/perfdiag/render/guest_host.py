"""What the host saw of a guest, in a few lines between the table and the findings."""

from collections.abc import Sequence

from rich.text import Text

from perfdiag.common.units import count, duration, plural, share
from perfdiag.recording.accounts import phrase_of
from perfdiag.render.layout import HEADING, Block, Page, Section, apart
from perfdiag.report.contract import Exits, HostFinding, HostSide, HostTime, Report

SHOWN = 4
LEAST = 0.005  # of the time of these threads


def host_side(report: Report, page: Page) -> Section:
    """Return virtual CPUs, exits, the emulator's other threads, the host's findings; nothing for one recording."""
    side = report.host_side
    if side is None:
        return Section([], [])
    who = f"{side.comm} (pid {side.pid}), {plural(side.virtual_cpus, 'virtual CPU')}"
    rows = [
        ("CPUs", _times(side.accounts, page)),
        ("exits", _listed([_exit(each) for each in side.exits], page)),
        ("finds", _listed([_finding(each) for each in side.findings], page, ", of its busy time")),
        ("threads", _times(side.others, page)),
    ]
    # Whether both belong together comes first: without it nothing below means anything.  The rest stands behind the
    # first finding's claim and remedy.
    first: list[Block] = [[page.chunk(note, 0, limit=2)] for note in side.notes]
    blocks = first + [
        [page.chunk(text, 4 + index, first=f"  {name:<8} ", limit=2)] for index, (name, text) in enumerate(rows) if text
    ]

    def fold(hidden: Sequence[int]) -> list[Text]:
        return [page.line(f"  and {plural(len(hidden), 'line')} more: --full")]

    heading = Text(apart(f"SEEN FROM ITS HOST {side.host.name}", who, page.width), HEADING)
    return Section([heading, *_overlap(side, report, page)], blocks, fold)


def _overlap(side: HostSide, report: Report, page: Page) -> list[Text]:
    common, own, other = (duration(ns) for ns in (side.overlap_ns, report.window.duration_ns, side.window.duration_ns))
    return page.wrapped(f"both windows share {common} ({own}, there {other}), if the clocks agree", limit=2)


def _times(times: Sequence[HostTime], page: Page) -> str:
    felt = [each for each in times if page.full or each.share >= LEAST]
    return _listed([f"{phrase_of(each.account)} {share(each.share)} {duration(each.ns)}" for each in felt], page)


def _listed(texts: Sequence[str], page: Page, end: str = "") -> str:
    shown = texts[: page.limit(SHOWN)]
    more = len(texts) - len(shown)
    return " | ".join(shown) + (f" | {count(more)} more" if more else "") + (end if shown else "")


def _exit(each: Exits) -> str:
    polled = f", polling {duration(each.polled_ns)}" if each.polled_ns else ""
    asked = " emulated" if each.emulated else ""
    return f"{each.reason}{asked} {count(each.count)}, {duration(each.away_ns)}{polled}"


def _finding(each: HostFinding) -> str:
    return f"{each.id} {share(each.share)}"
