"""IO-URING-SLOW: threads wait for completions of asynchronous I/O."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.disk.backing_disks import requests_of
from perfdiag.diagnosis.evidence.fix_checks import shorter
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.rule import (
    Evidence,
    Mechanism,
    Outcome,
    rule,
)
from perfdiag.diagnosis.significance import (
    about,
    claims_of,
    duration,
    fine,
    fix,
    plain,
    together,
    total_ns,
    typical_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model

URING = "wait.io_uring"


@rule(
    "IO-URING-SLOW",
    title="Threads wait for completions of asynchronous I/O",
    accounts=(URING,),
    meaning=(
        "Threads wait in io_uring_enter or io_getevents with requests in flight. From 10 ms on a device is slow, if"
        " its own requests take half as long; shorter waits are a profile. Otherwise a peer or file system may be slow"
        " (unknown). With only polls, accepts, receives and timeouts in flight the wait is idle; uncounted requests"
        " may be those, too."
    ),
    measured=(
        "Waits of wait.io_uring with requests in flight, joined with the time per block request in the same window."
    ),
    alternatives="Work in io_uring's own kernel threads, not recorded here.",
    remedies="See the disk and network findings for the target of the requests; submit fewer at once.",
    verify="Waits in wait.io_uring take less than 10 ms.",
)
def io_uring(model: Model) -> Iterable[Outcome]:
    """Judge completion waits by the time per block request; without a slow device the cause is unknown."""
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
    explained, slow = (
        each >= disk_policy.completion_explained_share * typical,
        typical >= disk_policy.slow_completion_ns,
    )
    uncounted = any(row.key != "inflight" for row in rows)
    untold = " No disk takes that long: the cause is unknown." if slow and not explained else ""
    if busiest and each:
        evidence.append(
            Evidence(
                f"{duration(each)} per {plain(busiest.operation)} on {model.facts.disk_name(busiest.device)}"
                f" ({busiest.count:,} requests)",
                each,
                "ns",
                "block_rq_complete",
            )
        )
    yield conclude(
        model,
        claims_of(rows),
        headline="Threads wait for completions of asynchronous I/O",
        claim=(
            f"Threads waited {duration(taken_ns)} for completions, half of it in waits of {about(typical)} or"
            f" more.{untold}"
        ),
        mechanism=Mechanism.UNDETERMINED if untold else Mechanism.SLOW if slow else Mechanism.OTHERS,
        departs=explained and slow,
        doubts=[
            "where the requests go (disk, peer) is unknown",
            "some waits may have had no request in flight (not counted)" if uncounted else "",
            "" if model.measured("block") else "block requests were not measured",
        ],
        evidence=evidence,
        remedies=[fix("see the disk and network findings for where the requests go; submit fewer at once")],
        alternatives=["idle waits without requests in flight"] * uncounted,
        verify=shorter(model, "waits in wait.io_uring", typical, disk_policy.slow_completion_ns),
    )
