"""Kernel logs of OOM kills: real ones, made in the lab by tests/workloads/devour.c, and the reports they hold."""

from __future__ import annotations

from pathlib import Path

from perfdiag.findings.oom_explained import Explained, explain
from perfdiag.oom.entries import entries
from perfdiag.oom.parse import parse
from perfdiag.oom.shape import Report

LOGS = Path(__file__).resolve().parents[2] / "data" / "oom"
KERNELS = ("6.1", "6.12", "7.2")
NOW_NS = 1_795_312_800_000_000_000  # 2026-11-22 02:00 UTC


def log(name: str) -> str:
    """Return a saved log: "6.1/cgroup"."""
    return (LOGS / f"{name}.txt").read_bytes().decode()


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


__all__ = ["KERNELS", "LOGS", "NOW_NS", "explained", "log", "only", "reports"]
