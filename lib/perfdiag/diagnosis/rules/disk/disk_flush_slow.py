"""A rule on flushes (fsync) that take long."""

from __future__ import annotations

from functools import partial

from perfdiag.diagnosis.evidence.disk.disk_waits import FLUSH
from perfdiag.diagnosis.evidence.disk.wait_judgement import MEASURED, judge
from perfdiag.diagnosis.rule import (
    rule,
)

rule(
    FLUSH.id,
    title="Making data safe (fsync) takes long",
    accounts=(FLUSH.account,),
    meaning="Threads wait until data is safe on the disk: fsync, fdatasync, journal commits, cache flushes. A fault"
    " when the disk's own requests are slower than such a disk should be, or when the wait is longer than the longest"
    " chain of requests it can stand for. Otherwise it is profile: the device is as fast as it can be, and the number"
    " of flushes costs.",
    measured=MEASURED,
    alternatives="Other writers whose data the same journal commits; a device-mapper layer that delays; an I/O limit of"
    " the cgroup (DISK-THROTTLED); a full queue (DISK-QUEUEING); a failing disk (DISK-ERRORS).",
    remedies="Several changes per transaction; a disk with power-loss protection; the log on a disk of its own. Never:"
    " giving up the guarantee itself.",
    verify="p50 of disk.flush in the next report; the device's own times beside it.",
)(partial(judge, FLUSH))


__all__: list[str] = []
