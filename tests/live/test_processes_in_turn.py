"""Processes of a target that take turns: the whole waits for what the one whose turn it is does."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.host import slow_disk
from live.support.model import model_of

READ_US = 4000
# Two processes hand each other the turn through pipes; READ reads one block that is not in memory.
TURNS = """
import os
parent = os.getpid()
file = os.open({file!r}, os.O_RDONLY)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
def read(number):
    os.pread(file, 512, number % 8000 * 4096)
def compute(number):
    for _ in range(100_000):
        pass
def turns(get, put, number):
    while os.read(get, 1):
        {work}(number)
        os.write(put, b"x")
        number += 2
if {beside} and not os.fork():
    number = 0
    while os.getppid() == parent:
        read(number)
        number += 1
    os._exit(0)
(here, to_here), (there, to_there) = os.pipe(), os.pipe()
if not os.fork():
    os.close(here)
    os.close(to_there)
    turns(there, to_here, 0)
    os._exit(0)
os.close(there)
os.close(to_here)
os.write(to_there, b"x")
print(0, flush=True)
turns(here, to_there, 1)
"""


@pytest.mark.may_skip("ext4 in the kernel")
@pytest.mark.parametrize("computes", [False, True], ids=["read", "compute"])
def test_processes_that_take_turns(computes: bool, tmp_path: Path, cleanup: Cleanup, attach: Attach) -> None:
    """The twin computes in its turns, beside a process that reads and that nobody waits for."""
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", read_us=READ_US, fill={"data": 32}))
    work = "compute" if computes else "read"
    pid, _ = cleanup.enter_context(
        running_server(TURNS.format(file=str(disk.mountpoint / "data"), work=work, beside=computes))
    )
    model = model_of(attach(pid, duration_ns=2_000_000_000).wait())
    waited_ns = model.ns("ipc.pipe")
    assert waited_ns > 800_000_000, model.accounts
    found = diagnose(model)
    assert all(each.severity is Severity.INFO for each in found.findings), found.findings
    reads = next(each for each in found.findings if each.id == "DISK-READ-SLOW")
    if computes:
        assert set(reads.claims) == {("disk.read", disk.device)} and not reads.is_root, reads
    else:
        assert found.findings[0] is reads and reads.share > 0.8 and reads.is_root, found.findings
        assert reads.claimed_ns > model.ns("disk.read") + 0.8 * waited_ns, reads
