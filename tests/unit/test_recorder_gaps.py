"""What the recorder had no privileges for is said under NOT MEASURED, with what would help; nothing else is."""

from __future__ import annotations

import re

import msgspec
import pytest
from perfdiag.capture.preflight import programs
from perfdiag.facts.host_facts import Facts
from perfdiag.model.coverage import coverage, recorder_gaps
from perfdiag.recording import schema
from perfdiag.recording.recording import Recording

from conftest import ROOT
from unit.support.recording import Builder

C_SOURCE = (ROOT / "lib/recorder/base/privileges.c").read_text()
KNOWN = [name for capabilities, _ in recorder_gaps.COSTS for name in capabilities]


def header(*lacks: str) -> schema.Header:
    return msgspec.structs.replace(Builder().recording().header, lacks=list(lacks))


def said(*lacks: str) -> list[str]:
    items = coverage.not_measured(Recording(header(*lacks)), Facts.parse([]))
    return [item.what for item in items if item.feature == "privileges"]


def test_a_recorder_with_all_privileges_lacks_nothing() -> None:
    assert said() == []


@pytest.mark.parametrize("name", KNOWN)
def test_each_capability_that_is_missing_has_its_cost(name: str) -> None:
    (what,) = said(name)
    assert said(*KNOWN).count(what) == 1
    (answer,) = [answer for answer in programs(header(name)) if answer.tells == what]
    assert answer.reason and name in answer.reason and name in answer.fix


def test_the_recorder_tells_of_these_and_of_the_lock_on_memory() -> None:
    """Its memory, when not locked, costs no measurement; the recorder itself warns."""
    told = set(re.findall(r'"(CAP_\w+)"', C_SOURCE))
    assert told == {*KNOWN, "CAP_IPC_LOCK"}


def test_why_a_script_recorded_that_nobody_asked_for_comes_first() -> None:
    """Unasked, a report must not be poorer in silence."""
    asked = msgspec.structs.replace(header(), engine="bpftrace", accounts=["cpu.user"])
    unasked = msgspec.structs.replace(asked, because="the kernel is too old")
    first = coverage.not_measured(Recording(unasked), Facts.parse([]))[0]
    assert first.reason == "bpftrace recorded, because the kernel is too old" and "--engine libbpf" in first.fix
    assert not any("because" in item.reason for item in coverage.not_measured(Recording(asked), Facts.parse([])))


@pytest.mark.parametrize(("engine", "meets"), [("bpftrace", False), ("bcc", True)])
def test_threads_that_sleep_all_along(engine: str, *, meets: bool) -> None:
    by = msgspec.structs.replace(header(), engine=engine, accounts=["cpu.user"])
    features = [item.feature for item in coverage.not_measured(Recording(by), Facts.parse([]))]
    assert ("threads" not in features) == meets and "descendants" in features


def test_threads_that_a_script_has_not_seen() -> None:
    """Where the recorder looked for them, those that slept are in the books, and of the others it is said."""
    by = msgspec.structs.replace(header(), engine="bpftrace", accounts=["cpu.user"])

    def told(**found: int) -> str:
        footer = msgspec.structs.replace(Builder().recording().footer, **found)
        return "\n".join(item.what for item in recorder_gaps.script(by, footer, []))

    assert "threads that slept through the whole window" in told()
    looked = told(threads_asleep=3, threads_not_seen=0)
    assert "slept" not in looked and "before its first switch" in looked and "in these books" not in looked
    assert "what 2 threads did: not in these books" in told(threads_asleep=0, threads_not_seen=2)
