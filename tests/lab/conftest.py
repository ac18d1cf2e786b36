"""Fixtures of the lab: those of the live tests, for processes in a guest; every test runs once on each kernel."""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from perfdiag.recording import schema

from lab.support import host
from lab.support.dtrace import DTraceScript
from lab.support.guest import CPUS, DTRACE_DISK, DTRACE_KERNEL, LAB, ROOT_DISK, Guest, impossible, kernels, missing
from lab.support.processes import GuestRecorder, GuestWorkload
from lab.support.programs import GuestProgram
from lab.support.scripts import GuestScript
from live import test_completions, test_cpu, test_disk
from live.conftest import built, cleanup, record  # noqa: F401 - fixtures
from live.support.fixtures import Cleanup
from live.tools import test_engines, test_flushlat, test_pgcache, test_runqlat, test_wakerchain_py

DECLINED = ("5.10",)  # too old for the ledger: see test_declined.py
PREEMPTION = {"default": (), "full": ("preempt=full",)}
QUICK_KERNEL = "6.1"
QUICK = Path(__file__).with_name("quick.txt")
KILLED = 128 + 9


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kernel", action="append", help="a kernel of the lab; all, if not given")
    parser.addoption("--quick", action="store_true", help=f"the tests of {QUICK.name}, in one boot")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not in `QUICK`: to be over in minutes."""
    if not config.getoption("--quick"):
        return
    names = set(QUICK.read_text().splitlines())
    left_out = [
        item for item in items if item.path.parent == QUICK.parent and f"{item.path.name}::{item.name}" not in names
    ]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def wanted(config: pytest.Config) -> list[str]:
    """Return the kernels that were asked for."""
    asked = config.getoption("--kernel") or ([QUICK_KERNEL] if config.getoption("--quick") else kernels())
    unknown = set(asked) - set(kernels())
    if unknown:
        raise pytest.UsageError(f"no kernel {', '.join(unknown)}: there are {', '.join(kernels())}")
    return [name for name in kernels() if name in asked]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = wanted(metafunc.config)
    if "declined" in metafunc.fixturenames:
        metafunc.parametrize("declined", [name for name in names if name in DECLINED], indirect=True, scope="session")
    elif "guest" in metafunc.fixturenames:
        preemption = ["default"] if metafunc.config.getoption("--quick") else PREEMPTION
        machines = itertools.product([name for name in names if name not in DECLINED], preemption)
        if metafunc.definition.get_closest_marker("dtrace"):
            machines = itertools.product([name for name in names if name == DTRACE_KERNEL], ["dtrace"])
        metafunc.parametrize("guest", list(machines), indirect=True, scope="session", ids="-".join)


def boot(config: pytest.Config, kernel: str, *options: str, disk: str = ROOT_DISK) -> Guest:
    """Boot a kernel; skip where no machine like this can, or an archive has it no more."""
    if reason := impossible():
        pytest.skip(f"no lab here: {reason}")
    if reason := missing(kernel, disk):
        if config.getoption("--quick"):
            pytest.fail(f"kernel {kernel}, which this machine should have: {reason}")
        pytest.skip(f"kernel {kernel}: {reason}")
    return Guest(kernel, *options, disk=disk)


@pytest.fixture(scope="session")
def declined(request: pytest.FixtureRequest) -> Iterator[Guest]:
    """A guest whose kernel is too old."""
    with boot(request.config, request.param) as guest:
        yield guest


@pytest.fixture(scope="session")
def guest(request: pytest.FixtureRequest) -> Iterator[Guest]:
    """A guest; one boot serves all tests."""
    kernel, preemption = request.param
    if preemption == "dtrace":
        with boot(request.config, kernel, disk=DTRACE_DISK) as guest:
            yield guest
        return
    with boot(request.config, kernel, *PREEMPTION[preemption]) as guest:
        if preemption == "full" and "(full)" not in guest.run("cat /sys/kernel/debug/sched/preempt || true"):
            pytest.skip(f"kernel {kernel} has no choice of preemption (PREEMPT_DYNAMIC)")
        note_probes(guest)
        yield guest


def note_probes(guest: Guest) -> None:
    """Keep which program attached and which did not, and why: build/lab/probes.json; with all modules there are."""
    modules = "nfsd nfsv4 nfsv3 nfs kvm_amd"
    guest.try_run(f"for module in {modules}; do modprobe $module; done")
    status, said = guest.try_run("perfdiag-recorder --check")
    guest.try_run(f"for module in {modules}; do modprobe -r $module; done")
    if status == KILLED:  # after two minutes: this host is too busy for a table, not for the tests
        return
    headers = [line for line in said.splitlines() if line.startswith('{"type":"header"')]
    assert status == 0 and headers, said
    header = msgspec.json.decode(headers[0], type=schema.Header)
    path = LAB / "probes.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    known[guest.name] = {
        "release": guest.release,
        "features": {
            feature: {
                probe.name: "attached" if probe.attached else probe.reason
                for probe in header.probes
                if probe.feature == feature
            }
            for feature in {probe.feature for probe in header.probes}
        },
    }
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


@pytest.fixture(autouse=True)
def _guest_as_host(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the live tests took from the host they were written for."""
    if "guest" not in request.fixturenames:
        return
    guest = request.getfixturevalue("guest")
    for module in (test_cpu, test_engines, test_runqlat):
        monkeypatch.setattr(module, "SHARED_CPU", CPUS - 1)
    for module in (test_completions, test_disk, test_engines, test_flushlat, test_pgcache):
        monkeypatch.setattr(module, "slow_disk", host.slow_disk)
    monkeypatch.setattr(test_wakerchain_py, "Program", functools.partial(GuestProgram, guest))
    monkeypatch.setattr(test_cpu, "cgroup", host.cgroup_of(guest))
    monkeypatch.setattr(test_cpu, "enter", host.enter)


