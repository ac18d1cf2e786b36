"""A rule on the kernel's search for equal pages (KSM): what it costs the target, or that it costs nothing."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.runqueue.competition import comm_of
from perfdiag.diagnosis.evidence.target import again, setting
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Other,
    Outcome,
    Relation,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import (
    claims_of,
    duration,
    fault,
    fix,
    judged,
    percent,
    together,
    total_ns,
    waits,
    worth,
)
from perfdiag.facts.host_facts import SamePageMerging
from perfdiag.model.model import Model, Row

THREAD = "ksmd"


@rule(
    "KSM-SCAN",
    title="Threads wait behind the kernel's search for equal pages",
    accounts=("runq.busy",),
    meaning="Kernel same-page merging (KSM) lets its thread ksmd compare the pages of guests and keep one of equal"
    " ones. It takes CPU time, and whoever writes to a merged page has to copy it first.",
    measured="Time in the run queue while ksmd had the CPU, by the ledger, over the whole window; beside it the CPU"
    " time of ksmd, the pages that are merged, and those that were copied again (cow_ksm, whole host), begin to end.",
    alternatives="Other neighbours: they have findings of their own.",
    remedies="Scan fewer pages at once, or switch it off: merged pages stay merged until they are written to.",
    verify="The CPU time of ksmd in the next report, and runq.busy behind it.",
    beats=("CPU-CONTENTION",),
)
def merging(model: Model) -> Iterable[Outcome]:
    """Join waits behind ksmd with what KSM says of itself."""
    facts = model.facts.same_page_merging
    rows = [row for row in model.rows_of("runq.busy") if _is_behind(row)]
    if worth(model, total_ns(rows)):
        yield _finding(model, facts, rows)
    elif facts is None:
        reason = model.facts.reason("same_page_merging") or "not recorded"
        yield Silence(
            "KSM-SCAN", f"whether equal pages are searched for is not known: {reason}", "cat /sys/kernel/mm/ksm/run"
        )
    else:
        part = total_ns(rows) / model.busy_ns if model.busy_ns else 0.0
        text = f"KSM {_state(model, facts)}; behind {THREAD} {percent(part)} of busy time"
        yield Check("KSM-SCAN", text, part, "share")


def _is_behind(row: Row) -> bool:
    return row.key.startswith("task:") and comm_of(row.key) == THREAD


def _state(model: Model, facts: SamePageMerging) -> str:
    """Return "on, ksmd 12 % of a CPU, 40,321 pages merged"; what is not known is left out."""
    found = ["on" if facts.running else "off" if facts.running is not None else "in a state not known"]
    used_ns = model.facts.kernel_threads_ns.get(THREAD)
    if facts.running and used_ns is not None and model.window_ns:
        found.append(f"{THREAD} {percent(used_ns / model.window_ns)} of a CPU")
    if facts.pages_sharing is not None:
        found.append(f"{facts.pages_sharing:,} pages merged")
    copied = model.facts.vmstat_delta("cow_ksm")
    if copied:
        found.append(f"{copied:,} copied again")
    return ", ".join(found)


def _finding(model: Model, facts: SamePageMerging | None, rows: list[Row]) -> Finding:
    ns = total_ns(rows)
    used_ns = model.facts.kernel_threads_ns.get(THREAD)
    confidence, limits = judged(model, Confidence.HIGH)
    evidence = [waits(together(rows), f"waits behind {THREAD}")]
    if used_ns is not None and model.window_ns:
        part = used_ns / model.window_ns
        evidence.append(
            Evidence(f"{THREAD} used {percent(part)} of a CPU", float(used_ns), "ns", "/proc/PID/schedstat")
        )
    if facts is not None and facts.pages_sharing is not None:
        merged = facts.pages_sharing
        evidence.append(Evidence(f"{merged:,} pages merged into others", float(merged), "count", "/sys/kernel/mm/ksm"))
    remedies = [fix("scan less at once: pages_to_scan and sleep_millisecs of /sys/kernel/mm/ksm, or ksmtuned")]
    if facts is not None and facts.running:
        remedies.insert(0, setting("/sys/kernel/mm/ksm/run", "0", "1"))
    return Finding(
        "KSM-SCAN",
        fault(model, ns),
        confidence,
        f"Threads waited {duration(ns)} for a CPU that searched for equal pages ({THREAD}).",
        claims_of(rows),
        evidence,
        remedies,
        alternatives=["ksmd ran there because no other CPU was free"],
        limits=limits,
        verify=f"{again(model)}: runq.busy behind {THREAD}",
        headline="Threads wait for CPUs on which ksmd scans for equal pages",
        mechanism=Mechanism.BUSY,
        others=[Other(0, THREAD, Relation.COMPETITOR)],
    )


__all__ = ["merging"]
