"""A target that reads what short programs print, as a shell and make do: it waits for those, not for a pipe."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

# What computes prints to a pipe: a program of its own each time, or one process all the time, beside short programs
# that print nothing.
READER = """
import os, sys
parent = os.getpid()
compute = "sum(i * i for i in range(60_000))"
def short():
    with os.popen("exec " + sys.executable + " -SIc 'print(" + compute + ")'") as printed:
        printed.read()
def lasting(put):
    while os.getppid() == parent:
        eval(compute)
        os.write(put, b"x")
here, there = os.pipe()
print(0, flush=True)
if {short}:
    while True:
        short()
if not os.fork():
    while os.getppid() == parent:
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {{}}), 0)
    os._exit(0)
if not os.fork():
    lasting(there)
    os._exit(0)
while True:
    os.read(here, 1)
"""


@pytest.mark.parametrize("short", [True, False])
def test_who_reads_what_short_programs_print(short: bool, attach: Attach, cleanup: Cleanup) -> None:
    """The twin reads from a process that lasts: its waits are not for the short programs beside it."""
    pid, _ = cleanup.enter_context(running_server(READER.format(short=short)))
    model = model_of(attach(pid, duration_ns=2_000_000_000).wait())
    waited_ns = model.ns("ipc.pipe")
    assert waited_ns > 400_000_000, model.accounts
    found = diagnose(model).findings
    children = next(each for each in found if each.id == "PROC-CHILD-SLOW")
    assert "processes a second" in children.headline, children
    claimed_ns = sum(ns for claim, ns in children.claims.items() if claim[0] == "ipc.pipe")
    if short:
        assert claimed_ns > 0.4 * waited_ns and "python" in children.headline, children
        assert "IPC-PEER-SLOW" not in {each.id for each in found[: found.index(children)]}, found
    else:
        assert not claimed_ns, children
