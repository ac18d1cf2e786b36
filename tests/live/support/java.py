"""Run the Java programs of tests/workloads: what a JVM says of itself is their truth."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import pytest

from live.support.workload import ROOT, Workload

SERIAL = ("-XX:+UseSerialGC", "-Xmx128m")


class Java(Workload):
    """A workload that Java runs from its source."""

    def __init__(
        self, name: str, *arguments: object, options: Sequence[str] = SERIAL, run_by: Sequence[str] = ()
    ) -> None:
        self.options, self.run_by = options, run_by
        super().__init__(name, *arguments)

    def command(self, name: str) -> list[str]:
        return [*self.run_by, "java", *self.options, str(ROOT / "tests" / "workloads" / f"{name}.java")]


def need_java() -> None:
    """Skip where no program of Java can be compiled and run."""
    if not shutil.which("java") or not shutil.which("javac"):
        pytest.skip("no JDK: see packages-truth.txt")


__all__ = ["SERIAL", "Java", "need_java"]
