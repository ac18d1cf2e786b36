"""The part of the report about Java virtual machines: in the document always, on the page with --full."""

from __future__ import annotations

from collections.abc import Mapping

from perfdiag.common.config import Config
from perfdiag.diagnosis.engine import diagnose
from perfdiag.render.terminal import lines
from perfdiag.report import assembly
from perfdiag.report.contract import Report

from unit.support import Builder
from unit.support.jvm import MIB, PATH, S, counters, java

END = counters(young=50, young_ns=S, full=2, full_ns=S, reaching_ns=S // 10)


def report_of(builder: Builder) -> Report:
    model = builder.model()
    return assembly.make(model, diagnose(model), Config())


def page(report: Report, *, full: bool = True) -> str:
    return "\n".join(line.plain for line in lines(report, full=full))


def test_counters_are_in_the_document() -> None:
    (machine,) = report_of(java(counters(), END, "1 s")).java_machines
    assert (machine.pid, machine.read_from, machine.unread) == (100, "memory", "")
    assert (machine.stops, machine.stopped_ns, machine.reaching_ns) == (52, 2 * S + S // 10, S // 10)
    assert [(each.full, each.count, each.ns) for each in machine.collectors] == [(False, 50, S), (True, 2, S)]
    assert [each.limit_bytes for each in machine.generations] == [20 * MIB, 40 * MIB]


def test_the_page_has_them_with_full_alone() -> None:
    report = report_of(java(counters(), END, "1 s"))
    assert "2.10 s in 52 stops of all threads, 21 % of the window" in page(report)
    assert "50 in 1.00 s: Serial young collection pauses" in page(report)
    assert "JAVA " not in page(report, full=False)
    assert report_of(Builder().thread("a", cpu_user="1 s")).java_machines == []


def test_before_the_first_collection_nothing_is_said_to_be_empty() -> None:
    """The JVM counts what is in use when it collects: until then these counters are zero."""
    empty = {"sun__gc__lastCause": "No GC", "sun__gc__generation__1__space__0__used": 0, "sun__gc__metaspace__used": 0}
    text = page(report_of(java(counters(**empty), counters(**empty), "1 ms")))
    assert "never so far" in text and "old: at most 40.0 MiB" in text
    assert " 0 B" not in text and "\n  because " not in text


def test_why_they_are_unknown() -> None:
    report = report_of(java(None, None).fact(PATH, "unread unknown\n"))
    assert report.java_machines[0].stops is None and "gHotSpotVMStructs" in page(report)
    assert any("gHotSpotVMStructs" in each.reason for each in report.not_measured)


def test_names_of_the_target_are_made_harmless() -> None:
    hostile: Mapping[str, object] = {**END, "sun.gc.collector.0.name": "\x1b[31mred\u202e"}
    report = report_of(java(counters(), hostile))
    assert "\x1b" not in page(report) and "\u202e" not in page(report)
