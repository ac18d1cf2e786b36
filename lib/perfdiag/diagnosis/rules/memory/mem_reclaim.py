"""MEM-RECLAIM: threads free memory themselves (direct reclaim)."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import steady
from perfdiag.diagnosis.evidence.memory.host_memory import hidden_evidence, hidden_words, less_on_host
from perfdiag.diagnosis.evidence.target import subject, sysctl
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Evidence, Mechanism, Outcome, Remedy, rule
from perfdiag.diagnosis.significance import duration, little, size, together, waits, worth
from perfdiag.facts.texts import number
from perfdiag.model.model import Model

RECLAIM = "memory.reclaim"

# 1 % watermarks wake kswapd ten times earlier than the default 0.1 %.
WATERMARK_SCALE = 100


@rule(
    "MEM-RECLAIM",
    title="Threads free memory themselves (direct reclaim)",
    accounts=(RECLAIM,),
    meaning=(
        "Free memory ran out faster than kswapd could free it, so threads of the target reclaim memory themselves"
        " before they get any."
    ),
    measured=(
        "Time in direct reclaim per thread, running or blocked, with the host's allocation stalls and the pages freed"
        " by kswapd and by threads."
    ),
    alternatives=(
        "A cgroup limit (MEM-CGROUP-LIMIT), one full memory node beside an empty one, or slow writeback"
        " (MEM-DIRTY-THROTTLE)."
    ),
    remedies="Use less memory, add memory, or wake kswapd earlier.",
    verify="allocstall in /proc/vmstat stops growing.",
    met=False,
    needs=("reclaim", f"{RECLAIM} was not measured"),
)
def reclaim(model: Model) -> Iterable[Outcome]:
    """Judge direct reclaim, with the work of kswapd meanwhile."""
    rows = model.rows_of(RECLAIM)
    taken_ns = model.ns(RECLAIM)
    if not worth(model, taken_ns):
        yield little(model, "MEM-RECLAIM", RECLAIM, model.ns(RECLAIM))
        return
    evidence = [waits(together(rows), "reclaims")]
    stalls = model.facts.vmstat_delta("allocstall")
    if stalls is not None:
        evidence.append(Evidence(f"{stalls:,} allocation stalls (whole host)", float(stalls), "count", "/proc/vmstat"))
    evidence += _freed_evidence(model)
    available = model.facts.meminfo("MemAvailable")
    if available is not None:
        text = f"{size(available)} available at the end"
        evidence.append(Evidence(text, float(available), "bytes", "/proc/meminfo"))
    evidence += hidden_evidence(model)
    yield conclude(
        model,
        {RECLAIM: taken_ns},
        headline=f"Threads of {subject(model)} must free memory themselves (direct reclaim){hidden_words(model)}",
        claim=f"Threads of {subject(model)} spent {duration(taken_ns)} in direct reclaim.",
        mechanism=Mechanism.LIMIT,
        evidence=evidence,
        remedies=_reclaim_remedies(model),
        alternatives=["one memory node is full, another is not", "dirty pages wait for writeback"],
        verify=steady("/proc/vmstat", "allocstall"),
    )


def _freed_evidence(model: Model) -> list[Evidence]:
    """Return how much kswapd and threads freed: mostly threads means kswapd cannot keep up."""
    counters = ("pgsteal_kswapd", "pgscan_kswapd", "pgsteal_direct", "pgscan_direct")
    own, own_scanned, direct, scanned = (model.facts.vmstat_delta(name) for name in counters)
    if own is None or own_scanned is None or direct is None or scanned is None:
        return []
    text = (
        f"{own:,} of {own_scanned:,} scanned pages freed by kswapd, {direct:,} of {scanned:,} by threads (whole host)"
    )
    return [Evidence(text, float(direct), "count", "/proc/vmstat")]


def _reclaim_remedies(model: Model) -> list[Remedy]:
    present = number(model.facts.sysctl("vm/watermark_scale_factor"))
    remedies = less_on_host(model)
    if present is not None and 0 <= present < WATERMARK_SCALE:
        remedies.insert(0, sysctl("vm.watermark_scale_factor", WATERMARK_SCALE, present))
    return remedies
