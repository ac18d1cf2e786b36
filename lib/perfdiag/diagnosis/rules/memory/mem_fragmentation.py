"""MEM-FRAGMENTATION: threads compact memory because free pieces are too small."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import steady
from perfdiag.diagnosis.evidence.memory.compaction import COMPACTION, huge_order, made_later, order_of
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Evidence, Mechanism, Outcome, Remedy, rule
from perfdiag.diagnosis.significance import (
    claims_of,
    duration,
    fine,
    fix,
    size,
    together,
    total_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model


@rule(
    "MEM-FRAGMENTATION",
    title="Threads compact memory to get large free pieces",
    accounts=(COMPACTION,),
    meaning=(
        "Memory is free, but in too small pieces, so threads of the target move pages (compaction) before they get"
        " memory. Usually for transparent huge pages, otherwise for driver buffers or large kernel structures."
    ),
    measured=(
        "Time in compaction per thread, by the size of the piece, with the host's free pieces (/proc/buddyinfo),"
        " compaction counters and huge page policy."
    ),
    alternatives="The host is short of memory (MEM-RECLAIM): compaction fails and reclaim takes time, too.",
    remedies="Make huge pages in the background, reserve them at boot, or use smaller buffers.",
    verify="compact_stall and compact_fail in /proc/vmstat stop growing.",
    needs=("compaction", f"{COMPACTION} was not measured"),
)
def fragmentation(model: Model) -> Iterable[Outcome]:
    """Judge compaction by size, free pieces and the huge page policy."""
    rows = model.rows_of(COMPACTION)
    taken_ns = total_ns(rows)
    if not worth(model, taken_ns):
        yield fine(model, "MEM-FRAGMENTATION", COMPACTION, COMPACTION)
        return
    order = order_of(rows)
    evidence = [waits(together(rows), "compactions")]
    stalls, failed = (model.facts.vmstat_delta(name) for name in ("compact_stall", "compact_fail"))
    if stalls is not None:
        text = f"{stalls:,} compaction stalls" + (f", {failed:,} of them failed" if failed is not None else "")
        evidence.append(Evidence(f"{text} (whole host)", float(stalls), "count", "/proc/vmstat"))
    if order is not None:
        evidence += _free_evidence(model, order)
    huge = order is not None and huge_order(model) == order
    yield conclude(
        model,
        claims_of(rows),
        headline=f"Threads compact memory for {'huge pages' if huge else 'large pieces of free memory'}",
        claim=(
            f"Threads of {subject(model)} compacted memory for {duration(taken_ns)}"
            f" {_for_what(model, order, huge=huge)}."
        ),
        mechanism=Mechanism.LIMIT,
        doubts=["" if order is not None else "the requested size is unknown"],
        evidence=evidence,
        remedies=_remedies(model, huge=huge or order is None),
        alternatives=["the host is short of memory: reclaim then takes time, too"],
        verify=steady("/proc/vmstat", "compact_stall", "compact_fail"),
    )


def _for_what(model: Model, order: int | None, *, huge: bool) -> str:
    if order is None:
        return "to get large free pieces"
    piece = size(model.page_bytes << order)
    return f"for huge pages of {piece}" if huge else f"for {piece} pieces (buffers of drivers or the kernel)"


def _free_evidence(model: Model, order: int) -> list[Evidence]:
    """Return how much is free, and how much in large enough pieces."""
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
        return [fix("find the user of large pieces: jumbo frames, ring sizes and buffers of network drivers")]
    reserve = fix("allocate huge pages early: at program start, or as hugetlb pages at boot")
    return [*made_later(model), reserve]
