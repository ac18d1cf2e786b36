"""Answers that are late because a large question goes out in few pieces a round trip: part of NET-CONGESTION.

A connection that begins, or that was idle for longer than its retransmission timeout, may have ten segments under way,
and twice as many in each round trip after that (tcp_slow_start(), tcp_cwnd_restart() in net/ipv4).  The peer has the
whole question as many round trips later as that takes, however fast it is.
"""

from collections.abc import Iterator
from math import ceil, log2

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.units import size
from perfdiag.diagnosis.evidence.fix_checks import shorter
from perfdiag.diagnosis.evidence.network.delayed_acks import RECEIVE
from perfdiag.diagnosis.evidence.network.peer_waits import PeerWaits, waits_for
from perfdiag.diagnosis.evidence.peers import connections_of
from perfdiag.diagnosis.evidence.questions import calls_to
from perfdiag.diagnosis.evidence.target import sysctl
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Confidence, Evidence, Finding, Mechanism, Remedy
from perfdiag.diagnosis.significance import about, brief, claims_of, duration, fault, fix, total_ns, waits, worth
from perfdiag.model.model import Model

FIRST_SEGMENTS, SEGMENT_BYTES = 10, 1448  # TCP_INIT_CWND; of an MTU of 1500 with timestamps
_AFTER_IDLE = "net.ipv4.tcp_slow_start_after_idle"


def slow_starts(model: Model) -> Iterator[Finding]:
    """Yield a finding for each peer that is asked from a small window, and waited for as long as that takes."""
    connections = connections_of(model)
    known = (row for row in model.rows_of("net.send", RECEIVE) if row.key in connections.sockets)
    asked = ((row.key, row) for row in known if connections.asked(row.key))
    for rows in groups_by_key(asked).values():
        if worth(model, total_ns(rows)) and (found := _slow_start(model, waits_for(model, connections, rows))):
            yield found


def keep_window(model: Model) -> list[Remedy]:
    """Return the trial that keeps the congestion window over pauses, unless it is kept, or not everywhere."""
    known = model.facts.sysctls(_AFTER_IDLE.replace(".", "/"))
    return [sysctl(_AFTER_IDLE, 0, 1, each.enter) for each in known if len(known) == 1 and each.value == "1"]


def _slow_start(model: Model, found: PeerWaits) -> Finding | None:
    """Return the finding of waits that are as long as questions of their size take from a small window; else None."""
    calls = calls_to(model, {row.key for row in found.rows})
    count, way_ns = sum(line.count for line in calls), found.round_trip_ns or 0
    bytes_each = sum(line.bytes_out for line in calls) // count if count else 0
    rounds = ceil(log2(1 + bytes_each / (FIRST_SEGMENTS * SEGMENT_BYTES)))
    takes_ns = rounds * way_ns
    small = any(0 < each.congestion_window <= network_policy.small_window_segments for each in found.sockets)
    received_ns = total_ns(row for row in found.rows if row.account == "net.receive")
    if (
        2 * received_ns < found.waits.sum_ns
        or not small
        or rounds < network_policy.slow_start_rounds
        or way_ns < network_policy.slow_answer_ns
        or not takes_ns / 2 <= found.typical_ns <= network_policy.slow_start_variation_factor * takes_ns
    ):
        return None
    anew = 2 * sum(line.connects for line in calls) >= count
    begins = "each connection begins" if anew else "it begins again after each pause"
    keep = [fix("keep connections open: a session, a pool")] if anew else []
    return conclude(
        model,
        claims_of(found.rows),
        headline=f"{size(bytes_each)} to {brief(found.name)} take {rounds} round trips: the congestion window is small",
        claim=(
            f"{brief(found.name)} is asked with {size(bytes_each)} each time, which take {rounds} round trips of"
            f" {duration(way_ns)} from a congestion window of {FIRST_SEGMENTS} segments: {begins} with that. Half"
            f" of the waiting time is in waits of {about(found.typical_ns)}."
        ),
        mechanism=Mechanism.LIMIT,
        severity=fault(model, found.waits.sum_ns),
        best=Confidence.MEDIUM,
        doubts=["the window was seen when waits began, not in between"],
        evidence=[
            waits(found.waits, f"waits for {found.name}"),
            Evidence(f"shortest round trip {duration(way_ns)}", float(way_ns), "ns", "tcp_info"),
        ],
        remedies=[
            *keep,
            *([] if anew else keep_window(model)),
            fix("send less (compress, only changes), or begin with a larger window: initcwnd of ip route change"),
        ],
        alternatives=["the peer is slow as well"],
        verify=shorter(model, f"waits for {found.name}", found.typical_ns, 2 * way_ns),
    )
