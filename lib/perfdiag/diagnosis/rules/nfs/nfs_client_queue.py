"""NFS-CLIENT-QUEUE: NFS calls wait in this host before they are sent."""

from collections.abc import Iterable, Mapping

from perfdiag.diagnosis.evidence.fix_checks import shorter
from perfdiag.diagnosis.evidence.nfs.mount_calls import usual_ns
from perfdiag.diagnosis.evidence.nfs.mount_sentences import calls_evidence, doubts, mount_evidence, trip_evidence
from perfdiag.diagnosis.evidence.nfs.small_transfers import small_transfers
from perfdiag.diagnosis.evidence.nfs.wait_parts import NFS, Use, uses
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import nfs_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import duration, fault, fix, little, plain, worth
from perfdiag.model.model import Model

ID = "NFS-CLIENT-QUEUE"


@rule(
    ID,
    title="NFS calls wait in this host before they are sent",
    accounts=NFS,
    meaning=(
        "NFS calls had not left this host yet: all slots were in use, large calls before them filled the connection,"
        " or there was no connection. A fault from 1 ms per call on, if the server answers in time, or the queue is"
        " twice as long as the answer."
    ),
    measured=(
        "The target's waits by mount, with the kernel's queue time of each call, and the mount's counters of slots,"
        " sends and connections (/proc/self/mountstats)."
    ),
    alternatives="Slow answers fill slots, too. CPUs are too busy to send, or the link is full.",
    remedies="More connections (nconnect), more slots, or fewer calls at once.",
    verify="Calls wait less in the queue of this host (avg queue in nfsiostat 1).",
)
def client_queue(model: Model) -> Iterable[Outcome]:
    """Judge waits by the queue time of their mount's calls; one finding per mount."""
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
        yield Silence(ID, "NFS calls were not counted", "perfdiag check (feature nfs); nfsiostat 1")
        return
    queue_ns = sum(use.parts(account).queue_ns for use in counted for account in NFS)
    yield little(model, ID, "NFS calls in the queue of this host", queue_ns)


def _queued(use: Use) -> Mapping[str, float]:
    """Return the queue time by account, of calls with a longer queue than answer, and answers in time; or with so much
    longer a queue that it is the client's limit, whatever each answer takes."""
    found = {}
    for account in NFS:
        calls = use.calls(*use.names(account))
        late = usual_ns(calls.wire) - use.trip_ns >= nfs_policy.slow_commit_ns
        longer = not late and calls.queue.sum_ns >= calls.wire.sum_ns
        if (longer or use.is_mostly_queued(account)) and usual_ns(calls.queue) >= nfs_policy.slow_queue_ns:
            found[account] = use.parts(account).queue_ns
    return found


def _finding(model: Model, use: Use, parts: Mapping[str, float], claimed_ns: int) -> Finding:
    names = list(dict.fromkeys(name for account in parts for name in use.names(account)))
    queue_ns = usual_ns(use.calls(*names).queue)
    (why, remedies), small = _why(model, use), small_transfers(use, names)
    return conclude(
        model,
        use.claims(parts),
        headline=small.headline if small else f"NFS calls to {use.in_brief} queue in this host before they are sent",
        claim=f"Calls to {use.in_brief} wait {duration(queue_ns)} in the queue of this host{why}."
        + (f" {small.headline}." if small else ""),
        mechanism=Mechanism.MANY if small else Mechanism.LIMIT,
        severity=fault(model, claimed_ns),
        doubts=doubts(model, use),
        evidence=[
            *calls_evidence(use, names),
            *([small.evidence] if small else []),
            *_counters(use),
            *trip_evidence(use),
            *mount_evidence(use),
        ],
        remedies=[small.remedy] if small else remedies,
        alternatives=["CPUs are too busy to send (CPU-CONTENTION)", "a full link"],
        verify=shorter(model, f"calls in the queue to {use.in_brief}", queue_ns, nfs_policy.slow_queue_ns),
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
    """Return the reason of the queue, as far as counted, and the remedies."""
    transport = use.mount.transport if use.mount else None
    more = fix("mount with nconnect=4, or more than now (the default is one connection)")
    fewer = fix("send fewer calls at once: larger reads and writes, fewer writers")
    if transport is None or not transport.sends:
        return "", [more, fewer]
    if transport.connects:
        return ": the connection broke and was restored", [
            fix("find why connections to the server break: dmesg on both hosts, ss -ti dport = :2049")
        ]
    if (transport.backlog or 0) >= nfs_policy.queued_calls_share * transport.sends:
        return ": all slots are in use", [_slots(model, use), fewer]
    if (transport.sending or 0) >= nfs_policy.queued_calls_share * transport.sends:
        return ": earlier calls fill the connection", [more, fewer]
    if use.options.get("vers", "").startswith("4"):  # a session's slots have no counter
        return ": probably all session slots are in use", [_slots(model, use), more, fewer]
    return "", [more, fewer]


def _slots(model: Model, use: Use) -> Remedy:
    session = use.options.get("vers", "").startswith("4")
    path = "/sys/module/nfs/parameters/max_session_slots" if session else "/proc/sys/sunrpc/tcp_max_slot_table_entries"
    present = model.facts.texts.word_if_recorded(path)
    now = f" (now {plain(present)})" if present else ""
    server = "; the server may grant fewer" if session else ""
    return fix(f"raise {path}{now}, then unmount and mount again{server}")
