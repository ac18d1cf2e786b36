"""What threads and what requests wait for one peer: said once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.evidence.network.said_once import said_once
from perfdiag.diagnosis.rule import Mechanism

from unit.support.judging import finding
from unit.test_findings_kept_over_calls import ID, UPSTREAM, S, pool


@pytest.mark.parametrize(("mechanism", "once"), [(Mechanism.LIMIT, True), (Mechanism.FAILED, False)])
def test_waits_and_calls_that_say_the_same_of_a_peer_are_one_finding(mechanism: Mechanism, once: bool) -> None:
    limit = finding(pool(160).model(), ID)
    waits = replace(limit, headline="10.0.0.7:80 answers slowly", claims={("net.receive", UPSTREAM): 2 * S})
    calls = replace(limit, mechanism=mechanism, claims={"request.peers": S}, peer=UPSTREAM)
    others = replace(calls, peer="peer:10.0.0.8:80")
    found = list(said_once([(UPSTREAM, waits)], [calls, others]))
    assert len(found) == 3 - once and sum(found[0].claims.values()) == (3 if once else 2) * S
