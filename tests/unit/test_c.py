"""The recorder's C modules: each file of tests/unit/c with a harness runs once plain and once under sanitizers."""

from __future__ import annotations

import subprocess
import warnings

import pytest

from unit.support.c_programs import FLAVOURS, SOURCES, build, environment

TESTS = sorted(path.stem for path in SOURCES.glob("*.c") if '#include "check.h"' in path.read_text())


def test_there_are_tests() -> None:
    assert {"json", "kernel_symbols", "output", "own_symbols", "syscall_table", "user_symbols"} <= set(TESTS)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("name", TESTS)
def test_c(name: str, flavour: str) -> None:
    """The program prints every check that failed."""
    run = subprocess.run([build(name, flavour)], capture_output=True, text=True, errors="replace", env=environment())
    print(run.stdout, run.stderr)
    for line in run.stdout.splitlines():
        if line.startswith("skipped: "):
            warnings.warn(f"{name}: {line}", stacklevel=1)
    assert run.returncode == 0
