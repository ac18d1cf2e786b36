"""Whatever a recording holds, it is reported within the bound, or refused with one line and a hint.

What was found stands in tests/data/fuzz and is replayed.  `make fuzz` looks for an hour (SECONDS=) and leaves what
fails, as small as it could be made, in build/fuzz: mend it, and move it there.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from conftest import ROOT
from unit.support.bound import report
from unit.support.fuzzing import check, recordings

SECONDS = float(os.environ.get("PERFDIAG_FUZZ_SECONDS", "60"))
LARGE_BYTES = 200_000
# To make small what fails takes minutes, which only somebody who looks for it has.
PHASES = [Phase.generate, Phase.shrink] if "PERFDIAG_FUZZ_SECONDS" in os.environ else [Phase.generate]
FOUND = sorted((ROOT / "tests/data/fuzz").glob("*.rec"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found_is_mended(path: Path) -> None:
    check(path.read_bytes())


def _keep(data: bytes) -> None:
    """Leave a recording that fails where somebody finds it; the last one is the smallest."""
    place = ROOT / "build/fuzz"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{hashlib.sha256(data).hexdigest()[:12]}.rec").write_bytes(data)


def _check(data: bytes, path: Path) -> None:
    """Check a recording; a large one in a process of its own, whose memory can be told from that of the test."""
    if len(data) < LARGE_BYTES:
        return check(data)
    path.write_bytes(data)
    reported = report(path, "--full")
    reported.assert_clean()
    reported.assert_within_bound()


@pytest.mark.timeout(int(SECONDS) + 300)
def test_no_recording_breaks_a_report(tmp_path: Path) -> None:
    end, tried = time.monotonic() + SECONDS, Counter[bool]()

    @settings(max_examples=100, phases=PHASES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)
    @given(recordings())
    def some(data: bytes) -> None:
        if time.monotonic() > end:
            return
        tried[len(data) >= LARGE_BYTES] += 1
        try:
            _check(data, tmp_path / "fuzzed.rec")
        except BaseException:
            _keep(data)
            raise

    while time.monotonic() < end:
        some()
    print(f"{tried[False]:,} recordings, and {tried[True]:,} large ones")
    assert tried.total()
