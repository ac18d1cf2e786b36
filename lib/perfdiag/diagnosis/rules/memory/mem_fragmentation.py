"""A rule on memory that is free, but not in pieces as large as they are wanted."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.memory.compaction import COMPACTION, huge_order, made_later, order_of
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.rule import Confidence, Evidence, Finding, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import (
    claims_of,
    duration,
    fault,
    fine,
    fix,
    judged,
    size,
    together,
    total_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model


@rule(
    "MEM-FRAGMENTATION",
    title="Threads move pages about to make large pieces of free memory",
    accounts=(COMPACTION,),
    meaning="Memory is free, but in pieces that are too small: threads of the target compact it themselves before they"
    " get what they asked for. Mostly that is for transparent huge pages, which are a convenience and no need; else for"
    " buffers of drivers, or the kernel's own large structures.",
    measured="Time between begin and end of compaction in the target's threads, running or blocked, by the size that"
    " was wanted; joined with the free pieces of the host at the end (/proc/buddyinfo), its counters of compaction in"
    " the window, and the policy of transparent huge pages.",
    alternatives="Memory is short as a whole (MEM-RECLAIM): then compaction fails, and reclaim takes time beside it.",
    remedies="Let huge pages be made in the background; reserve large pages at boot; smaller buffers.",
    verify="grep -e compact_stall -e compact_fail /proc/vmstat, twice: they stand still.",
)
def fragmentation(model: Model) -> Iterable[Outcome]:
    """Join compaction by size with free pieces and the policy of huge pages."""
    if not model.measured("compaction"):
        reason = f"{COMPACTION} was not measured"
        yield Silence("MEM-FRAGMENTATION", reason, "see perfdiag check, feature compaction")
        return
    rows = model.rows_of(COMPACTION)
    taken_ns = total_ns(rows)
    if not worth(model, taken_ns):
        yield fine(model, "MEM-FRAGMENTATION", COMPACTION, COMPACTION)
        return
    order = order_of(rows)
    evidence = [waits(together(rows), "compactions")]
    stalls, failed = (model.facts.vmstat_delta(name) for name in ("compact_stall", "compact_fail"))
    if stalls is not None:
        text = f"compact_stall rose by {stalls:,}" + (f", {failed:,} of them in vain" if failed is not None else "")
        evidence.append(Evidence(f"{text} (whole host)", float(stalls), "count", "/proc/vmstat"))
    if order is not None:
        evidence += _free_evidence(model, order)
    confidence, limits = judged(model, Confidence.HIGH, ["" if order is not None else "the size wanted is not known"])
    huge = order is not None and huge_order(model) == order
    yield Finding(
        "MEM-FRAGMENTATION",
        fault(model, taken_ns),
        confidence,
        f"Threads of {subject(model)} move pages about, {duration(taken_ns)}, {_for_what(model, order, huge=huge)}.",
        claims_of(rows),
        evidence,
        _remedies(model, huge=huge or order is None),
        alternatives=["memory is short as a whole: reclaim then takes time beside it"],
        limits=limits,
        verify="grep -e compact_stall -e compact_fail /proc/vmstat, twice: they stand still",
        headline=f"Threads compact memory for {'huge pages' if huge else 'large pieces of free memory'}",
        mechanism=Mechanism.LIMIT,
    )


def _for_what(model: Model, order: int | None, *, huge: bool) -> str:
    if order is None:
        return "to make large pieces of free memory"
    piece = size(model.page_bytes << order)
    return f"for huge pages of {piece}" if huge else f"for pieces of {piece}: buffers of drivers or of the kernel"


def _free_evidence(model: Model, order: int) -> list[Evidence]:
    """Return how much is free, and how much of it in pieces that would have done."""
    pieces = model.facts.free_pieces
    if not pieces:
        return []
    page = model.page_bytes
    free = sum(count * page << each for each, count in enumerate(pieces))
    enough = sum(count * page << each for each, count in enumerate(pieces) if each >= order)
    text = f"{size(free)} free at the end, {size(enough)} of it in pieces of {size(page << order)} or more"
    return [Evidence(text, float(enough), "bytes", "/proc/buddyinfo")]


def _remedies(model: Model, *, huge: bool) -> list[Remedy]:
    if not huge:
        return [fix("find who asks for large pieces: jumbo frames, ring sizes and buffers of network drivers")]
    reserve = fix("allocate huge pages before they are needed: at the start, or as hugetlb pages reserved at boot")
    return [*made_later(model), reserve]


__all__ = ["fragmentation"]
