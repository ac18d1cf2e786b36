"""Java virtual machines, with --full: what they stopped their threads for, and how full their memory is."""

from collections.abc import Iterator

from rich.text import Text

from perfdiag.common.units import count, duration, plural, share, size
from perfdiag.render.layout import HEADING, Page, Section, apart
from perfdiag.report.contract import Report
from perfdiag.report.contract.jvm import JavaMachine, JavaPool

NO_COLLECTION = "No GC"  # the JVM's own word for the cause of its last collection before there was any


def java(report: Report, page: Page) -> Section:
    """Return the counters of each virtual machine; nothing without any."""
    machines = report.java_machines
    if not machines:
        return Section([], [])
    rows = [row for machine in machines for row in _rows(machine, several=len(machines) > 1)]
    blocks = [[page.chunk(text, 4 + index, first=f"  {name:<9} ", limit=3)] for index, (name, text) in enumerate(rows)]
    heading = Text(apart("JAVA", "counters of the virtual machine itself", page.width), HEADING)
    return Section([heading], list(blocks))


def _rows(machine: JavaMachine, *, several: bool) -> Iterator[tuple[str, str]]:
    whose = f"pid {machine.pid}, " if several else ""
    if machine.unread:
        yield "unread", f"{whose}{machine.unread}"
        return
    yield "read", f"{whose}HotSpot {machine.version}, from its {machine.read_from}"
    if machine.stopped_ns is not None:
        part = share(machine.stopped_ns / machine.window_ns) if machine.window_ns else "?"
        reaching = "" if machine.reaching_ns is None else f"; {duration(machine.reaching_ns)} until all had stopped"
        stops = plural(machine.stops or 0, "stop")
        yield "stopped", f"{duration(machine.stopped_ns)} in {stops} of all threads, {part} of the window{reaching}"
    for collector in (each for each in machine.collectors if each.count):
        took = "" if collector.ns is None else f" in {duration(collector.ns)}"
        yield "collected", f"{count(collector.count)}{took}: {collector.name}"
    never = machine.last_cause == NO_COLLECTION
    if never:
        yield "collected", "never so far: how much memory is in use is only counted then"
    elif machine.last_cause:
        yield "because", machine.last_cause
    if machine.allocated_bytes and machine.window_ns:
        a_second = machine.allocated_bytes * 1_000_000_000 / machine.window_ns
        yield "allocated", f"{size(machine.allocated_bytes)}, {size(a_second)} a second"
    for pool in [*machine.generations, *([machine.metaspace] if machine.metaspace else [])]:
        if not never:
            yield "memory", _pool(pool)
        elif pool.limit_bytes is not None:
            yield "memory", f"{pool.name}: at most {size(pool.limit_bytes)}"
    if machine.classes_loaded is not None and machine.classes_unloaded is not None:
        yield "classes", f"{count(machine.classes_loaded)} loaded, {count(machine.classes_unloaded)} unloaded"


def _pool(pool: JavaPool) -> str:
    limit = "" if pool.limit_bytes is None else f", of at most {size(pool.limit_bytes)}"
    return f"{pool.name}: {size(pool.used_bytes)} used, {size(pool.committed_bytes)} committed{limit}"
