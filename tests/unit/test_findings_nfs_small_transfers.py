"""Mounts with a small rsize or wsize: the option is the cause, not a queue that more connections would shorten."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Mechanism, Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import finding
from unit.support.nfs import MOUNT, mounted, rpc

QUEUE, SERVER = "NFS-CLIENT-QUEUE", "NFS-SERVER-SLOW"


def reading(options: str, *, bytes: int = 1200, queue: str = "20 ms", account: str = "nfs.read") -> Model:
    builder = mounted(Builder(window="10 s"), f"rw,vers=4.2,{options},hard").thread("db", cpu_user="1 s")
    builder.row(account, MOUNT, durations={"10 ms": 500})
    rpc(builder, "GETATTR", {"400 us": 100})
    if account == "nfs.read":
        return rpc(builder, "READ", {"1 ms": 9000}, queue=queue, received=bytes).model()
    return rpc(builder, "WRITE", {"1 ms": 9000}, queue=queue, bytes=bytes).model()


def test_the_queue_of_many_small_reads_comes_from_the_mount_option() -> None:
    found = finding(reading("rsize=1024,wsize=1048576"), QUEUE)
    assert found.headline == "NFS reads of nas1:/jobs go in pieces of 1.00 KiB: mounted with rsize=1024"
    assert found.mechanism is Mechanism.MANY and "without rsize" in found.remedies[0].text
    assert not any("nconnect" in each.text for each in found.remedies)


def test_small_writes_are_told_too() -> None:
    found = finding(reading("wsize=8192", bytes=8400, account="nfs.write"), QUEUE)
    assert "NFS writes" in found.headline and "wsize=8192" in found.headline


def test_a_fast_server_with_many_small_reads_to_answer_is_a_fault_of_the_mount() -> None:
    found = finding(reading("rsize=1024", queue="0 us"), SERVER)
    assert "mounted with rsize=1024" in found.headline and found.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("options", "bytes"), [("rsize=1024", 300), ("rsize=65536", 66_000), ("wsize=1024", 1200), ("vers=3", 1200)]
)
def test_who_reads_less_than_the_mount_allows_or_much_is_not_cut(options: str, bytes: int) -> None:
    found = finding(reading(options, bytes=bytes), QUEUE)
    assert "queue in this host" in found.headline and any("nconnect" in each.text for each in found.remedies)
