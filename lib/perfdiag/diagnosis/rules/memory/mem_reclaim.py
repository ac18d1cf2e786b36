"""A rule on memory that threads have to free themselves."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import attempt, duration, fault, fix, judged, percent, size, together, waits, worth
from perfdiag.model.model import Model

RECLAIM = "memory.reclaim"

# Watermarks of a hundredth of memory wake kswapd a hundred times earlier than the default's thousandth does.
WATERMARK_SCALE = 100


@rule(
    "MEM-RECLAIM",
    title="Threads free memory themselves before they get any",
    accounts=(RECLAIM,),
    meaning="Free memory ran out faster than the kernel's background thread (kswapd) could make some, so that threads"
    " of the target reclaim it themselves (direct reclaim). CPU time burnt there is part of it.",
    measured="Time between begin and end of direct reclaim in the target's threads, running or blocked; joined with the"
    " host's counters of allocation stalls and of the pages that kswapd and that threads freed in the same window.",
    alternatives="A cgroup's own limit is MEM-CGROUP-LIMIT; one memory node full while another is empty; dirty pages"
    " that cannot be written fast enough (MEM-DIRTY-THROTTLE).",
    remedies="Use less memory or have more; wake the background thread earlier.",
    verify="grep -e allocstall /proc/vmstat, twice: it stands still.",
)
def reclaim(model: Model) -> Iterable[Outcome]:
    """Join direct reclaim with what the background did meanwhile."""
    if not model.measured("reclaim"):
        yield Silence("MEM-RECLAIM", f"{RECLAIM} was not measured", "see perfdiag check, feature reclaim")
        return
    rows = model.rows_of(RECLAIM)
    taken_ns = model.ns(RECLAIM)
    if not worth(model, taken_ns):
        share = model.share(RECLAIM)
        yield Check("MEM-RECLAIM", f"{RECLAIM} {percent(share)} of busy time", share, "share")
        return
    evidence = [waits(together(rows), f"times in {RECLAIM}")]
    stalls = model.facts.vmstat_delta("allocstall")
    if stalls is not None:
        evidence.append(Evidence(f"allocstall rose by {stalls:,} (whole host)", float(stalls), "count", "/proc/vmstat"))
    evidence += _freed_evidence(model)
    available = model.facts.meminfo("MemAvailable")
    if available is not None:
        text = f"{size(available)} available at the end"
        evidence.append(Evidence(text, float(available), "bytes", "/proc/meminfo"))
    confidence, limits = judged(model, Confidence.HIGH)
    yield Finding(
        "MEM-RECLAIM",
        fault(model, taken_ns),
        confidence,
        f"Threads of {subject(model)} free memory themselves (direct reclaim): {duration(taken_ns)}.",
        {RECLAIM: taken_ns},
        evidence,
        _reclaim_remedies(model),
        alternatives=["one memory node is full while another is not", "dirty pages wait to be written"],
        limits=limits,
        verify="grep allocstall /proc/vmstat, twice: it stands still",
        headline=f"Threads of {subject(model)} have to free memory themselves (direct reclaim)",
        mechanism=Mechanism.LIMIT,
    )


def _freed_evidence(model: Model) -> list[Evidence]:
    """Return who freed how much: all by threads means that kswapd cannot keep up, or finds nothing."""
    counters = ("pgsteal_kswapd", "pgscan_kswapd", "pgsteal_direct", "pgscan_direct")
    own, own_scanned, direct, scanned = (model.facts.vmstat_delta(name) for name in counters)
    if own is None or own_scanned is None or direct is None or scanned is None:
        return []
    text = (
        f"kswapd freed {own:,} of {own_scanned:,} pages that it looked at, threads {direct:,} of {scanned:,}"
        " (whole host)"
    )
    return [Evidence(text, float(direct), "count", "/proc/vmstat")]


def _reclaim_remedies(model: Model) -> list[Remedy]:
    present = model.facts.sysctl("vm/watermark_scale_factor")
    remedies = [fix("give the host more memory, or find who took it: ps -eo pid,rss,comm --sort -rss | head")]
    if present and present.isdigit() and int(present) < WATERMARK_SCALE:
        remedies.insert(
            0,
            attempt(
                f"sysctl -w vm.watermark_scale_factor={WATERMARK_SCALE}",
                f"sysctl -w vm.watermark_scale_factor={present}",
                f"vm.watermark_scale_factor = {present}",
            ),
        )
    return remedies


__all__ = ["reclaim"]
