"""Programs of tools/ with bcc on stock kernels: the checks of the live tests, with the bcc of each guest's Debian.

The third one, ledger.py, is an engine: see test_engines.
"""

from __future__ import annotations

import pytest

from lab.support.guest import Guest
from lab.support.programs import GuestProgram
from lab.support.servers import Session
from live.support.fixtures import Cleanup
from live.tools.test_wakerchain_py import test_a_chain_of_processes  # noqa: F401

COUNT = 23
SLEEP_MS = 50
ASK = f"""
for statement in $(seq {COUNT}); do echo "SELECT pg_sleep({SLEEP_MS / 1000}), 'secret';"; done >in
until [ $(grep -c secret out) = {COUNT} ]; do sleep 0.1; done
"""


@pytest.mark.dtrace
def test_statements_of_postgresql(guest: Guest, cleanup: Cleanup) -> None:
    """The guest that has a database has the newest bcc."""
    session = cleanup.enter_context(Session(guest))
    program = cleanup.enter_context(GuestProgram(guest, "sqlq.py", session.server_pid))
    session.here(ASK)
    [row] = program.stop()
    assert (row["COUNT"], row["STATEMENT"]) == (str(COUNT), "SELECT pg_sleep(?), ?;")
    assert COUNT * SLEEP_MS <= float(row["TOTAL_ms"]) < 2 * COUNT * SLEEP_MS
    assert SLEEP_MS <= float(row["MEDIAN_ms"]) <= float(row["P99_ms"]) <= float(row["MAX_ms"]) <= float(row["TOTAL_ms"])
