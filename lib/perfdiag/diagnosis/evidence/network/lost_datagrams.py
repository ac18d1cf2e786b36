"""Datagrams that this host drops for want of a receive buffer, where no socket of the target is known to drop them.

The kernel counts these for all sockets of a network namespace.  The target's own are meant where it gets most of what
comes there, and where more was dropped than it has sent: its peers can have dropped no more of it than that.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.network.delayed_acks import RECEIVE
from perfdiag.diagnosis.policy import network_policy
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording.accounts import TIMER

DIRECTIONS = ("datagram", "datagram_port")
_SLEEPS = {"do_nanosleep", "hrtimer_nanosleep"}  # poll() with a timeout ends in neither


@dataclass(frozen=True)
class Lost:
    """What was dropped of datagrams that mostly came for the target."""

    dropped: int
    received: int  # by the target
    sleepers: Sequence[ThreadLedger]  # threads that receive, and sleep until they ask again

    @property
    def slept_ns(self) -> int:
        """Return how long threads slept until they asked again."""
        return sum(thread.ns(TIMER) for thread in self.sleepers)


def lost_datagrams(model: Model) -> Lost | None:
    """Return what the namespace of the target dropped; None where that is little, or may be others'."""
    lines = [each.line for each in model.exchanges if each.line.direction in DIRECTIONS]
    received, sent = sum(line.untimed for line in lines), sum(line.unawaited for line in lines)
    dropped = model.facts.network_delta("Udp.RcvbufErrors") or 0
    dropped -= sum((model.facts.udp_drops or {}).values())  # of sockets that live on: they are told apart
    arrived = model.facts.network_delta("Udp.InDatagrams")
    # Sockets of the target that only receive are among those that live on; one that asks may be made for each question.
    of_others = arrived is None or 2 * received < arrived or not sent or dropped <= sent
    few = dropped < max(network_policy.udp_drops, network_policy.udp_drops_share * (dropped + received))
    return None if few or of_others or model.host else Lost(dropped, received, _asking_again(model, min(dropped, sent)))


def _asking_again(model: Model, most: int) -> list[ThreadLedger]:
    """Return the threads that receive, and sleep no more often than `most` datagrams were lost and asked for: whoever
    sleeps in sleep() has decided to, whatever came."""
    chosen = {stack.tid for stack in model.wait_stacks(TIMER) if _SLEEPS & set(stack.kernel)}
    found = [thread for thread in model.threads if thread.ns(TIMER) and thread.ns(RECEIVE) and thread.tid not in chosen]
    return found if sum(thread.accounts[TIMER].count for thread in found) <= most else []
