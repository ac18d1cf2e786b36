"""KSM-SCAN: threads wait for CPUs used by ksmd."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import less
from perfdiag.diagnosis.evidence.target import setting
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import (
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
    fix,
    little,
    percent,
    together,
    total_ns,
    waits,
    worth,
)
from perfdiag.facts.host_facts import SamePageMerging
from perfdiag.facts.memory import KernelThread
from perfdiag.model.model import Model, Row

THREAD = "ksmd"


@rule(
    "KSM-SCAN",
    title="Threads wait for a CPU used by ksmd (page merging)",
    accounts=("runq.busy",),
    meaning=(
        "Kernel same-page merging (KSM) scans guest memory for equal pages in its thread ksmd. It costs CPU time, and"
        " a write to a merged page copies it first."
    ),
    measured=(
        "Time in the run queue while ksmd was on the CPU, with ksmd's CPU time, merged pages and copied pages"
        " (cow_ksm)."
    ),
    alternatives="ksmd ran there because no other CPU was free.",
    remedies="Scan fewer pages at once, or switch KSM off. Merged pages stay merged until written.",
    verify="The same work waits less behind ksmd.",
    beats=("CPU-CONTENTION",),
)
def merging(model: Model) -> Iterable[Outcome]:
    """Judge waits behind ksmd, the kernel's own thread and no process that calls itself so, with KSM's counters."""
    facts = model.facts.same_page_merging
    thread = model.facts.kernel_threads.get(THREAD)
    rows = model.rows_of("runq.busy", key=f"task:{thread.pid}:{THREAD}") if thread else []
    if thread and worth(model, total_ns(rows)):
        yield _finding(model, facts, thread, rows)
    elif facts is None:
        reason = model.facts.reason("same_page_merging") or "not recorded"
        yield Silence("KSM-SCAN", f"it is unknown whether KSM runs: {reason}", "cat /sys/kernel/mm/ksm/run")
    else:
        yield little(model, "KSM-SCAN", f"KSM {_state(model, facts)}; waits for it", total_ns(rows))


def _state(model: Model, facts: SamePageMerging) -> str:
    """Return "on, ksmd 12 % of a CPU, 40,321 pages merged", as far as known."""
    found = ["on" if facts.running else "off" if facts.running is not None else "in an unknown state"]
    thread = model.facts.kernel_threads.get(THREAD)
    if facts.running and thread and model.window_ns:
        found.append(f"{THREAD} {percent(thread.cpu_ns / model.window_ns)} of a CPU")
    if facts.pages_sharing is not None:
        found.append(f"{facts.pages_sharing:,} pages merged")
    copied = model.facts.vmstat_delta("cow_ksm")
    if copied:
        found.append(f"{copied:,} copied again")
    return ", ".join(found)


def _finding(model: Model, facts: SamePageMerging | None, thread: KernelThread, rows: list[Row]) -> Finding:
    ns = total_ns(rows)
    evidence = [waits(together(rows), f"waits behind {THREAD}")]
    if model.window_ns:
        text = f"{percent(thread.cpu_ns / model.window_ns)} of a CPU used by {THREAD}"
        evidence.append(Evidence(text, float(thread.cpu_ns), "ns", "/proc/PID/schedstat"))
    if facts is not None and facts.pages_sharing is not None:
        merged = facts.pages_sharing
        evidence.append(Evidence(f"{merged:,} pages merged", float(merged), "count", "/sys/kernel/mm/ksm"))
    remedies = [fix("scan less: lower pages_to_scan or raise sleep_millisecs in /sys/kernel/mm/ksm, or use ksmtuned")]
    if facts is not None and facts.running:
        remedies.insert(0, setting("/sys/kernel/mm/ksm/run", "0", "1"))
    return conclude(
        model,
        claims_of(rows),
        headline="Threads wait for CPUs used by ksmd to merge equal pages",
        claim=f"Runnable threads waited {duration(ns)} for CPUs used by {THREAD}.",
        mechanism=Mechanism.BUSY,
        evidence=evidence,
        remedies=remedies,
        alternatives=[f"{THREAD} ran there because no other CPU was free"],
        verify=less(model, f"waiting behind {THREAD}", ns),
        others=[Other(thread.pid, THREAD, Relation.COMPETITOR)],
    )
