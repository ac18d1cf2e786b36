"""JVM-PAUSE-ON-DISK: a Java virtual machine waits until its log or its counters are written, all threads stopped."""

import re
from collections.abc import Iterable
from dataclasses import replace

from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.jvm.stop_waits import StopWait, stop_waits
from perfdiag.diagnosis.evidence.jvm.stopped_time import stopped
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import (
    Check,
    Evidence,
    Finding,
    Mechanism,
    Other,
    Outcome,
    Relation,
    Remedy,
    rule,
)
from perfdiag.diagnosis.significance import brief, duration, fix, percent, plain, thread_of, total_ns, worth
from perfdiag.model.java_machines import machine_of
from perfdiag.model.model import Model
from perfdiag.model.waits.stopped_threads import ACCOUNT, VM_THREAD
from perfdiag.recording.accounts import phrase_of

_WRITES_AT_ONCE = 17  # from this JDK on, -Xlog:async takes the log's writes out of stops


@rule(
    "JVM-PAUSE-ON-DISK",
    title="The JVM waits for a disk or a pipe while all its threads are stopped",
    accounts=(ACCOUNT,),
    meaning=(
        "A Java virtual machine writes its log (-Xlog) and a page of counters (/tmp/hsperfdata_USER) while it has"
        " stopped all threads. If the disk is slow, or nobody reads the pipe, every thread waits. The JVM's own log"
        " shows only that the stop was long."
    ),
    measured=(
        "What the thread that ended a stop had waited for meanwhile, as seen at each wake-up of a stopped thread:"
        " disks, NFS, other remote file systems, pipes and sockets."
    ),
    alternatives="A heap dump or a class histogram, which is written while all threads are stopped.",
    remedies="Write the log with -Xlog:async (JDK 17 and later) or to a tmpfs; -XX:+PerfDisableSharedMem.",
    verify="runtime.safepoint is under 5 % of busy time.",
    beats=(
        "JVM-SAFEPOINT-SLOW",
        "JVM-ALLOCATION-RATE",
        "JVM-GC-PRESSURE",
        "JVM-HEAP-EXHAUSTED",
        "JVM-METASPACE",
        "LOCK-CONTENTION",
        # These claim the stops behind their waits, too; without the JVM's own output nobody would be behind them.
        "IPC-PEER-SLOW",
        "DISK-FLUSH-SLOW",
        "DISK-WRITE-SLOW",
        "FS-REMOTE-SLOW",
        "NFS-COMMIT-SLOW",
        "NFS-SERVER-SLOW",
        "MEM-DIRTY-THROTTLE",
    ),
)
def paused(model: Model) -> Iterable[Outcome]:
    """Judge how long stops waited for output of the JVM."""
    found, waited_ns = False, 0
    for wait in stop_waits(model):
        waited_ns += wait.ns
        if worth(model, wait.ns):
            found = True
            yield _finding(model, wait)
    stopped_ns = total_ns(model.rows_of(ACCOUNT))
    if stopped(model) and not found:
        part = waited_ns / stopped_ns if stopped_ns else 0.0
        yield Check(
            "JVM-PAUSE-ON-DISK", f"{percent(part)} of stops waited for the JVM's own output", part, "share", large=False
        )


def _finding(model: Model, wait: StopWait) -> Finding:
    whole_ns = total_ns(model.rows_of(ACCOUNT, pid=wait.pid))
    where = plain(wait.objects[0]) if len(wait.objects) == 1 else ""
    waited = f"{phrase_of(wait.account)}{where and f', {where}'}"
    reader = thread_of(model, wait.waker_tid) if wait.waker_tid else None
    ended = f"; {reader.name} ended these waits" if reader else ""
    found = conclude(
        model,
        wait.claims,
        headline=f"The JVM waits for {brief(where) or _medium(wait.account)} while its threads are stopped",
        claim=f"Of {duration(whole_ns)} in which threads were stopped, {duration(wait.ns)} went by while"
        f" {VM_THREAD} itself was {waited}.",
        mechanism=Mechanism.SLOW,
        doubts=["" if where else "which file, pipe or socket it was is not known"],
        evidence=[
            Evidence(
                f"{percent(wait.ns / whole_ns)} of the time that threads were stopped, {VM_THREAD} was {waited}{ended}",
                float(wait.ns),
                "ns",
                "wake-ups",
            )
        ],
        remedies=_remedies(model, wait),
        alternatives=["a heap dump or a class histogram is written"],
        others=[Other(reader.pid, reader.comm, Relation.PEER)] if reader else [],
        verify=time_under(model, "runtime.safepoint"),
        inside=True,
    )
    return replace(found, is_root=True)  # of stops, as who waits for a slow disk is of waits behind that


def _medium(account: str) -> str:
    if account.startswith(("ipc.", "net.")):
        return "a pipe" if account == "ipc.pipe" else "a socket"
    return "NFS" if account.startswith("nfs.") else "a disk" if account.startswith("disk.") else "a file"


def _remedies(model: Model, wait: StopWait) -> list[Remedy]:
    machine = machine_of(model, wait.pid)
    major = int(match[0]) if machine and (match := re.match(r"\d+", machine.version)) else 0
    later = "" if major >= _WRITES_AT_ONCE else " (from JDK 17 on)"
    found = [fix(f"let the JVM write its log outside of stops: add -Xlog:async{later}")]
    if wait.account.startswith(("ipc.", "net.")):
        return [*found, fix("write the log to a file (-Xlog:...:file=PATH) instead of standard output")]
    return [*found, fix("write it to a tmpfs; for the counters' page in /tmp: -XX:+PerfDisableSharedMem")]
