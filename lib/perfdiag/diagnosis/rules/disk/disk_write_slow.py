"""A rule on writes to disks that take long."""

from __future__ import annotations

from functools import partial

from perfdiag.diagnosis.evidence.disk.disk_waits import WRITE
from perfdiag.diagnosis.evidence.disk.wait_judgement import MEASURED, judge
from perfdiag.diagnosis.rule import (
    rule,
)

rule(
    WRITE.id,
    title="Writes to a disk take long",
    accounts=(WRITE.account,),
    meaning="Threads wait for blocks to be written: direct or synchronous writes, or a file system that must write"
    " before it can go on. A fault when the disk's own writes are slower than such a disk should be, or when the wait"
    " is longer than its requests explain. Otherwise it is profile.",
    measured=MEASURED,
    alternatives="An I/O limit (DISK-THROTTLED), a full queue (DISK-QUEUEING), a slow member of an array"
    " (DISK-MEMBER-SLOW).",
    remedies="Fewer or larger writes; a faster disk.",
    verify="p50 of disk.write in the next report; the device's own times beside it.",
)(partial(judge, WRITE))


__all__: list[str] = []
