"""THP-STALL: threads compact memory for transparent huge pages."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.memory.compaction import COMPACTION, DEFRAG, huge_order, made_later, order_of
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Silence, rule
from perfdiag.diagnosis.significance import duration, fix, percent, together, waits, worth
from perfdiag.model.model import Model


@rule(
    "THP-STALL",
    title="Threads compact memory for transparent huge pages",
    accounts=(COMPACTION,),
    meaning=(
        "A page fault may get a huge page (2 MiB), in one piece. If no such piece is free, the faulting thread moves"
        " pages (compaction) until there is one."
    ),
    measured=(
        "Time in compaction per thread, with the host's compaction stalls, huge page faults and policy. If the size"
        " is not recorded, nearly every stall needs a huge page fault; otherwise see MEM-FRAGMENTATION."
    ),
    alternatives="Other users of large pages: buffers of network drivers, hugetlbfs.",
    remedies="Let khugepaged make huge pages in the background.",
    verify="compact_stall in /proc/vmstat stops growing.",
    beats=("MEM-FRAGMENTATION",),
)
def huge_pages(model: Model) -> Iterable[Outcome]:
    """Judge time in compaction by huge page faults."""
    policy = model.facts.transparent_huge_pages
    stalls = model.facts.vmstat_delta("compact_stall")
    if policy is None or policy.enabled is None:
        reason = model.facts.reason("transparent_huge_pages") or "not recorded"
        yield Silence("THP-STALL", f"the huge page policy is unknown: {reason}", f"cat {DEFRAG}")
        return
    taken_ns, wanted = model.ns(COMPACTION), _wanted(model)
    order = order_of(model.rows_of(COMPACTION))
    if order is not None and order != huge_order(model):
        text = f"THP {policy.enabled}: compaction was for another size"
        yield Check("THP-STALL", text, 0.0, "share")
        return
    if worth(model, taken_ns):
        likely = order is not None or (
            wanted is not None and stalls and wanted >= memory_policy.huge_faults_per_stall_share * stalls
        )
        if policy.enabled != "never" and stalls and wanted is not None and likely:
            yield _finding(model, taken_ns, stalls, wanted)
        else:
            yield Silence(
                "THP-STALL",
                f"{duration(taken_ns)} of compaction, {_number(stalls)} stalls and {_number(wanted)} huge page faults"
                " on"
                " the host: other large pages are possible",
                "perfdiag latency --stacks   (the stacks show the users of large pages)",
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
    """Return how many faults of the host got a huge page or failed to."""
    counts = [model.facts.vmstat_delta(name) for name in ("thp_fault_alloc", "thp_fault_fallback")]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _details(model: Model, stalls: int | None) -> str:
    """Return "0 compaction stalls on the host, 12 huge page faults, khugepaged 0 % of a CPU", as far as known."""
    found = [] if stalls is None else [f"{stalls:,} compaction stalls on the host"]
    if model.measured("compaction"):
        found.append(f"compaction {percent(model.share(COMPACTION))} of busy time")
    made = model.facts.vmstat_delta("thp_fault_alloc")
    if made is not None:
        found.append(f"{made:,} huge page faults")
    split = model.facts.vmstat_delta("thp_split_page")
    if split:
        found.append(f"{split:,} split")
    thread = model.facts.kernel_threads.get("khugepaged")
    if thread and model.window_ns:
        found.append(f"khugepaged {percent(thread.cpu_ns / model.window_ns)} of a CPU")
    return ", ".join(found)


def _finding(model: Model, ns: int, stalls: int, wanted: int) -> Finding:
    ask = fix("use huge pages only where the program asks: madvise(MADV_HUGEPAGE)")
    return conclude(
        model,
        {COMPACTION: ns},
        headline="Threads compact memory for transparent huge pages",
        claim=f"Threads of {subject(model)} compacted memory for {duration(ns)} to get transparent huge pages.",
        mechanism=Mechanism.LIMIT,
        doubts=["stalls and faults are counted for the whole host"],
        evidence=[
            waits(together(model.rows_of(COMPACTION)), "compactions"),
            Evidence(f"{stalls:,} compaction stalls (whole host)", float(stalls), "count", "/proc/vmstat"),
            Evidence(f"{wanted:,} huge page faults (whole host)", float(wanted), "count", "/proc/vmstat"),
        ],
        remedies=[*made_later(model), ask],
        alternatives=["other large pages: driver buffers, hugetlbfs"],
        verify=time_under(model, COMPACTION),
    )
