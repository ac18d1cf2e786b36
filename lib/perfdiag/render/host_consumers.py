"""Of a whole host: who has most of each account, and behind whom they wait."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from perfdiag.common.units import count, duration, share
from perfdiag.render.layout import HEADING, Block, Chunk, Page, Section
from perfdiag.report.contract import Consumer, Consumers, Report

SHOWN = 3
LEAST = 0.01  # of the busy time


def everyone(report: Report, page: Page) -> Section:
    """Return a line for each account that counts, its largest consumers first; nothing for chosen processes."""
    if report.everyone is None or not report.everyone.consumers:
        return Section([], [])
    felt = [each for each in report.everyone.consumers if page.full or each.ns >= LEAST * report.busy_ns]
    width = max((len(each.account) for each in felt), default=0)
    blocks: list[Block] = [_account(each, page, width, 2 + index) for index, each in enumerate(felt)]

    def fold(hidden: Sequence[int]) -> list[Text]:
        return [page.line(f"  and {len(hidden)} more: {', '.join(felt[index].account for index in hidden)} (--full)")]

    return Section([Text("WHO  the largest consumers of each account, and their part of it", HEADING)], blocks, fold)


def _account(each: Consumers, page: Page, width: int, rank: int) -> list[Chunk]:
    start = f"  {each.account:<{width}} {duration(each.ns):>7}  "
    chunks = [page.chunk(_named(each.consumers, page), rank, first=start, limit=2)]
    if each.behind:
        behind = f"  {'behind':>{width}} {'':>7}  "
        chunks.append(page.chunk(_named(each.behind, page), rank + 1, first=behind, limit=2))
    return chunks


def _named(consumers: Sequence[Consumer], page: Page) -> str:
    shown = consumers[: page.limit(SHOWN)]
    parts = [f"{_who(each)} {share(each.share)}" for each in shown]
    more = len(consumers) - len(shown)
    return ", ".join(parts) + (f", {count(more)} more" if more else "")


def _who(consumer: Consumer) -> str:
    if consumer.kernel:
        return f"[{consumer.comm}]"
    return f"{consumer.comm} ({consumer.pid})" if consumer.pid else consumer.comm


__all__ = ["everyone"]
