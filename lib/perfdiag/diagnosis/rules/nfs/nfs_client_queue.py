"""A rule on NFS calls that wait in this host before they are sent: no slot, no connection, a full link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfdiag.diagnosis.evidence.nfs.mount_calls import usual_ns
from perfdiag.diagnosis.evidence.nfs.mount_sentences import calls_evidence, doubts, mount_evidence, trip_evidence
from perfdiag.diagnosis.evidence.nfs.wait_parts import NFS, SLOW_COMMIT_NS, Use, uses
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import duration, fault, fix, judged, percent, plain, worth
from perfdiag.model.model import Model

ID = "NFS-CLIENT-QUEUE"
# A call is sent within microseconds unless something is short.
SLOW_QUEUE_NS = 1_000_000
# From a tenth of the calls on, what the kernel counted is what they waited for.
OFTEN = 0.1


@rule(
    ID,
    title="NFS calls queue in this host before they are sent",
    accounts=NFS,
    meaning="Threads wait for NFS calls that had not left this host yet: all slots of the session or connection were"
    " taken, large calls before them still had to be written to the connection, or there was no connection. A fault"
    " from 1 ms a call on, where the server's answers are in time: before slow answers the queue is theirs.",
    measured="Joins the target's waits by mount, over the whole window, with the time each call of that mount spent"
    " between being asked for and sent (the kernel's own clocks), and with the mount's counters of calls without a"
    " slot, calls behind others and connections begun (/proc/self/mountstats, begin to end).",
    alternatives="A server that answers slowly fills slots, too; CPUs of this host that are too busy to send; a link"
    " that is full.",
    remedies="More connections (nconnect), more slots, fewer calls at once.",
    verify="queue in the evidence of the next report; nfsiostat 1 (avg queue).",
)
def client_queue(model: Model) -> Iterable[Outcome]:
    """Join waits with the queue time of their mount's calls; one finding a mount."""
    found = False
    counted = [use for use in uses(model) if use.probe]
    for use in counted:
        parts = _queued(use)
        claimed_ns = sum(use.claims(parts).values())
        if worth(model, claimed_ns):
            found = True
            yield _finding(model, use, parts, claimed_ns)
    if found:
        return
    if not counted and worth(model, model.ns(*NFS)):
        yield Silence(ID, "the calls of no NFS mount were counted", "see perfdiag check, feature nfs; nfsiostat 1")
        return
    queue_ns = sum(use.parts(account).queue_ns for use in counted for account in NFS)
    share = queue_ns / model.busy_ns if model.busy_ns else 0.0
    yield Check(ID, f"NFS calls waited in this host for {percent(share)} of busy time", share, "share")


def _queued(use: Use) -> Mapping[str, float]:
    """Return the queue time by account, of those whose calls queue longer than they take to be answered, in time."""
    found = {}
    for account in NFS:
        calls = use.calls(*use.names(account))
        late = usual_ns(calls.wire) - use.trip_ns >= SLOW_COMMIT_NS
        if not late and usual_ns(calls.queue) >= SLOW_QUEUE_NS and calls.queue.sum_ns >= calls.wire.sum_ns:
            found[account] = use.parts(account).queue_ns
    return found


def _finding(model: Model, use: Use, parts: Mapping[str, float], claimed_ns: int) -> Finding:
    names = list(dict.fromkeys(name for account in parts for name in use.names(account)))
    confidence, limits = judged(model, Confidence.HIGH, doubts(model, use))
    queue_ns = usual_ns(use.calls(*names).queue)
    why, remedies = _why(model, use)
    return Finding(
        ID,
        fault(model, claimed_ns),
        confidence,
        f"Calls to {use.name} wait {duration(queue_ns)} in this host before they are sent{why}.",
        use.claims(parts),
        [*calls_evidence(use, names), *_counters(use), *trip_evidence(use), *mount_evidence(use)],
        remedies,
        alternatives=["CPUs of this host too busy to send (CPU-CONTENTION)", "a link that is full"],
        limits=limits,
        verify=f"{again(model)}: queue of {plain(', '.join(names[:3]))} on {use.name}",
        headline=f"Calls to {use.in_brief} queue in this host before they are sent",
        mechanism=Mechanism.LIMIT,
    )


def _counters(use: Use) -> list[Evidence]:
    transport = use.mount.transport if use.mount else None
    if transport is None or transport.sends is None:
        return []
    texts = [
        f"{transport.connections} connection{'s' * (transport.connections > 1)}",
        f"{transport.most_slots} slots of one in use at most" if transport.most_slots is not None else "",
        f"queue for a slot {transport.backlog / transport.sends:.2g} calls" if transport.backlog else "",
        f"queue for the connection {transport.sending / transport.sends:.2g} calls" if transport.sending else "",
        f"{transport.connects} connects" if transport.connects else "",
    ]
    text = ", ".join(part for part in texts if part)
    return [
        Evidence(f"{transport.sends:,} sends over {text}", float(transport.sends), "count", "/proc/self/mountstats")
    ]


def _why(model: Model, use: Use) -> tuple[str, list[Remedy]]:
    """Return what the queue is for, as far as counters tell, and what to do."""
    transport = use.mount.transport if use.mount else None
    more = fix("mount with nconnect=4 or more (or more than now): one connection for all calls is the usual")
    fewer = fix("fewer calls at once from this host: larger reads and writes, fewer writers")
    if transport is None or not transport.sends:
        return "", [more, fewer]
    if transport.connects:
        return ": its connection broke and was made anew", [
            fix("look at why connections to the server break: dmesg here and there, ss -ti dport = :2049")
        ]
    if (transport.backlog or 0) >= OFTEN * transport.sends:
        return ": all slots are taken", [_slots(model, use), fewer]
    if (transport.sending or 0) >= OFTEN * transport.sends:
        return ": the calls before them have to be written to the connection first", [more, fewer]
    if use.options.get("vers", "").startswith("4"):  # a session's slots have no counter
        return ": most likely all slots of the session are taken", [_slots(model, use), more, fewer]
    return "", [more, fewer]


def _slots(model: Model, use: Use) -> Remedy:
    session = use.options.get("vers", "").startswith("4")
    path = "/sys/module/nfs/parameters/max_session_slots" if session else "/proc/sys/sunrpc/tcp_max_slot_table_entries"
    present = model.facts.texts.word(path) if path in model.facts.texts else None
    now = f" (now {plain(present)})" if present else ""
    server = "; the server may grant fewer" if session else ""
    return fix(f"raise {path}{now}, then unmount and mount again{server}")


__all__ = ["client_queue"]
