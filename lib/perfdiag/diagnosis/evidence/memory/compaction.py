"""The purpose of compaction: the size of the pieces, and the setting behind it."""

from perfdiag.diagnosis.evidence.target import setting
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import (
    total_ns,
)
from perfdiag.model.model import Model, Row

COMPACTION = "memory.compaction"
DEFRAG = "/sys/kernel/mm/transparent_hugepage/defrag"
# Defrag settings with compaction inside the fault.
DIRECT = ("always", "madvise", "defer+madvise")


def order_of(rows: list[Row]) -> int | None:
    """Return the order with most of the time; None if unknown."""
    known = [row for row in rows if row.key.startswith("order:") and row.key[6:].isdigit() and len(row.key) < 9]
    if 2 * total_ns(known) <= total_ns(rows):
        return None
    return int(max(known, key=lambda row: row.distribution.sum_ns).key[6:])


def huge_order(model: Model) -> int:
    """Return the order of a huge page: one page table full of pages, of eight bytes each."""
    return (model.page_bytes // 8).bit_length() - 1


def made_later(model: Model) -> list[Remedy]:
    """Return the trial of background huge pages, if faults wait for them now."""
    pages = model.facts.transparent_huge_pages
    if not pages or pages.defrag not in DIRECT or pages.enabled == "never":
        return []
    return [setting(DEFRAG, "defer", pages.defrag)]
