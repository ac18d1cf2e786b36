"""Recordings of NFS faults that were made for real in the lab (Linux 6.1, client and server in one busy machine),
without the lines that these rules do not ask for: what they must say, first."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.model import builder
from perfdiag.model.model import Model
from perfdiag.recording import reader

from unit.support.judging import assert_sound

RECORDINGS = Path(__file__).resolve().parents[1] / "data" / "nfs"
# Each with the finding expected first, an account it claims, and bounds of its share.
EXPECTED = {
    "flush-50ms": ("NFS-COMMIT-SLOW", "nfs.commit", 0.3, 0.75),  # 13 times 2 MiB and fsync
    "sync-mount": ("NFS-SYNC-MOUNT", "nfs.write", 0.8, 0.95),  # 197 writes of 4 KiB, NFS 3 with noac
    "sqlite": ("SQLITE-ON-NFS", "nfs.lock", 0.6, 0.85),  # 14 transactions, no delay
    "wire-20ms": ("NFS-SERVER-SLOW", "nfs.metadata", 0.4, 0.8),  # 17 small files made, renamed and removed
}


def recorded(name: str) -> Model:
    with (RECORDINGS / f"{name}.rec").open("rb") as file:
        return builder.build(reader.read(file))


@pytest.mark.parametrize("name", EXPECTED)
def test_the_fault_that_was_made_comes_first(name: str) -> None:
    id, account, least, most = EXPECTED[name]
    model = recorded(name)
    settled = diagnose(model)
    first = settled.findings[0]
    assert (first.id, first.severity) == (id, Severity.WARNING), first.claim
    assert account in {claim if isinstance(claim, str) else claim[0] for claim in first.claims}
    assert least <= first.share <= most
    for found in settled.findings:
        assert_sound(model, found)
    assert not [silence for silence in settled.silences if "rule itself failed" in silence.reason]


def test_every_recording_is_expected_to_say_something() -> None:
    assert {path.stem for path in RECORDINGS.iterdir()} == set(EXPECTED)


def test_the_calls_are_those_that_the_mount_itself_counted() -> None:
    model = recorded("sync-mount")
    (mount,) = model.facts.nfs_mounts
    assert mount.option("vers") == "3" and mount.option("noac") == ""
    (write,) = (line for line in model.rpcs if line.procedure == "WRITE")
    assert write.count == 197 == mount.calls["WRITE"].count
    assert abs(write.wire_ns - mount.calls["WRITE"].answer_ns) < 197 * 1_000_000
    (flushed,) = model.nfs_flushes
    assert (flushed.count, flushed.stable_writes, flushed.commits) == (197, 197, 0)


def test_commits_are_told_from_the_bytes_before_them() -> None:
    model = recorded("flush-50ms")
    first = diagnose(model).findings[0]
    assert any("13 COMMITs, 104 WRITEs (0 FILE_SYNC)" in each.text for each in first.evidence)
    assert any("nfsd" in each.text for each in first.evidence)


def test_the_wire_is_told_from_the_server() -> None:
    assert "The network (nfsd takes" in diagnose(recorded("wire-20ms")).findings[0].claim


def test_sqlite_is_found_by_its_stacks_though_its_library_has_no_frame_pointers() -> None:
    first = diagnose(recorded("sqlite")).findings[0]
    assert any("100 %" in each.text for each in first.evidence)
