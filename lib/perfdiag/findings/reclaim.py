"""A rule on memory that threads have to free, or to make room in, themselves."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.findings.base import Check, Confidence, Evidence, Finding, Outcome, Remedy, Silence, rule
from perfdiag.findings.target import setting
from perfdiag.findings.weigh import attempt, duration, fault, fix, judged, percent, size, together, waits, worth
from perfdiag.model import Model

RECLAIM, COMPACTION = "memory.reclaim", "memory.compaction"

# Watermarks of a hundredth of memory wake kswapd a hundred times earlier than the default's thousandth does.
WATERMARK_SCALE = 100


@rule(
    "MEM-RECLAIM",
    title="Threads free memory themselves before they get any",
    accounts=(RECLAIM, COMPACTION),
    meaning="Free memory ran out faster than the kernel's background thread could make some, so that threads of the"
    " target reclaim it themselves (direct reclaim), or move pages to make a large one (compaction). CPU time burnt"
    " there is part of it.",
    measured="Time between begin and end of direct reclaim and of compaction in the target's threads, running or"
    " blocked; joined with the host's counters of allocation stalls and scanned pages in the same window.",
    alternatives="A cgroup's own limit is MEM-CGROUP-LIMIT; one memory node full while another is empty; dirty pages"
    " that cannot be written fast enough (MEM-DIRTY-THROTTLE).",
    remedies="Use less memory or have more; wake the background thread earlier; let huge pages be made in the"
    " background.",
    verify="grep -e allocstall -e compact_stall /proc/vmstat, twice: they stand still.",
)
def reclaim(model: Model) -> Iterable[Outcome]:
    """One finding for reclaim, one for compaction."""
    for account, feature, counter, what, remedies in (
        (RECLAIM, "reclaim", "allocstall", "free memory themselves (direct reclaim)", _reclaim_remedies),
        (COMPACTION, "compaction", "compact_stall", "move pages to make large ones (compaction)", _compaction_remedies),
    ):
        if not model.measured(feature):
            yield Silence("MEM-RECLAIM", f"{account} was not measured", f"see perfdiag check, feature {feature}")
            continue
        rows = model.rows_of(account)
        taken_ns = model.ns(account)
        if not worth(model, taken_ns):
            yield Check(
                "MEM-RECLAIM", f"{account} {percent(model.share(account))} of busy time", model.share(account), "share"
            )
            continue
        evidence = [waits(together(rows), f"times in {account}")]
        stalls = model.facts.vmstat_delta(counter)
        if stalls is not None:
            evidence.append(
                Evidence(f"{counter} rose by {stalls:,} (whole host)", float(stalls), "count", "/proc/vmstat")
            )
        available = model.facts.meminfo("MemAvailable")
        if available is not None:
            evidence.append(
                Evidence(f"{size(available)} available at the end", float(available), "bytes", "/proc/meminfo")
            )
        confidence, limits = judged(model, Confidence.HIGH)
        yield Finding(
            "MEM-RECLAIM",
            fault(model, taken_ns),
            confidence,
            f"Threads of the target {what}: {duration(taken_ns)}.",
            {account: taken_ns},
            evidence,
            remedies(model),
            alternatives=["one memory node is full while another is not", "dirty pages wait to be written"],
            limits=limits,
            verify=f"grep {counter} /proc/vmstat, twice: it stands still",
        )


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


def _compaction_remedies(model: Model) -> list[Remedy]:
    pages = model.facts.transparent_huge_pages
    remedies = [fix("find who asks for large pages: huge pages of the program itself, or buffers of network drivers")]
    if pages and pages.defrag in ("always", "madvise", "defer+madvise") and pages.enabled != "never":
        path = "/sys/kernel/mm/transparent_hugepage/defrag"
        remedies.insert(0, setting(path, "defer", pages.defrag))
    return remedies


__all__ = ["reclaim"]
