"""DISK-READ-SLOW: reads from a disk take long."""

from functools import partial

from perfdiag.diagnosis.evidence.disk.disk_waits import READ
from perfdiag.diagnosis.evidence.disk.wait_judgement import MEASURED, judge
from perfdiag.diagnosis.rule import Mechanism, rule

rule(
    READ.id,
    title="Reads from a disk take long",
    accounts=(READ.account,),
    meaning=(
        "Threads wait for blocks from a disk. A fault if the disk's reads are slower than usual for such a disk, or"
        " if the wait is longer than its requests explain. Otherwise it is a profile: only fewer reads help."
    ),
    measured=MEASURED,
    alternatives=(
        "A cold cache after a start, too little memory (MEM-MAJOR-FAULTS, MEM-RECLAIM), an I/O limit"
        " (DISK-THROTTLED), a full queue (DISK-QUEUEING)."
    ),
    remedies="Fewer or larger reads, an index, a faster disk; for what is read again, a larger cache.",
    names={Mechanism.MANY: "DISK-READS-MANY", Mechanism.ABOVE: "DISK-READS-HELD-UP"},
    verify="Reads take less than 2 ms on SSDs and 20 ms on rotating disks, or the same work needs fewer.",
)(partial(judge, READ))
