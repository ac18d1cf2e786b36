"""MEM-SWAP-IN: the target waits for its memory in swap."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.memory.host_memory import LARGEST, hidden_evidence, hidden_words, less_on_host
from perfdiag.diagnosis.evidence.memory.refaults import reclaimed
from perfdiag.diagnosis.evidence.target import subject, sysctl
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.rule import (
    Evidence,
    Mechanism,
    Outcome,
    Remedy,
    rule,
)
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

SWAP_IN = "memory.swap_in"

# Below this the kernel swaps only if dropping page cache is not enough.
LOW_SWAPPINESS = 10


@rule(
    "MEM-SWAP-IN",
    title="The target waits for its memory in swap",
    accounts=(SWAP_IN,),
    meaning=(
        "Threads touch their own memory in swap and wait until it is read back. If pages are swapped out in the"
        " window, memory is short now, unless a request (madvise, DAMON) did it; if not, a past shortage still costs"
        " time."
    ),
    measured=(
        "Waits in memory.swap_in, with the host's pages swapped in and out, and the target's memory still in swap."
    ),
    alternatives="A past shortage, a cgroup limit (MEM-CGROUP-LIMIT), or swap on a slow device.",
    remedies="Add memory, use less, lower vm.swappiness, or put swap on a fast device or zram.",
    verify="si and so in vmstat 1 stay at 0.",
)
def swap_in(model: Model) -> Iterable[Outcome]:
    """Judge swap-in waits by swap traffic."""
    rows = model.rows_of(SWAP_IN)
    taken_ns = total_ns(rows)
    if not worth(model, taken_ns):
        yield fine(model, "MEM-SWAP-IN", "swap-in", SWAP_IN)
        return
    swap = model.facts.swap
    evidence = [waits(together(rows), "swap-ins")]
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
    stolen = reclaimed(model)
    by_request = out is not None and stolen is not None and stolen < memory_policy.refaulted_again_share * out
    if by_request:
        text = f"{stolen:,} pages reclaimed for lack of memory (whole host)"
        evidence.append(Evidence(text, float(stolen or 0), "count", "/proc/vmstat"))
    short_now = bool(out) and not by_request
    evidence += hidden_evidence(model) if short_now else []
    yield conclude(
        model,
        claims_of(rows),
        headline=f"{subject(model, begin=True)} waits for its memory in swap{hidden_words(model) if short_now else ''}",
        claim=(
            f"{subject(model, begin=True)} waited {duration(taken_ns)} for its own memory in swap."
            f"{_when(out, by_request=by_request)}"
        ),
        mechanism=Mechanism.LIMIT,
        doubts=["" if out is not None else "/proc/vmstat has no swap counters: a present shortage is unknown"],
        evidence=evidence,
        remedies=_swap_remedies(model, short_now=short_now),
        alternatives=[f"a cgroup limit swaps {subject(model)} out", "a slow swap device"],
        verify=checked("vmstat 1", "si and so stay at 0"),
    )


def _when(out: int | None, *, by_request: bool) -> str:
    if out is None:
        return ""
    if by_request:
        return " A request swapped pages out (madvise, DAMON); the kernel reclaimed none for lack of memory."
    if out:
        return " The host still swaps out: memory is short now."
    return " The host swapped nothing out: the shortage is over, and this will end."


def _swap_remedies(model: Model, *, short_now: bool) -> list[Remedy]:
    swap = model.facts.swap
    remedies = less_on_host(model) if short_now else [fix(LARGEST)]
    if short_now and swap and swap.swappiness is not None and swap.swappiness > LOW_SWAPPINESS:
        remedies.insert(0, sysctl("vm.swappiness", LOW_SWAPPINESS, swap.swappiness))
    return remedies
