"""A target that is a Java virtual machine: its threads, what stops them, and its counters as recorded."""

from __future__ import annotations

from collections.abc import Mapping

from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED

from unit.support.amounts import Time
from unit.support.recording import Builder
from unit.support.threads import START_NS

PATH = "/hotspot/100"
BARRIER, OPERATION = "futex:0x7f00", "futex:0x7f40"
VM_THREAD = 110
S = 10**9
MIB = 1 << 20

SERIAL: Mapping[str, object] = {
    "sun.os.hrt.frequency": S,
    "java.property.java.vm.version": "17.0.15+6-Debian-1deb12u1",
    "sun.gc.collector.0.name": "Serial young collection pauses",
    "sun.gc.collector.1.name": "Serial full collection pauses",
    "sun.gc.generation.0.name": "new",
    "sun.gc.generation.0.capacity": 20 * MIB,
    "sun.gc.generation.0.maxCapacity": 20 * MIB,
    "sun.gc.generation.0.space.0.used": 0,
    "sun.gc.generation.1.name": "old",
    "sun.gc.generation.1.capacity": 40 * MIB,
    "sun.gc.generation.1.maxCapacity": 40 * MIB,
    "sun.gc.generation.1.space.0.used": 20 * MIB,
    "sun.gc.metaspace.used": 8 * MIB,
    "sun.gc.metaspace.capacity": 10 * MIB,
    "sun.gc.metaspace.maxCapacity": 100 * MIB,
    "sun.gc.lastCause": "Allocation Failure",
}


def text(counters: Mapping[str, object]) -> str:
    """Return counters as the recorder writes them."""
    return "".join(f"{line}\n" for line in ("read memory", *(f"{name} {value}" for name, value in counters.items())))


def counters(
    *,
    young: int = 0,
    young_ns: int = 0,
    full: int = 0,
    full_ns: int = 0,
    stops: int | None = None,
    reaching_ns: int = 0,
    more_ns: int = 0,
    **others: object,
) -> dict[str, object]:
    """Return what a virtual machine with the serial collector counts; of `others` "__" stands for a dot."""
    return {
        **SERIAL,
        "sun.gc.collector.0.invocations": young,
        "sun.gc.collector.0.time": young_ns,
        "sun.gc.collector.1.invocations": full,
        "sun.gc.collector.1.time": full_ns,
        "sun.rt.safepoints": young + full if stops is None else stops,
        "sun.rt.safepointTime": young_ns + full_ns + more_ns,
        "sun.rt.safepointSyncTime": reaching_ns,
        "java.cls.loadedClasses": 500,
        "java.cls.unloadedClasses": 0,
    } | {name.replace("__", "."): value for name, value in others.items()}


def java(begin: Mapping[str, object] | None, end: Mapping[str, object] | None, stopped: Time = "0 s") -> Builder:
    """Return a virtual machine of which two workers were stopped for `stopped` each; None: nothing was read."""
    builder = Builder(comm="java")
    builder.thread("VM Thread", tid=VM_THREAD, rest="wait.work").thread("VM Periodic Tas", tid=111, rest="wait.work")
    for tid in (101, 102):
        builder.thread(f"worker-{tid}", tid=tid, rest="cpu.user")
        if stopped != "0 s":
            builder.row(PARKED, BARRIER, stopped, count=100, waker_tid=VM_THREAD)
    if begin is not None and end is not None:
        builder.fact(PATH, text(begin), text(end))
    elif end is not None:
        builder.line(schema.Fact(at_ns=START_NS + 10 * S, phase="end", path=PATH, text=text(end)))
    return builder


__all__ = ["BARRIER", "MIB", "OPERATION", "PATH", "SERIAL", "VM_THREAD", "S", "counters", "java", "text"]
