"""Counters of both ends -> what a virtual machine did in the window."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from perfdiag.model.java_machines import JavaMachine, java_machines

from unit.support.jvm import MIB, S, counters, java


def machine(begin: Mapping[str, object] | None, end: Mapping[str, object] | None) -> JavaMachine:
    (found,) = java_machines(java(begin, end).model())
    return found


def test_collections_and_stops_of_the_window() -> None:
    begin = counters(young=100, young_ns=S, stops=110, reaching_ns=S // 10)
    found = machine(begin, counters(young=150, young_ns=3 * S, full=2, full_ns=S, stops=170, reaching_ns=S // 2))
    assert [(each.full, each.count, each.ns) for each in found.collectors] == [(False, 50, 2 * S), (True, 2, S)]
    assert (found.stops, found.stopped_ns, found.reaching_ns) == (60, 3 * S + 4 * S // 10, 4 * S // 10)
    assert (found.collections, found.collecting_ns, found.window_ns) == (52, 3 * S, 10 * S)
    assert found.old and (found.old.used_bytes, found.old.limit_bytes) == (20 * MIB, 40 * MIB)
    assert found.metaspace and (found.metaspace.name, found.metaspace_grown_bytes) == ("metaspace", 0)
    assert (found.way, found.unread, found.cause) == ("memory", "", "Allocation Failure")


def test_a_stop_that_began_before_the_window_takes_no_more_than_all_of_it() -> None:
    """ "103 % of the window in full collections"."""
    found = machine(counters(), counters(full=1, full_ns=11 * S, stops=1, reaching_ns=S))
    assert (found.stopped_ns, found.collecting_ns, found.window_ns) == (10 * S, 10 * S, 10 * S)


def test_ticks_have_their_own_frequency() -> None:
    slow = {"sun__os__hrt__frequency": 1000}
    found = machine(counters(**slow), counters(young=1, young_ns=500, **slow))
    assert found.collecting_ns == S // 2


@pytest.mark.parametrize(("version", "contains"), [("25.372-b07", True), ("11.0.20+8", True), ("25.0.3+9-LTS", False)])
def test_the_time_of_a_stop_contains_the_time_to_reach_it_in_old_versions(version: str, contains: bool) -> None:
    named = {"java__property__java__vm__version": version}
    found = machine(counters(**named), counters(young=1, young_ns=2 * S, reaching_ns=S, **named))
    assert found.stopped_ns == (2 * S if contains else 3 * S)


def test_permspace_of_jdk_7() -> None:
    old = {
        "sun__gc__generation__2__name": "perm",
        "sun__gc__generation__2__capacity": 60 * MIB,
        "sun__gc__generation__2__space__0__used": 58 * MIB,
        "sun__gc__generation__2__space__0__capacity": 60 * MIB,
        "sun__gc__generation__2__space__0__maxCapacity": 64 * MIB,
    }
    end = {name: value for name, value in counters(**old).items() if "metaspace" not in name}
    found = machine(end, end)
    assert found.metaspace and (found.metaspace.name, found.metaspace.limit_bytes) == ("permspace", 64 * MIB)
    assert found.old and found.old.name == "old"


def test_shenandoah_tells_neither_kinds_nor_pauses() -> None:
    names = {"sun__gc__collector__0__name": "Shenandoah partial", "sun__gc__collector__1__name": "Shenandoah full"}
    found = machine(counters(**names), counters(full=50, full_ns=99 * S, more_ns=-98 * S, **names))
    assert found.is_nested and not any(each.full for each in found.collectors)
    assert found.collecting_ns == found.stopped_ns == S


def test_one_that_was_created_in_the_window_counts_from_zero() -> None:
    end = counters(young=7, young_ns=S)
    late = machine(None, end | {"sun.rt.createVmBeginTime": 1_700_000_000_500})
    assert (late.collections, late.collecting_ns) == (7, S)
    missed = machine(None, end | {"sun.rt.createVmBeginTime": 1_600_000_000_000})
    assert missed.stops is None and missed.collecting_ns is None and missed.old, "it is unknown what was before"


def test_counters_that_went_back_or_lie_are_unknown() -> None:
    found = machine(counters(young=100, young_ns=S), counters(young=50, young_ns=-5, full_ns=-1))
    assert [each.full for each in found.collectors] == [True]
    assert found.collecting_ns is None or found.collecting_ns >= 0
