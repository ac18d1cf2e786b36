"""The largest consumers of each account of a whole host, and the processes that others wait behind."""

from collections.abc import Sequence

from perfdiag.common.units import count, share
from perfdiag.render.layout import Chunk, Page
from perfdiag.report.contract import Consumer, Report

SHOWN = 3


def who_has(report: Report, page: Page, account: str, rank: int) -> list[Chunk]:
    """Return the lines below an account's row: its largest consumers; nothing for chosen processes."""
    consumers = report.everyone.consumers if report.everyone else []
    each = next((each for each in consumers if each.account == account), None)
    if each is None:
        return []
    chunks = [page.chunk(_named(each.consumers, page), rank, first="    ", limit=2)]
    if each.behind:
        chunks.append(page.chunk(f"behind {_named(each.behind, page)}", rank, first="    ", limit=2))
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
