"""A rule on reads from disks that take long."""

from __future__ import annotations

from functools import partial

from perfdiag.diagnosis.evidence.disk.disk_waits import READ
from perfdiag.diagnosis.evidence.disk.wait_judgement import MEASURED, judge
from perfdiag.diagnosis.rule import (
    rule,
)

rule(
    READ.id,
    title="Reads from a disk take long",
    accounts=(READ.account,),
    meaning="Threads wait for blocks to be read. A fault when the disk's own reads are slower than such a disk should"
    " be, or when the wait is longer than its requests explain. Otherwise it is profile: only fewer reads help.",
    measured=MEASURED,
    alternatives="A cold cache after a start; too little memory (MEM-MAJOR-FAULTS, MEM-RECLAIM); an I/O limit; a full"
    " queue (DISK-QUEUEING).",
    remedies="A larger cache, an index, larger sequential reads; a faster disk.",
    verify="p50 of disk.read in the next report; the device's own times beside it.",
)(partial(judge, READ))


__all__: list[str] = []
