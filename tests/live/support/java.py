"""Run the Java programs of tests/workloads: what a JVM says of itself is their truth."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from live.support.servers_root import entered, need_server
from live.support.workload import ROOT, Workload

CLASSES = ROOT / "build" / "tests" / "classes"
_OF_JDK_8 = ("Allocates", "Collections", "Pressure")  # what they call is there
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


class Compiled(Java):
    """A workload in Java that was compiled before: the compiler leaves nothing in its heap."""

    def __init__(
        self, name: str, *arguments: object, options: Sequence[str], java: str = "java", run_by: Sequence[str] = ()
    ) -> None:
        self.java = java
        CLASSES.mkdir(parents=True, exist_ok=True)
        source = ROOT / "tests" / "workloads" / f"{name}.java"
        release = ["-Xlint:-options", "--release", "8" if name in _OF_JDK_8 else "17"]
        subprocess.run(["javac", *release, "-d", CLASSES, source], check=True, timeout=60)
        super().__init__(name, *arguments, options=options, run_by=run_by)

    def command(self, name: str) -> list[str]:
        return [*self.run_by, self.java, *self.options, "-cp", str(CLASSES), name]


class OldJava(Compiled):
    """The same, run by JDK 8 or 11 in a root of its own."""

    def __init__(self, major: int, name: str, *arguments: object, options: Sequence[str]) -> None:
        home = f"usr/lib/jvm/java-{major}-openjdk-amd64/bin/java"
        need_java()
        need_server(home)
        CLASSES.mkdir(parents=True, exist_ok=True)
        super().__init__(name, *arguments, options=options, java=f"/{home}", run_by=entered(CLASSES))

    def command(self, name: str) -> list[str]:
        return [*self.run_by, self.java, *self.options, "-cp", "/mnt", name]


def machines() -> list[str]:
    """Return the programs `java` of this host, the usual one first."""
    found = [
        path for path in (shutil.which("java"), *sorted(map(str, Path("/usr/lib/jvm").glob("*/bin/java")))) if path
    ]
    return list({str(Path(path).resolve()): path for path in reversed(found)}.values())[::-1]


def need_java() -> None:
    """Skip where no program of Java can be compiled and run."""
    if not shutil.which("java") or not shutil.which("javac"):
        pytest.skip("no JDK: see packages-truth.txt")


__all__ = ["CLASSES", "SERIAL", "Compiled", "Java", "OldJava", "machines", "need_java"]
