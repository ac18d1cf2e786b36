"""DISK-WRITE-SLOW: writes to a disk take long."""

from functools import partial

from perfdiag.diagnosis.evidence.disk.disk_waits import WRITE
from perfdiag.diagnosis.evidence.disk.wait_judgement import MEASURED, judge
from perfdiag.diagnosis.rule import Mechanism, rule

rule(
    WRITE.id,
    title="Writes to a disk take long",
    accounts=(WRITE.account,),
    meaning=(
        "Threads wait for blocks to be written: direct or synchronous writes, or a file system with a full journal. A"
        " fault if the disk's writes are slower than usual for such a disk, or if the wait is longer than its requests"
        " explain. Otherwise it is a profile. Threads that delete or empty files may wait there until the disk has"
        " discarded the blocks (mount option discard): the finding says so."
    ),
    measured=MEASURED,
    alternatives="An I/O limit (DISK-THROTTLED), a full queue (DISK-QUEUEING), a slow member of an array"
    " (DISK-MEMBER-SLOW).",
    remedies="Fewer or larger writes, or a faster disk.",
    names={Mechanism.MANY: "DISK-WRITES-MANY", Mechanism.ABOVE: "DISK-WRITES-HELD-UP"},
    verify="Writes take less than 2 ms on SSDs and 20 ms on rotating disks, or the same work needs fewer.",
)(partial(judge, WRITE))
