"""Linux 6.1 takes no chain of calls whose stacks are over 512 bytes: seen here, not first in the lab."""

from __future__ import annotations

from conftest import ROOT
from unit.support.bpf_stacks import MOST_BYTES, Stacks

OBJECT = ROOT / "build/bpf/perfdiag.bpf.o"


def test_the_stacks_of_all_programs_are_small_enough_for_linux_6_1() -> None:
    stacks = Stacks(OBJECT)
    called = {place for function in stacks.functions.values() for place in function.calls}
    programs = [place for place in stacks.functions if place not in called]
    assert len(programs) > 50
    for program in programs:
        deep, chain = stacks.deepest(program)
        assert deep <= MOST_BYTES, " > ".join(f"{each.name} {each.depth_bytes}" for each in chain)


def test_calls_and_callbacks_are_followed() -> None:
    stacks = Stacks(OBJECT)
    by_name = {function.name: place for place, function in stacks.functions.items()}
    _, chain = stacks.deepest(by_name["look_at_set"])
    assert chain[-2].name in ("look_at_polled", "look_at_selected", "look_at_node")  # by bpf_loop(), ...
    assert chain[-1].name == "look_at_item"  # ... then by a call
    assert all(each.depth_bytes for each in chain)
