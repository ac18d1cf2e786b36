"""Threads that ask for work in a loop, and their twins that work, find something, or wait for a flag in memory."""

from __future__ import annotations

import functools
import resource

import pytest
from perfdiag.diagnosis.engine import diagnose

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup, Record, Start
from live.support.model import model_of

ID = "CPU-SPINNING"
INSTEAD = {"CPU-BOUND", "CPU-KERNEL-HEAVY", "CPU-SINGLE-THREAD"}


@pytest.mark.parametrize("how", ["yield", "recv", "poll", "epoll"])
def test_who_only_asks_burns_its_time(how: str, start: Start, record: Record) -> None:
    recording, truth = record(start("busy_poll", "--how", how, "--cpu-ms", 450))
    assert truth["asked"] % 101 == 0 and truth["found"] == 0
    found = {finding.id: finding for finding in diagnose(model_of(recording)).findings}
    assert ID in found and not INSTEAD & found.keys(), found
    assert 0.5 * truth["cpu_ns"] < found[ID].claimed_ns < 1.1 * truth["cpu_ns"], found[ID]
    assert how in found[ID].evidence[0].text


@pytest.mark.parametrize("how", ["work", "served", "flag"])
def test_who_works_or_may_work_is_not_blamed(how: str, start: Start, record: Record) -> None:
    """A loop on a flag cannot be told from one that computes: it is not claimed to wait."""
    recording, truth = record(start("busy_poll", "--how", how, "--cpu-ms", 450))
    assert truth["found"] == (truth["asked"] if how == "served" else 0)
    model = model_of(recording)
    assert ID not in {finding.id for finding in diagnose(model).findings}
    assert ID in {said.id for said in diagnose(model).checks}, "it was looked at"


# Waits with poll() for a byte that comes 30 times a second, beside so many descriptors at which nothing comes.
POLLS = """
import os, select, sys, threading, time
many = int(sys.argv[1])
reads, writes = os.pipe()
silent = os.pipe()[0]
poll = select.poll()
for descriptor in [reads, *(os.dup(silent) for _ in range(many))]:
    poll.register(descriptor, select.POLLIN)
print(1, flush=True)
def tell():
    while True:
        time.sleep(1 / 30)
        os.write(writes, b"!")
threading.Thread(target=tell, daemon=True).start()
while poll.poll():
    os.read(reads, 1)
"""


def test_who_looks_at_many_descriptors_does_not_spin(attach: Attach, cleanup: Cleanup) -> None:
    """Each call of poll() goes through all of them."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most < 19_000:
        pytest.skip(f"no more than {most:,} descriptors are allowed here")
    allow = functools.partial(resource.setrlimit, resource.RLIMIT_NOFILE, (most, most))
    pid, _ = cleanup.enter_context(running_server(POLLS, 18_000, prepare=allow))
    model = model_of(attach(pid, duration_ns=3_000_000_000).wait())
    found = {finding.id: finding for finding in diagnose(model).findings}
    assert ID not in found and "CPU-KERNEL-HEAVY" in found, found
    assert "going through descriptors" in found["CPU-KERNEL-HEAVY"].claim, found
