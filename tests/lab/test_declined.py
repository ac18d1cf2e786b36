"""A kernel too old for the ledger is declined: one clear line, what would help, and a status that is not 0; or, with
--engine auto, a script records."""

from __future__ import annotations

import pytest

from lab.support.guest import Guest
from lab.support.processes import GuestRecorder, GuestWorkload


@pytest.mark.parametrize("arguments", ["--check", "--pid 1 --duration 1"])
def test_an_old_kernel_is_declined(declined: Guest, arguments: str) -> None:
    status, said = declined.try_run(f"perfdiag-recorder {arguments}")
    assert status not in (0, 127), said
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    hints = [line for line in said.splitlines() if line.startswith("HINT: ")]
    assert len(errors) == len(hints) == 1, said
    assert "Linux 6.1 or later" in hints[0], said


@pytest.mark.parametrize("engine", ["auto", "bcc"])
def test_a_script_records_there(declined: Guest, engine: str) -> None:
    """auto is bcc, which is there; what threads did is known by the workload."""
    with (
        GuestWorkload(declined, "lock", "--duration-ms", 3000) as lock,
        GuestRecorder(declined, [lock.pid], f"engine-{engine}.rec", engine=engine) as recorder,
    ):
        truth = lock.run()
        recording = recorder.wait("targets gone")
    header = recording.header
    assert header.engine == ("bcc" if engine == "auto" else engine)
    assert ("perfdiag's own programs cannot run here, " in header.because) == (engine == "auto"), header
    assert header.host.release == declined.release
    sums = {}
    for row in recording.threads:
        for each in row.accounts:
            sums[each.account] = sums.get(each.account, 0) + each.sum_ns
    assert sums["wait.parked"] > 0.9 * truth["wait_ns"] and sums["wait.timer"] > 0.9 * truth["hold_ns"], (sums, truth)
