"""Operations over their limit, and the work that was done."""

from collections.abc import Sequence

from rich.text import Text

from perfdiag.common.units import about_at_most, count, counted, duration, rate, size
from perfdiag.render.layout import ESSENTIAL, Block, Page, Section
from perfdiag.report.contract import Operation, Report


def work(report: Report, page: Page) -> Section:
    """Return the operations over their limit; for a full page the others, too, and the work done."""
    asked = [each for each in report.operations if each.over_slo or page.full]
    blocks: list[Block] = []
    for index, each in enumerate(asked):
        first = "         " if index else "CALLS    "
        blocks.append([page.chunk(_operation(each), ESSENTIAL + 5 + 5 * index, first=first, limit=2)])

    def fold(hidden: Sequence[int]) -> list[Text]:
        over = counted(len(hidden), "kinds over their limit")
        return [page.line(f"{'CALLS    ' if 0 in hidden else '         '}{over}: --full")]

    return Section([], blocks, fold, _moved(report, page))


def _moved(report: Report, page: Page) -> list[Text]:
    seconds = report.window.duration_ns / 1e9
    moving = [each for each in report.work if each.amount] if seconds and page.full else []
    text = ", ".join(f"{each.name} {size(each.amount / seconds)}/s" for each in moving)
    return page.wrapped(text, first="WORK     ") if text else []


def _operation(operation: Operation) -> str:
    """Return the line of an operation; percentiles only if there are enough."""
    parts = [f"{operation.name}: {count(operation.count)}, {rate(operation.per_second)}"]
    times = (("p50", operation.p50_ns), ("p90", operation.p90_ns), ("p99", operation.p99_ns))
    parts += [f"{name} {about_at_most(ns, operation.max_ns)}" for name, ns in times if ns is not None]
    parts.append(f"longest {duration(operation.max_ns)}")
    if operation.over_slo is not None and operation.limit_ns is not None:
        parts.append(f"{count(operation.over_slo)} over {duration(operation.limit_ns)}")
    if operation.p99_ns is None and operation.rarity_unseen is not None:
        parts.append(_too_few(operation.rarity_unseen))
    return ", ".join(parts)


def _too_few(rarity: float) -> str:
    return f"too few to see what happens to fewer than 1 in {round(1 / rarity)}"
