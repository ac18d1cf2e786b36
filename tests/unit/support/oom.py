"""Kernel logs of OOM kills: real ones, made in the lab by tests/workloads/devour.c, and the reports they hold."""

from __future__ import annotations

from pathlib import Path

from perfdiag.diagnosis.evidence.memory.oom_explanation import Explained, explain
from perfdiag.facts.oom.log_lines import entries
from perfdiag.facts.oom.oom_report import Report
from perfdiag.facts.oom.parser import parse

LOGS = Path(__file__).resolve().parents[2] / "data" / "oom"
KERNELS = ("6.1", "6.12", "7.2")
NOW_NS = 1_795_312_800_000_000_000  # 2026-11-22 02:00 UTC


def log(name: str) -> str:
    """Return a saved log: "6.1/cgroup"."""
    return (LOGS / f"{name}.txt").read_bytes().decode()


def records(name: str, at_ns: int, sequence: int) -> str:
    """Return a saved log as /dev/kmsg would have it, begun at `at_ns` of the clock, its first record so numbered."""
    found = list(entries(log(name).split("\n"), NOW_NS))
    first = found[0].clock_ns or 0
    return "".join(
        f"4,{sequence + index},{(at_ns + (entry.clock_ns or 0) - first) // 1000},-;{escaped(entry.text)}\n"
        for index, entry in enumerate(found)
    )


def escaped(text: str) -> str:
    """Return a text as the kernel escapes it in /dev/kmsg."""
    return "".join(c if " " <= c <= "~" and c != "\\" else f"\\x{ord(c):02x}" for c in text)


def reports(text: str) -> list[Report]:
    """Return the reports of a log."""
    return parse(entries(text.split("\n"), NOW_NS))


def only(name: str) -> Report:
    """Return the only report of a saved log."""
    (found,) = reports(log(name))
    return found


def explained(name: str) -> Explained:
    """Return the explanation of the first report of a saved log."""
    return explain(reports(log(name))[0])


__all__ = ["KERNELS", "LOGS", "NOW_NS", "explained", "log", "only", "records", "reports"]
