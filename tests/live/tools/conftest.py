"""Fixtures of the tests of tools/: a script that has attached to a workload, with either version of bpftrace."""

from __future__ import annotations

import pytest

from live.support.bpftrace import VERSIONS, Script, lacking
from live.support.fixtures import Cleanup, Trace
from live.support.workload import Workload

OPTIONAL = {"newest": [pytest.mark.may_skip("the newest bpftrace: it is made with the lab")]}


@pytest.fixture(params=[pytest.param(version, marks=OPTIONAL.get(version, [])) for version in VERSIONS])
def version(request: pytest.FixtureRequest) -> str:
    """A version of bpftrace."""
    if reason := lacking(request.param):
        pytest.skip(reason)
    return str(request.param)


@pytest.fixture
def trace(cleanup: Cleanup, version: str, update: bool) -> Trace:
    """Attach a script to a workload: ``trace("flushlat", flush)``; it is the test that stops it."""

    def trace(name: str, target: Workload | int, *arguments: object) -> Script:
        pid = target if isinstance(target, int) else target.pid
        return cleanup.enter_context(Script(name, pid, *arguments, version=version, update=update))

    return trace