@pytest.fixture
def tmp_path(guest: Guest) -> host.GuestPath:
    """A folder in the guest."""
    return host.new_folder(guest)


@pytest.fixture
def start(guest: Guest, cleanup: Cleanup) -> Any:  # noqa: F811
    """Start a workload in the guest."""
    return lambda name, *arguments, **options: cleanup.enter_context(GuestWorkload(guest, name, *arguments, **options))


@pytest.fixture
def attach(guest: Guest, cleanup: Cleanup, request: pytest.FixtureRequest) -> Any:  # noqa: F811
    """Attach a recorder in the guest; its recordings stay in build/lab/run, by test."""
    number = itertools.count(1)
    test = re.sub(r"\W+", "-", request.node.name).strip("-")

    def attach(*targets: GuestWorkload | int, **options: Any) -> GuestRecorder:
        pids = [target if isinstance(target, int) else target.pid for target in targets]
        return cleanup.enter_context(GuestRecorder(guest, pids, f"{test}-{next(number)}.jsonl", **options))

    return attach


@pytest.fixture
def trace(guest: Guest, cleanup: Cleanup, update: bool) -> Any:  # noqa: F811
    """Attach a script of tools/ in the guest: to a workload, a pid, or without either to all of it."""

    def trace(name: str, *targets: GuestWorkload | int, version: str = "packaged") -> GuestScript:
        pids = [target if isinstance(target, int) else target.pid for target in targets]
        return cleanup.enter_context(GuestScript(guest, name, *pids, version=version, update=update))

    return trace


@pytest.fixture
def dtrace(guest: Guest, cleanup: Cleanup, update: bool) -> Any:  # noqa: F811
    """Attach a script of dtrace/ in the guest that has DTrace; arguments are workloads or numbers."""

    def dtrace(name: str, *arguments: GuestWorkload | int) -> DTraceScript:
        words = [word if isinstance(word, int) else word.pid for word in arguments]
        return cleanup.enter_context(DTraceScript(guest, name, *words, update=update))

    return dtrace
