"""The recorder's C modules: each file of tests/unit/c with a harness runs once plain and once under sanitizers."""

from __future__ import annotations

import subprocess
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from unit.support.c_programs import FLAVOURS, SOURCES, build, environment

TESTS = sorted(path.stem for path in SOURCES.glob("*.c") if '#include "check.h"' in path.read_text())
Runs = dict[tuple[str, str], Future[subprocess.CompletedProcess[str]]]


def run(name: str, flavour: str) -> subprocess.CompletedProcess[str]:
    program = build(name, flavour)
    return subprocess.run([program], capture_output=True, text=True, errors="replace", env=environment())


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest) -> Iterator[Runs]:
    """All that were asked for, two at a time: some wait for most of it until a deadline has passed."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function) and item.function is test_c]
    asked = [(item.callspec.params["name"], item.callspec.params["flavour"]) for item in items]
    with ThreadPoolExecutor(2) as pool:
        yield {(name, flavour): pool.submit(run, name, flavour) for name, flavour in asked}
        pool.shutdown(cancel_futures=True)


def test_there_are_tests() -> None:
    assert {"json", "kernel_symbols", "output", "own_symbols", "syscall_table", "user_symbols"} <= set(TESTS)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("name", TESTS)
def test_c(name: str, flavour: str, runs: Runs) -> None:
    """The program prints every check that failed."""
    done = runs[name, flavour].result()
    print(done.stdout, done.stderr)
    for line in done.stdout.splitlines():
        if line.startswith("skipped: "):
            warnings.warn(f"{name}: {line}", stacklevel=1)
    assert done.returncode == 0
