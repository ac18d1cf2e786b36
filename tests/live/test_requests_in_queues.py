"""Requests that lie in a queue of the program's own: no thread waits, and nothing shows who has which."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from perfdiag.diagnosis import engine
from perfdiag.diagnosis.rule import Severity
from perfdiag.model.requests.request_time import REST

from live.support.fixtures import Attach, Serving
from live.support.model import model_of
from live.support.serving import asked, http, stopped

CLIENTS, EACH = 6, 40
ID = "CPU-OVERSUBSCRIBED"


@pytest.mark.parametrize(("work", "told"), [("computes(0.01)", True), ("lambda: time.sleep(0.01)", False)])
def test_who_waits_for_the_cpu(work: str, told: bool, serving: Serving, attach: Attach) -> None:
    """Six clients ask a program that computes 10 ms for each answer: five of their requests wait meanwhile."""
    server = serving(f"queued_by_hand(listening(), {work})")
    recorder = attach(server.pid)

    def client(_: int) -> None:
        with server.connect() as connection:
            for _ in range(EACH):
                asked(connection, http("/"))

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(client, range(CLIENTS)))
    model = model_of(stopped(recorder))
    assert model.request_time and model.request_time.accounts[REST] > 0.6 * model.request_time.ns, model.request_time
    found = [each for each in engine.diagnose(model).findings if each.id == ID and REST in each.claims]
    assert [each.severity for each in found] == [Severity.WARNING] * told, found
    assert all(each.share > 0.6 for each in found), found
