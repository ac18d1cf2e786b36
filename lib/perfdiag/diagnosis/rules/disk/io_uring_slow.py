"""A rule on waits for completions of asynchronous I/O."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.disk.backing_disks import requests_of
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import (
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Severity,
    rule,
)
from perfdiag.diagnosis.significance import (
    about,
    claims_of,
    duration,
    fault,
    fine,
    fix,
    judged,
    plain,
    together,
    total_ns,
    typical_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model

URING = "wait.io_uring"

# A spinning disk answers in 10 ms: a completion that takes longer met a queue, a slow device or a slow peer.
SLOW_COMPLETION_NS = 10_000_000
# A device explains waits if its requests take as long, on average, but for those that were under way before the wait.
EXPLAINING_PART = 0.5


@rule(
    "IO-URING-SLOW",
    title="Completions of asynchronous I/O are waited for",
    accounts=(URING,),
    meaning="Threads wait in io_uring_enter or io_getevents while requests are in flight. Short waits are profile;"
    " from 10 ms on a device is slow, if its own requests take half as long. Else a peer or file system can be slow:"
    " cannot tell. With nothing in flight but polls, accepts, receives and timeouts the wait is for work and counted as"
    " idle; where requests could not be counted it can be so, too, and the finding says that.",
    measured="Waits of wait.io_uring with requests in flight over the window, joined with the block requests of the"
    " same window: their time per request says whether the device explains the wait.",
    alternatives="Work done by io_uring's own kernel threads, which are not in these books.",
    remedies="See the DISK or NET findings for what the requests go to; submit fewer at once.",
    verify="perfdiag latency again: p50 of wait.io_uring.",
)
def io_uring(model: Model) -> Iterable[Outcome]:
    """Join completion waits with the time per block request: what no device explains accuses nobody."""
    rows = model.rows_of(URING)
    taken_ns = total_ns(rows)
    if not worth(model, taken_ns):
        yield fine(model, "IO-URING-SLOW", "waiting for completions", URING)
        return
    whole = together(rows)
    typical = typical_ns(whole)
    evidence = [waits(whole, "waits for completions")]
    busiest = max(model.devices, key=lambda device: device.queue_ns + device.service_ns, default=None)
    each = requests_of([busiest]).mean_ns if busiest and busiest.count else 0
    explained = each >= EXPLAINING_PART * typical
    uncounted = any(row.key != "inflight" for row in rows)
    untold = "" if explained or typical < SLOW_COMPLETION_NS else "; cannot tell for whom: no device takes so long"
    if busiest and each:
        evidence.append(
            Evidence(
                f"{model.facts.disk_name(busiest.device)} took {duration(each)} for each of {busiest.count:,}"
                f" {plain(busiest.operation)} requests",
                each,
                "ns",
                "block_rq_complete",
            )
        )
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            "what the requests were for (disk, peer) is not known",
            "in some waits requests could not be counted: there may have been none" if uncounted else "",
            "" if model.measured("block") else "block requests were not measured",
        ],
    )
    yield Finding(
        "IO-URING-SLOW",
        fault(model, taken_ns) if explained and typical >= SLOW_COMPLETION_NS else Severity.INFO,
        confidence,
        f"Threads wait {duration(taken_ns)} for completions of asynchronous I/O, half of it in waits of"
        f" {about(typical)}{untold}.",
        claims_of(rows),
        evidence,
        [fix("see the DISK and NET findings for what the requests go to; fewer requests in flight shorten each")],
        alternatives=["with requests that could not be counted: nobody wanted anything"] * uncounted,
        limits=limits,
        verify=f"{again(model)}: p50 of wait.io_uring",
        headline="Threads wait for completions of asynchronous I/O",
        mechanism=Mechanism.UNDETERMINED
        if untold
        else Mechanism.SLOW
        if typical >= SLOW_COMPLETION_NS
        else Mechanism.OTHERS,
    )


__all__ = ["io_uring"]
