"""SQLITE-ON-NFS: databases of SQLite on a mount, shown by the stacks their waits begin with."""

from __future__ import annotations

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity

from unit.support import Builder
from unit.support.judging import check, finding, silence
from unit.support.nfs import MOUNT, flush, mounted, rpc

ID = "SQLITE-ON-NFS"
KERNEL = ["rpc_wait_bit_killable", "nfs_file_fsync", "filp_flush", "do_fcntl"]
UNLOCK = ["__fcntl64_nocancel (libc.so.6)", "0x2f1a0 (libsqlite3.so.0.8.6)", "sqlite3_step (libsqlite3.so.0.8.6)"]
OTHER = ["__write (libc.so.6)", "save (mover)", "main (mover)"]


def mover(*, sqlite: int = 100, others: int = 0, each: str = "2 ms") -> Builder:
    """Jobs in a database: locks, look-ups and flushes; sampled stacks of SQLite and of others, one wait each."""
    builder = mounted(Builder(comm="mover")).thread("mover", cpu_user="1 s")
    builder.row("nfs.commit", MOUNT, durations={each: 500})
    builder.row("nfs.lock", MOUNT, durations={"500 us": 1_000}).row("nfs.metadata", MOUNT, durations={"500 us": 1_200})
    rpc(builder, "COMMIT", {each: 500})
    rpc(rpc(builder, "LOCK", {"500 us": 500}), "LOCKU", {"500 us": 500})
    rpc(rpc(builder, "GETATTR", {"500 us": 600}), "REMOVE", {"500 us": 600})
    flush(builder, {each: 480}, commits=480, writes=960, bytes=4096 * 960, cause="fcntl")
    flush(builder, {each: 20}, commits=20, writes=20, bytes=4096 * 20, cause="fsync")
    for number, user in ((sqlite, UNLOCK), (others, OTHER)):
        if number:
            weight = f"{10 * number} ms"
            builder.stack("wait", "nfs.commit", object=MOUNT, kernel=KERNEL, user=user, count=number, weight=weight)
    return builder


def test_sqlite_on_nfs_claims_all_that_it_waits_for_there() -> None:
    model = mover().model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert found.claims == {
        ("nfs.commit", MOUNT): 1_000_000_000,
        ("nfs.lock", MOUNT): 500_000_000,
        ("nfs.metadata", MOUNT): 600_000_000,
    }
    assert "commit 1.00 s, metadata 600 ms, lock 500 ms" in [evidence.text for evidence in found.evidence]
    assert "local disk" in found.remedies[0].text
    assert not any("WAL" in remedy.text for remedy in found.remedies)
    settled = diagnose(model)
    assert settled.findings[0].id == ID
    assert {"NFS-COMMIT-SLOW", "NFS-METADATA-CHATTY"} <= {found.id for found in settled.superseded}


def test_what_others_wait_for_on_the_same_mount_is_not_its_own() -> None:
    found = finding(mover(sqlite=100, others=100).model(), ID)
    assert found.claims["nfs.commit", MOUNT] == 500_000_000
    (share,) = (evidence for evidence in found.evidence if evidence.probe == "stack samples")
    assert share.error and 0.05 < share.error < 0.1


def test_the_same_calls_of_another_program_are_not_sqlite() -> None:
    assert check(mover(sqlite=0, others=100).model(), ID)


def test_without_stacks_a_pattern_is_no_proof() -> None:
    said = silence(mover(sqlite=0).without("stacks", "no CAP_PERFMON").model(), ID)
    assert "-journal" in said.fix


def test_few_samples_lower_the_confidence() -> None:
    found = finding(mover(sqlite=3, others=1).model(), ID)
    assert found.confidence is Confidence.MEDIUM


def test_little_time_in_sqlite_is_no_finding() -> None:
    check(mover(sqlite=1, others=400).model(), ID)


def test_a_library_without_frame_pointers_is_found_by_scanning_the_stack() -> None:
    builder = mover(sqlite=0)
    builder.stack(
        "wait",
        "nfs.lock",
        object=MOUNT,
        user=["0xfcf60 (libc.so.6)"],
        scan=["0x1b2c8 (libsqlite3.so.0.8.6)", "sql (sqlite_jobs)"],
        count=50,
        weight="500 ms",
    )
    assert finding(builder.model(), ID).claims["nfs.lock", MOUNT] == 500_000_000
