"""A kernel too old for the ledger is declined: one clear line, what would help, and a status that is not 0."""

from __future__ import annotations

import pytest

from lab.support.guest import Guest


@pytest.mark.parametrize("arguments", ["--check", "--pid 1 --duration 1"])
def test_an_old_kernel_is_declined(declined: Guest, arguments: str) -> None:
    status, said = declined.try_run(f"perfdiag-recorder {arguments}")
    assert status not in (0, 127), said
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    hints = [line for line in said.splitlines() if line.startswith("HINT: ")]
    assert len(errors) == len(hints) == 1, said
    assert "Linux 6.1 or later" in hints[0], said
