"""A rule on memory that comes back from swap."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.memory.refaults import SHORT, reclaimed
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.rule import (
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    rule,
)
from perfdiag.diagnosis.significance import (
    attempt,
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

SWAP_IN = "memory.swap_in"

# With less than this the kernel swaps anonymous memory only when the page cache alone cannot give enough.
LOW_SWAPPINESS = 10


@rule(
    "MEM-SWAP-IN",
    title="Memory of the target comes back from swap",
    accounts=(SWAP_IN,),
    meaning="Threads touch their own memory, which had been swapped out, and wait until it is read back. A page swapped"
    " out while the window ran means that memory is short now; without any, it is a shortage of the past that is still"
    " being paid for.",
    measured="Waits of memory.swap_in over the window, with the host's pages swapped in and out in the same window and"
    " the target's memory still in swap at its end.",
    alternatives="A shortage that has passed; a cgroup's own limit (MEM-CGROUP-LIMIT); swap on a slow device.",
    remedies="Give more memory or use less; swap less eagerly; put swap on a fast device or zram.",
    verify="vmstat 1: si and so stay at 0.",
)
def swap_in(model: Model) -> Iterable[Outcome]:
    """Join swap-in waits with swap traffic."""
    rows = model.rows_of(SWAP_IN)
    taken_ns = total_ns(rows)
    if not worth(model, taken_ns):
        yield fine(model, "MEM-SWAP-IN", "waiting for swap", SWAP_IN)
        return
    swap = model.facts.swap
    evidence = [waits(together(rows), "waits for pages from swap")]
    out = swap.pages_out if swap else None
    if swap and swap.pages_in is not None and out is not None:
        evidence.append(
            Evidence(
                f"{swap.pages_in:,} pages swapped in, {out:,} out (whole host)",
                float(swap.pages_in),
                "count",
                "/proc/vmstat",
            )
        )
    left = sum(process.swapped_bytes or 0 for process in model.facts.processes.values())
    if left:
        evidence.append(
            Evidence(f"{size(left)} of {subject(model)} still in swap", float(left), "bytes", "/proc/PID/status")
        )
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        ["" if out is not None else "not known whether memory is short now: /proc/vmstat has no swap counters"],
    )
    stolen = reclaimed(model)
    by_request = out is not None and stolen is not None and stolen < SHORT * out
    if by_request:
        text = f"{stolen:,} pages were reclaimed for want of memory in the window (whole host)"
        evidence.append(Evidence(text, float(stolen or 0), "count", "/proc/vmstat"))
    yield Finding(
        "MEM-SWAP-IN",
        fault(model, taken_ns),
        confidence,
        f"{subject(model, begin=True)}'s own memory comes back from swap: {duration(taken_ns)} of waiting."
        f"{_when(out, by_request=by_request)}",
        claims_of(rows),
        evidence,
        _swap_remedies(model, short_now=bool(out) and not by_request),
        limits=limits,
        alternatives=[f"a cgroup limit that pushes {subject(model)} out", "a slow swap device"],
        verify="vmstat 1: columns si and so stay at 0",
        headline=f"Memory of {subject(model)} comes back from swap",
        mechanism=Mechanism.LIMIT,
    )


def _when(out: int | None, *, by_request: bool) -> str:
    if out is None:
        return ""
    if by_request:
        return " Pages are swapped out by request (madvise, DAMON): none were reclaimed for want of memory."
    if out:
        return " Pages are still being swapped out: memory is short now."
    return " Nothing was swapped out in the window: the shortage has passed, and this ends when all is back."


def _swap_remedies(model: Model, *, short_now: bool) -> list[Remedy]:
    swap = model.facts.swap
    remedies = [fix("give the host more memory, or find who uses it: ps -eo pid,rss,comm --sort -rss | head")]
    if short_now and swap and swap.swappiness is not None and swap.swappiness > LOW_SWAPPINESS:
        low, present = (f"sysctl -w vm.swappiness={value}" for value in (LOW_SWAPPINESS, swap.swappiness))
        remedies.insert(0, attempt(low, present, f"vm.swappiness = {swap.swappiness}"))
    return remedies


__all__ = ["swap_in"]
