"""Memory of the host that no list of processes shows, named by the rules that find memory short."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.facts.host_facts import Swap
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import finding, knowing

GIB = 1 << 30
HUGE = {"MemTotal": 8 * GIB, "Hugepagesize": 2 << 20, "HugePages_Total": 2048, "HugePages_Free": 1536}
SHARED = {"MemTotal": 8 * GIB, "Shmem": 5 * GIB}


def short(meminfo: dict[str, int], account: str = "memory.swap_in") -> Model:
    model = Builder().thread(cpu_user="1 s").row(account, "", durations={"4 ms": 500}).model()
    swap = Swap(total_bytes=GIB, used_bytes=GIB // 2, pages_in=500, pages_out=9_000, swappiness=1)
    return knowing(model, swap=swap, processes={}, meminfo=meminfo)


@pytest.mark.parametrize(("account", "id"), [("memory.swap_in", "MEM-SWAP-IN"), ("memory.reclaim", "MEM-RECLAIM")])
def test_huge_pages_that_nobody_uses_are_named(account: str, id: str) -> None:
    found = finding(short(HUGE, account), id)
    assert found.headline.endswith(": 3.00 GiB of 8.00 GiB are unused huge pages")
    first = found.remedies[0]
    assert "who the huge pages are for" in first.text and first.text.endswith("vm.nr_hugepages=512 (now 2048)")


def test_memory_that_was_short_once_accuses_nobody() -> None:
    """Nothing is swapped out: whoever keeps huge pages now did not do it."""
    known = short(HUGE).facts
    known.__dict__["swap"] = Swap(total_bytes=GIB, used_bytes=GIB // 2, pages_in=500, pages_out=0, swappiness=1)
    assert ":" not in finding(replace(short(HUGE), facts=known), "MEM-SWAP-IN").headline


def test_shared_memory_is_named() -> None:
    found = finding(short(SHARED), "MEM-SWAP-IN")
    assert ":" not in found.headline, "databases keep their buffers there"
    assert any("5.00 GiB of 8.00 GiB are tmpfs" in each.text for each in found.evidence)


@pytest.mark.parametrize(
    "meminfo",
    [
        {},
        HUGE | {"HugePages_Rsvd": 1500},  # by mappings that have not touched them yet
        HUGE | {"HugePages_Free": 100},
        {"MemTotal": 8 * GIB, "Shmem": GIB},
    ],
)
def test_what_is_small_or_used_is_not(meminfo: dict[str, int]) -> None:
    found = finding(short(meminfo), "MEM-SWAP-IN")
    assert ":" not in found.headline and "largest processes" in found.remedies[0].text
