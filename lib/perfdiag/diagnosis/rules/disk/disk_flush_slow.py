"""DISK-FLUSH-SLOW: flushes (fsync) take long."""

from functools import partial

from perfdiag.diagnosis.evidence.disk.disk_waits import FLUSH
from perfdiag.diagnosis.evidence.disk.wait_judgement import MEASURED, judge
from perfdiag.diagnosis.rule import Mechanism, rule

rule(
    FLUSH.id,
    title="Flushes to disk (fsync) take long",
    accounts=(FLUSH.account,),
    meaning=(
        "Threads wait until data is safe on disk: fsync, fdatasync, journal commits, cache flushes. A fault if the"
        " disk's requests are slower than usual for such a disk, or if the wait is longer than its requests explain."
        " Otherwise it is a profile: the disk is fast, and the number of flushes costs."
    ),
    measured=MEASURED,
    alternatives=(
        "Other writers in the same journal, a device-mapper layer, an I/O limit (DISK-THROTTLED), a full queue"
        " (DISK-QUEUEING), a failing disk (DISK-ERRORS)."
    ),
    remedies=(
        "Put several changes in one transaction, use a disk with power-loss protection, or give the log its own disk."
        " Never switch fsync off."
    ),
    names={Mechanism.MANY: "DISK-FLUSHES-MANY", Mechanism.ABOVE: "DISK-FLUSHES-HELD-UP"},
    verify="Flushes take less than 4 ms on SSDs and 20 ms on rotating disks, or the same work needs fewer.",
)(partial(judge, FLUSH))
