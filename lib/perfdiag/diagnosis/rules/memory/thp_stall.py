"""A rule on transparent huge pages: what making room for them costs the target, or that it costs nothing."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.memory.compaction import COMPACTION, DEFRAG, huge_order, made_later, order_of
from perfdiag.diagnosis.evidence.target import again, subject
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Silence, rule
from perfdiag.diagnosis.significance import duration, fault, fix, judged, percent, together, waits, worth
from perfdiag.model.model import Model

# A fault stalls at most once; where fewer than half as many wanted a huge page, something else wants large pages.
FAULTS_PER_STALL = 0.5


@rule(
    "THP-STALL",
    title="Threads make room for transparent huge pages",
    accounts=(COMPACTION,),
    meaning="A page fault may be answered with a huge page (2 MiB), for which as much memory in one piece is needed. If"
    " there is none, the thread that faulted moves pages until there is (compaction), before it may go on.",
    measured="Time between begin and end of compaction in the target's threads; joined with the host's counters of"
    " stalls in compaction and of faults that wanted a huge page, begin to end, and the policy. Nearly every stall must"
    " have a fault that wanted one, where the size is not recorded with the time; else see MEM-FRAGMENTATION.",
    alternatives="Large pages that somebody else wants: buffers of network drivers, hugetlbfs.",
    remedies="Let huge pages be made in the background (khugepaged) instead of by who faults.",
    verify="grep compact_stall /proc/vmstat, twice: it stands still.",
    beats=("MEM-FRAGMENTATION",),
)
def huge_pages(model: Model) -> Iterable[Outcome]:
    """Join time in compaction with faults on huge pages."""
    policy = model.facts.transparent_huge_pages
    stalls = model.facts.vmstat_delta("compact_stall")
    if policy is None or policy.enabled is None:
        reason = model.facts.reason("transparent_huge_pages") or "not recorded"
        yield Silence("THP-STALL", f"the policy of huge pages is not known: {reason}", f"cat {DEFRAG}")
        return
    taken_ns, wanted = model.ns(COMPACTION), _wanted(model)
    order = order_of(model.rows_of(COMPACTION))
    if order is not None and order != huge_order(model):
        text = f"THP {policy.enabled}: what was compacted for has another size"
        yield Check("THP-STALL", text, 0.0, "share")
        return
    if worth(model, taken_ns):
        likely = order is not None or (wanted is not None and stalls and wanted >= FAULTS_PER_STALL * stalls)
        if policy.enabled != "never" and stalls and wanted is not None and likely:
            yield _finding(model, taken_ns, stalls, wanted)
        else:
            yield Silence(
                "THP-STALL",
                f"{duration(taken_ns)} of compaction, and {_number(stalls)} stalls on the host for {_number(wanted)}"
                " faults that wanted a huge page: it may have been for other large pages",
                "perfdiag latency --stacks: who asks for large pages stands on the stacks",
            )
        return
    if stalls is None and not model.measured("compaction"):
        yield Silence("THP-STALL", "neither compaction nor its stalls were measured", "grep compact_stall /proc/vmstat")
        return
    part = model.share(COMPACTION)
    yield Check("THP-STALL", f"THP {policy.enabled}: {_details(model, stalls)}", part, "share")


def _number(count: int | None) -> str:
    return "an unknown number of" if count is None else f"{count:,}"


def _wanted(model: Model) -> int | None:
    """Return how many faults of the host got a huge page or wanted one in vain."""
    counts = [model.facts.vmstat_delta(name) for name in ("thp_fault_alloc", "thp_fault_fallback")]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _details(model: Model, stalls: int | None) -> str:
    """Return "0 compaction stalls, 12 huge pages at faults, khugepaged 0 % of a CPU"; what is not known is left out."""
    found = [] if stalls is None else [f"{stalls:,} compaction stalls of the host"]
    if model.measured("compaction"):
        found.append(f"compaction {percent(model.share(COMPACTION))} of busy time")
    made = model.facts.vmstat_delta("thp_fault_alloc")
    if made is not None:
        found.append(f"{made:,} huge pages at faults")
    split = model.facts.vmstat_delta("thp_split_page")
    if split:
        found.append(f"{split:,} split")
    used_ns = model.facts.kernel_threads_ns.get("khugepaged")
    if used_ns is not None and model.window_ns:
        found.append(f"khugepaged {percent(used_ns / model.window_ns)} of a CPU")
    return ", ".join(found)


def _finding(model: Model, ns: int, stalls: int, wanted: int) -> Finding:
    confidence, limits = judged(model, Confidence.HIGH, ["stalls and faults are counted for the whole host"])
    ask = fix("or let the program ask for huge pages where they pay: madvise(MADV_HUGEPAGE)")
    return Finding(
        "THP-STALL",
        fault(model, ns),
        confidence,
        f"Threads of {subject(model)} moved pages for {duration(ns)} to make room for transparent huge pages.",
        {COMPACTION: ns},
        [
            waits(together(model.rows_of(COMPACTION)), f"times in {COMPACTION}"),
            Evidence(f"{stalls:,} stalls in compaction (whole host)", float(stalls), "count", "/proc/vmstat"),
            Evidence(f"{wanted:,} faults wanted a huge page (whole host)", float(wanted), "count", "/proc/vmstat"),
        ],
        [*made_later(model), ask],
        alternatives=["other large pages: buffers of drivers, hugetlbfs"],
        limits=limits,
        verify=f"{again(model)}: {COMPACTION}; grep compact_stall /proc/vmstat, twice: it stands still",
        headline="Threads wait for memory to be compacted for transparent huge pages",
        mechanism=Mechanism.LIMIT,
    )


__all__ = ["huge_pages"]
