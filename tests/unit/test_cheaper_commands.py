"""Commands of Redis that hold up everybody, and what does the same without."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.evidence.requests.cheaper_commands import fewer_commands, instead_of

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.judging import finding
from unit.support.queued_requests import HANDLER, requests


def test_a_command_that_another_one_replaces() -> None:
    assert instead_of("SAVE").startswith("use BGSAVE instead of SAVE")
    assert instead_of("GET") == instead_of("") == instead_of("GET /report") == ""


def test_of_a_command_that_nothing_replaces_there_are_fewer() -> None:
    assert fewer_commands("PFCOUNT").startswith("send PFCOUNT less often, or for less data")
    assert fewer_commands("FT.SEARCH").startswith("send FT.SEARCH less often")
    assert fewer_commands("KEYS") == instead_of("KEYS")
    assert instead_of("HGETALL") and fewer_commands("HGETALL").startswith("send HGETALL less often")  # of small keys
    assert fewer_commands("GET /") == fewer_commands("SELECT ?") == fewer_commands("") == ""


@pytest.mark.parametrize(
    ("name", "remedy"), [("SAVE", "use BGSAVE instead of SAVE"), ("GET /", "move the work of GET /")]
)
def test_the_remedy_of_a_loop_that_one_command_holds_up(name: str, remedy: str) -> None:
    builder = Builder(comm="redis-server").thread("redis-server", cpu_user="3 s", wait_events="6 s")
    builder.stack("cpu", count=100, **HANDLER)
    requests(builder, {"cpu.user": 3000}, turns=390, delays=[500] * 20 + [0] * 380, name=name)
    for line in served(10, 1_000_000, {}, name="PING"):
        builder.line(line)
    assert finding(builder.model(), "LOOP-BLOCKED").remedies[0].text.startswith(remedy)
