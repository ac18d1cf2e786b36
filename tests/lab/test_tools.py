"""Scripts of tools/ on stock kernels: the checks of the live tests, and what must look at a whole machine."""

from __future__ import annotations

from typing import Any

import pytest

from bench.tools_guest import GUEST_LOADS
from lab.support import host
from lab.support.guest import Guest
from live.support.bpftrace import TOOLS, lacking, only_of
from live.support.fixtures import Start, Trace
from live.tools.test_fdlimit import test_opens_beyond_the_limit  # noqa: F401
from live.tools.test_flushlat import test_flushes_of_a_slow_disk  # noqa: F401
from live.tools.test_pgcache import test_a_file_that_is_read_three_times  # noqa: F401
from live.tools.test_runqlat import test_two_threads_share_a_cpu  # noqa: F401
from live.tools.test_tcpwindow import test_a_receiver_that_reads_slowly  # noqa: F401
from live.tools.test_wakerchain import test_a_chain_of_processes  # noqa: F401

NAMES = sorted(path.stem for path in TOOLS.glob("*.bt") if not only_of(path.stem))
MODULES = "kvm_amd nfs nfsv4 acpi_cpufreq"  # scripts may trace these


@pytest.mark.parametrize("name", sorted(GUEST_LOADS))
def test_the_newest_version_parses_what_only_guests_can_run(
    name: str, guest: Guest, start: Start, trace: Trace
) -> None:
    """The others run with it on the host: see tests/live/tools/test_every_script.py."""
    if reason := lacking("newest"):
        pytest.skip(reason)
    guest.run(f"for module in {MODULES}; do modprobe $module; done")
    target = start("sleeper")
    script = trace(name, target, version="newest")
    guest.run(f"kill -s KILL {target.pid}")
    script.stop()


@pytest.mark.parametrize("name", NAMES)
def test_it_parses_and_ends_with_its_target(name: str, guest: Guest, start: Start, trace: Trace) -> None:
    """With every driver there is; then Ctrl-C: nothing is printed that is not described."""
    guest.run(f"for module in {MODULES}; do modprobe $module; done")
    target = start("sleeper")
    script = trace(name, target)
    guest.run(f"kill -s KILL {target.pid}")
    script.stop()


def test_flushes_of_all_processes(tmp_path: host.GuestPath, start: Start, trace: Trace) -> None:
    script = trace("flushlat")
    truths = {name: start("flush", "--count", count, "--file", tmp_path / name).run() for name, count in FILES.items()}
    seen = script.stop()
    for name, count in FILES.items():
        flushes = seen.stats("@flushes", name)
        assert flushes.count == count
        assert flushes.total == pytest.approx(truths[name]["flush_ns"], rel=0.2)


FILES: dict[str, Any] = {"one": 23, "other": 31}
