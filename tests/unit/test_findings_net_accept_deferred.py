"""NET-ACCEPT-DEFERRED: a connection that nobody may accept before its client has sent something."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Severity
from perfdiag.facts.host_facts import Listener, Listeners
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, knowing, outcomes, silence

ID = "NET-ACCEPT-DEFERRED"
SOCKET = Listener("0.0.0.0", 3306, 0, 128, 0, [100])


def listening(deferred: int, repeated: int, ports: tuple[int, ...] = (3306,), builder: Builder | None = None) -> Model:
    deltas = {"TcpExt.TCPDeferAcceptDrop": deferred, "TcpExt.TCPSynRetrans": repeated}
    sockets = [Listener("0.0.0.0", port, 0, 128, 0, [100]) for port in ports]
    model = (builder or Builder().thread(cpu_user="1 s")).model()
    return knowing(model, network_deltas=deltas, listeners=Listeners(sockets, 4096, True, True))


def test_clients_that_wait_for_the_server_to_speak_first() -> None:
    """HAProxy with defer-accept stood before a database: its clients took 1,019 ms, and it was not the slow part."""
    found = finding(listening(40, 41), ID)
    assert found.severity is Severity.WARNING and not found.claims
    assert found.headline == "TCP_DEFER_ACCEPT held back 40 new connections for a second or more"
    assert "port 3306" in found.claim


@pytest.mark.parametrize(("deferred", "repeated"), [(400, 0), (0, 40), (4, 40)])
def test_requests_that_follow_the_handshake_at_once_lose_nothing(deferred: int, repeated: int) -> None:
    """Apache defers all connections, and HTTP's clients speak first: no answer to a SYN has to be sent again."""
    assert check(listening(deferred, repeated), ID).number == min(deferred, repeated)


def test_who_does_not_listen_defers_nothing() -> None:
    assert not outcomes(listening(40, 40, ports=()), ID)


def test_syns_of_its_own_to_a_dead_peer_are_no_answers_to_clients() -> None:
    """nginx defers, its clients speak first, and its upstream is down."""
    builder = Builder().thread(cpu_user="1 s").exchange("peer:10.0.0.9:80", "connected", {}, retries=38, connects=0)
    assert check(listening(400, 40, builder=builder), ID).number == 2


def test_counters_that_were_not_read_are_told() -> None:
    model = knowing(Builder().thread().model(), listeners=Listeners([SOCKET], 4096, True, True), network_deltas={})
    assert "unknown" in silence(model, ID).reason
