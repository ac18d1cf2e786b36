"""Threads that serve requests and are parked meanwhile, until another one wakes them."""

from __future__ import annotations

from perfdiag.diagnosis.engine import Diagnosis, diagnose
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.disks import disk, disks
from unit.support.exchanges import served
from unit.support.judging import knowing

S, MS = 1_000_000_000, 1_000_000
ID, LOCKS, FLUSH = "WAIT-THREAD-IN-REQUEST", "LOCK-CONTENTION", "DISK-FLUSH-SLOW"
SLEEP, IDLE = "WAIT-TIMER-IN-REQUEST", "SQL-IDLE-IN-TRANSACTION"
FUTEX, OTHER, DEVICE = "futex:0x7f00", "futex:0x7f40", "device:254:0"
SSD = disk("254:0", "vda", kind="physical", rotational=False)
WORKER = 300


def parked(builder: Builder, ns: int, object: str = FUTEX, count: int = 400) -> Builder:
    return builder.line(schema.RequestParked(pid=100, object=object, over_slo=False, count=count, sum_ns=ns))


def serving(
    threads: int = 4,
    each_ms: int = 5000,
    *,
    told_ms: int | None = None,
    waker: int = WORKER,
    worker_ms: int = 9000,
    count: int = 400,
    **accounts: str,
) -> Builder:
    """Threads that are parked in 400 requests until a worker wakes them, and otherwise compute for 100 ms each.

    `told_ms`: for so much of it the futex is known.
    """
    builder = Builder(comm="server").thread("worker", tid=WORKER, **(accounts or {"cpu_user": f"{worker_ms} ms"}))
    for tid in range(101, 101 + threads):
        builder.thread("serve", tid=tid, cpu_user="100 ms", rest="net.request")
        waits = count // threads
        builder.row("wait.parked", FUTEX, f"{each_ms} ms", count=waits, waker_tid=waker, waker_count=waits * 3 // 5)
    whole_ns = threads * each_ms * MS
    for line in served(
        count, (whole_ns + threads * 100 * MS) // count, {"wait.parked": whole_ns, "cpu.user": threads * 100 * MS}
    ):
        builder.line(line)
    return parked(builder, whole_ns if told_ms is None else told_ms * MS, count=count)


def seen(
    builder: Builder,
    root: str,
    time: str,
    root_tid: int = WORKER,
    root_object: str = "",
    key: str = FUTEX,
    *,
    alone: bool = False,
) -> Builder:
    """Tell what waits on a futex were behind; `alone`: that thread was in it for all of the time."""
    sum_ns = int(float(time.removesuffix(" s")) * S)
    return builder.line(
        schema.Because(
            pid=100,
            account="wait.parked",
            object=key,
            steps=[],
            cut=False,
            root=root,
            root_object=root_object,
            root_tid=root_tid,
            root_tid_ns=sum_ns if alone else 0,
            sum_ns=sum_ns,
            count=100,
            inside=True,
        )
    )


def told(builder: Builder) -> Diagnosis:
    return diagnose(knowing(builder.model(), disks=disks(SSD)))
