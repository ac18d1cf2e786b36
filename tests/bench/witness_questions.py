"""Questions whose answers are known, asked of perfdiag and of the tools of bcc and libbpf-tools that answer them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from perfdiag.recording import schema

from bench import witness_scenes as scenes
from bench.witness_answers import (
    Answer,
    blocked,
    collections,
    column,
    exactly,
    histogram,
    section,
    slow_calls,
)
from bench.witness_scenes import PAGE_BYTES, Scene
from lab.support.guest import Guest
from live.support.model import model_of
from live.support.recording import Recording, ns_of

BCC, LIBBPF = "bcc", "libbpf-tools"
NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class Asked:
    """A tool: its command ({pid}: that of the workload), what it prints when it traces, and how its answer is read."""

    who: str
    command: str
    says: str
    read: Callable[[str, int, Scene], Answer]
    alone: str = (
        ""  # while it runs beside the load, if not the same: one that traces no other process costs nothing there
    )


@dataclass(frozen=True)
class Question:
    """One question; the tool that takes longest to start is the last."""

    asks: str
    unit: str
    scene: Callable[[Guest], AbstractContextManager[Scene]]
    truth: Callable[[dict[str, int]], float]
    tools: tuple[Asked, ...]
    perfdiag: Callable[[Recording, int, Scene], Answer]


def waited_for_cpu(recording: Recording, pid: int, _: Scene) -> Answer:
    """Time in the queue of a CPU."""
    return exactly(sum(ns_of(row, "runq.") for row in recording.of_process(pid)))


def histogram_of_all(text: str, _: int, __: Scene) -> Answer:
    return histogram(text)


def read_from_device(recording: Recording, _: int, scene: Scene) -> Answer:
    """Time of the requests of one disk."""
    found = [row for row in recording.of(schema.Device) if row.device == scene.device and row.operation == "read"]
    return exactly(sum(row.queue_ns + row.service_ns for row in found))


def histogram_of_disk(text: str, _: int, scene: Scene) -> Answer:
    return histogram(section(text, scene.name))


def waited_for_lock(recording: Recording, _: int, __: Scene) -> Answer:
    """Time waiting for a lock of the program's own: what a report makes of waits on futexes."""
    accounts = model_of(recording).accounts
    return exactly(accounts["lock.futex"].ns if "lock.futex" in accounts else 0)


def blocked_in_futex(text: str, _: int, __: Scene) -> Answer:
    return blocked(text, "lock", "futex_wait")


def brought_in(recording: Recording, _: int, __: Scene) -> Answer:
    """Pages of files that were not in memory."""
    return exactly(sum(row.bytes for row in recording.of(schema.FileRead)) // PAGE_BYTES)


def misses(text: str, _: int, __: Scene) -> Answer:
    return column(text, "MISSES")


def left_to_user_space(recording: Recording, _: int, __: Scene) -> Answer:
    return exactly(sum(row.count for row in recording.of(schema.VmExit) if row.user))


def exits(text: str, _: int, __: Scene) -> Answer:
    return column(text, "COUNT")


def flushed(recording: Recording, _: int, __: Scene) -> Answer:
    """Time of the flushes of files on NFS."""
    return exactly(sum(row.sum_ns for row in recording.of(schema.NfsFlush) if row.cause == "fsync"))


def slow_flushes(text: str, _: int, scene: Scene) -> Answer:
    """Their fsync(2), which only libbpf-tools has, and COMMITs, which only bcc has."""
    return slow_calls(text, scene.name, "FC")


def collected(recording: Recording, pid: int, _: Scene) -> Answer:
    """What the thread did that collects: a recording does not know for what."""
    return exactly(sum(ns_of(row, "cpu.", "runq.") for row in recording.of_process(pid) if row.comm == "VM Thread"))


QUESTIONS = {
    "runqlat": Question(
        asks="how long did two threads that share a CPU wait for it?",
        unit="ns",
        scene=scenes.spinners,
        truth=lambda told: told["wall_ns"] - told["cpu_ns"],
        tools=(
            Asked(LIBBPF, "runqlat -p {pid}", "", histogram_of_all, alone="runqlat"),
            Asked(BCC, "runqlat-bpfcc -p {pid}", "^Tracing", histogram_of_all, alone="runqlat-bpfcc"),
        ),
        perfdiag=waited_for_cpu,
    ),
    "biolatency": Question(
        asks="how long did 101 reads from a slow disk take?",
        unit="ns",
        scene=scenes.slow_reads,
        truth=lambda told: told["read_ns"],
        tools=(
            Asked(LIBBPF, "biolatency -D", "", histogram_of_disk),
            Asked(BCC, "biolatency-bpfcc -D", "^Tracing", histogram_of_disk),
        ),
        perfdiag=read_from_device,
    ),
    "offcputime": Question(
        asks="how long did three threads wait for a lock that one of them held?",
        unit="ns",
        scene=scenes.lock,
        truth=lambda told: told["wait_ns"],
        tools=(
            Asked(LIBBPF, "offcputime -p {pid}", "", blocked_in_futex, alone="offcputime"),
            Asked(BCC, "offcputime-bpfcc -p {pid}", "^Tracing", blocked_in_futex, alone="offcputime-bpfcc"),
        ),
        perfdiag=waited_for_lock,
    ),
    "cachestat": Question(
        asks="how many pages that were read were not in memory?",
        unit="pages",
        scene=scenes.cold_and_warm,
        truth=lambda told: told["count"] / 2,
        tools=(
            Asked(LIBBPF, "cachestat 1", "HITS", misses),
            Asked(BCC, "cachestat-bpfcc 1", "HITS", misses),
        ),
        perfdiag=brought_in,
    ),
    "kvmexit": Question(
        asks="how often did a virtual machine leave to its emulator?",
        unit="exits",
        scene=scenes.virtual_machine,
        truth=lambda told: told["outs"] + told["ins"] + told["mmios"] + told["halts"],
        tools=(Asked(BCC, "kvmexit-bpfcc -p {pid}", "^Display", exits),),
        perfdiag=left_to_user_space,
    ),
    "nfsslower": Question(
        asks="how long did 23 times fsync(2) of 2 MiB on NFS take?",
        unit="ns",
        scene=scenes.nfs_flushes,
        truth=lambda told: told["flush_ns"],
        tools=(
            Asked(LIBBPF, "nfsslower -m 0", "", slow_flushes),
            Asked(BCC, "nfsslower-bpfcc 0", "^Tracing", slow_flushes),
        ),
        perfdiag=flushed,
    ),
    "ugc": Question(
        asks="how long did a Java program stand still for 23 collections of its whole heap?",
        unit="ns",
        scene=scenes.java,
        truth=lambda told: told["collection_ms"] * NS_PER_MS,
        tools=(
            Asked(LIBBPF, "javagc -p {pid}", "", lambda text, _, __: collections(text, 3)),
            Asked(BCC, "ugc -l java {pid}", "^Tracing", lambda text, _, __: collections(text, 1)),
        ),
        perfdiag=collected,
    ),
}


__all__ = ["QUESTIONS", "Asked", "Question"]
