"""Symptoms as a pager or a user names them: which command to run, and which findings it may give."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Symptom:
    """A section of perfdiag-runbook(7)."""

    title: str
    seen_as: str  # what the pager, a graph or a user says
    commands: tuple[str, ...]
    findings: tuple[str, ...]
    then: str = ""  # what to do besides what the findings say


SYMPTOMS = (
    Symptom(
        "Requests are slow",
        "p99 is up, an objective is missed, clients time out.",
        ("perfdiag latency --unit nginx.service --duration 30 --slo 250ms",),
        (
            "SLO-BREACH",
            "POOL-SATURATED",
            "LOOP-BLOCKED",
            "READER-ELSEWHERE",
            "READER-NOT-LISTENING",
            "CONCURRENCY-LIMIT",
            "WAIT-THREAD-IN-REQUEST",
            "WAIT-TIMER-IN-REQUEST",
            "LOCK-CONTENTION",
            "ANSWER-OWED",
        ),
        "The report names the service or host that this one waits for: run the same command there.",
    ),
    Symptom(
        "A service that this one calls is slow",
        "Calls to an upstream, a database or a name server take long; the other side says that it is fast.",
        ("perfdiag latency --port 8080 --duration 30",),
        (
            "NET-PEER-SLOW",
            "NET-CONNECT-SLOW",
            "NET-DNS-SLOW",
            "NET-CHATTY",
            "SQL-CHATTY",
            "NET-DELAYED-ACK",
            "NET-SELF-SLOW",
            "CONCURRENCY-LIMIT",
            "IPC-PEER-SLOW",
            "QUEUE-FULL",
        ),
        "The port is the one that the calling service listens on, not a port of the other side.",
    ),
    Symptom(
        "Transfers are slow or connections fail",
        "Throughput is low, packets are lost, connections are refused or reset.",
        ("perfdiag latency --port 443 --duration 30",),
        (
            "NET-RETRANSMITS",
            "NET-CONGESTION",
            "NET-RECEIVER-WINDOW",
            "NET-SLOW-CLIENT",
            "NET-LISTEN-OVERFLOW",
            "FD-EXHAUSTION",
        ),
    ),
    Symptom(
        "The CPU is full",
        "CPU use is near 100 %, the run queue is long, the load is high.",
        ("perfdiag host --duration 10", "perfdiag latency --pid 4121 --stacks --full"),
        (
            "CPU-BOUND",
            "CPU-SINGLE-THREAD",
            "CPU-SPINNING",
            "CPU-KERNEL-HEAVY",
            "GC-HEAVY",
            "CPU-CONTENTION",
            "CPU-OVERSUBSCRIBED",
            "CPU-IRQ-HEAVY",
            "NET-ACCEPT-HERD",
            "KSM-SCAN",
            "NUMA-REMOTE",
        ),
        "The first command tells which process uses the CPU, the second one what for.",
    ),
    Symptom(
        "The machine is slow although its CPUs are idle",
        "The same work takes longer than last week, or than on the host beside it.",
        ("perfdiag latency --pid 4121 --duration 30",),
        (
            "CPU-FREQUENCY-LOW",
            "CPU-IDLE-EXIT-LATENCY",
            "CPU-STOLEN",
            "CPU-QUOTA-THROTTLED",
            "NUMA-REMOTE",
            "TARGET-TRACED",
        ),
    ),
    Symptom(
        "Disks are busy and processes wait for them",
        "iowait is high, fsync takes long, processes are in state D.",
        ("perfdiag host --duration 10", "perfdiag latency --pid 4121 --duration 30"),
        (
            "DISK-FLUSH-SLOW",
            "DISK-READ-SLOW",
            "DISK-WRITE-SLOW",
            "DISK-QUEUEING",
            "DISK-SATURATED",
            "DISK-THROTTLED",
            "DISK-MEMBER-SLOW",
            "DISK-ERRORS",
            "STORAGE-LOOP",
            "IO-URING-SLOW",
            "MEM-DIRTY-THROTTLE",
            "MEM-CACHE-MISSES",
            "DIR-HUGE",
            "FS-FULL",
        ),
        "Look at DISK-ERRORS before anything else: data may be lost.",
    ),
    Symptom(
        "A process was killed, or memory is short",
        "The OOM killer ran, a container restarts, the host swaps.",
        ("perfdiag host --since 02:00", "perfdiag latency --unit nginx.service --duration 30"),
        (
            "OOM-KILL",
            "MEM-CGROUP-LIMIT",
            "MEM-HIGH-THROTTLE",
            "MEM-RECLAIM",
            "MEM-SWAP-IN",
            "MEM-MAJOR-FAULTS",
            "MEM-CACHE-MISSES",
            "MEM-FRAGMENTATION",
            "THP-STALL",
        ),
        "The first command explains kills that are over, from the kernel log.",
    ),
    Symptom(
        "A database is slow",
        "Statements or commits take long, sessions wait.",
        ("perfdiag latency --name postgres --duration 30", "perfdiag latency --name mariadbd --duration 30"),
        (
            "SQL-LOCK-WAIT",
            "SQL-IDLE-IN-TRANSACTION",
            "SQL-COMMIT-BOUND",
            "SQL-CONNECTION-CHURN",
            "SQL-SLOW-QUERY",
            "LOCK-CONTENTION",
            "DISK-FLUSH-SLOW",
            "DISK-READ-SLOW",
            "MEM-CACHE-MISSES",
            "SQLITE-ON-NFS",
            "POOL-SATURATED",
        ),
        "Single statements: perfdiag-sqlq.py(8) and perfdiag-sqlqmaria.bt(8).",
    ),
    Symptom(
        "A Java program pauses",
        "All requests stop for a moment, the collector's log has long pauses, the heap is full.",
        ("perfdiag latency --name java --duration 60",),
        (
            "JVM-ALLOCATION-RATE",
            "JVM-GC-PRESSURE",
            "JVM-HEAP-EXHAUSTED",
            "JVM-METASPACE",
            "JVM-SAFEPOINT-SLOW",
            "JVM-PAUSE-ON-DISK",
            "GC-HEAVY",
            "MEM-SWAP-IN",
            "LOCK-CONTENTION",
        ),
    ),
    Symptom(
        "A container is slow",
        "The service is fast on a host of its own and slow with limits.",
        ("perfdiag latency --container web --duration 30",),
        (
            "CPU-QUOTA-THROTTLED",
            "CPU-CONTENTION",
            "MEM-CGROUP-LIMIT",
            "MEM-HIGH-THROTTLE",
            "DISK-THROTTLED",
            "FS-REMOTE-SLOW",
        ),
        "Run perfdiag on the host, or in a container with the host's pid namespace.",
    ),
    Symptom(
        "A virtual machine is slow",
        "Everything in the guest is slow, or one guest is slower than others.",
        (
            "perfdiag host --duration 10",
            "perfdiag latency --pid 4121 --duration 30 --record guest.rec",
            "perfdiag latency --pid 9021 --duration 30 --record host.rec",
            "perfdiag report guest.rec host.rec",
        ),
        (
            "CPU-STOLEN",
            "VIRT-EMULATED-DEVICE",
            "VIRT-CLOCKSOURCE",
            "VIRT-CPU-MASKED",
            "VIRT-VCPU-PINNING",
            "KVM-EXIT-EMULATED-IO",
            "KVM-EXIT-STORM",
            "KVM-HALT-POLLING",
            "KVM-GUEST-CPU",
            "KSM-SCAN",
            "CPU-CONTENTION",
        ),
        "Run the first command on the host: it shows the emulators. At the same time run the second command in the"
        " guest, for the slow process, and the third one on the host, for the guest's emulator. The last command joins"
        " the two recordings.",
    ),
    Symptom(
        "NFS or another remote file system hangs",
        "Processes are in state D on a mount, the kernel log says that a server does not respond.",
        ("perfdiag latency --pid 4121 --duration 30",),
        (
            "NFS-SERVER-SLOW",
            "NFS-COMMIT-SLOW",
            "NFS-CLIENT-QUEUE",
            "NFS-METADATA-CHATTY",
            "NFS-LOCK-SLOW",
            "NFS-SYNC-MOUNT",
            "SQLITE-ON-NFS",
            "FS-REMOTE-SLOW",
        ),
        "The flushes of single files: perfdiag-nfsfsync.bt(8).",
    ),
    Symptom(
        "A process hangs or does nothing",
        "It uses no CPU, makes no progress, and answers late or never.",
        ("perfdiag latency --pid 4121 --stacks --full",),
        (
            "TARGET-STOPPED",
            "TARGET-TRACED",
            "TARGET-SLEEPS",
            "TARGET-IDLE",
            "TARGET-BLOCKED-OR-IDLE",
            "LOCK-CONTENTION",
            "IPC-PEER-SLOW",
            "QUEUE-FULL",
            "TTY-NOT-READ",
            "ANSWER-OWED",
            "KERNEL-OTHER",
            "UNEXPLAINED",
        ),
    ),
    Symptom(
        "A job or a build takes too long",
        "A command, a backup or a batch job takes longer than before.",
        ("perfdiag latency --pid 4121 --duration 30", "perfdiag latency -- tar xf linux.tar"),
        (
            "PROC-CHILD-SLOW",
            "PROC-FORK-SLOW",
            "CPU-SINGLE-THREAD",
            "DISK-READ-SLOW",
            "DIR-HUGE",
            "NFS-METADATA-CHATTY",
        ),
        "The first command measures a job that runs already, the second one starts the job itself.",
    ),
    Symptom(
        "Too many open files",
        "accept, open or socket fail with EMFILE or ENFILE.",
        ("perfdiag latency --unit nginx.service --duration 30",),
        ("FD-EXHAUSTION", "NET-LISTEN-OVERFLOW"),
    ),
    Symptom(
        "No more processes or threads can be started",
        "fork or pthread_create fail with EAGAIN (resource temporarily unavailable, unable to create native thread).",
        ("perfdiag latency --pid 4121 --duration 30",),
        ("PROC-LIMIT", "PROC-FORK-SLOW"),
    ),
    Symptom(
        "perfdiag cannot attach",
        "It ends with an error and exit status 1, 3 or 4, or the report lists much under NOT MEASURED.",
        ("perfdiag check", "perfdiag latency --pid 4121 --engine bpftrace", "perfdiag record -o FILE --pid 4121"),
        (),
        "Status 3: run it as root, or by the rule of sudo in perfdiag(8). Status 4: the target has ended, or has"
        " another pid in this container. Without BTF, the second command records with a script. Without Python 3.11 or"
        " later, the third one records, and perfdiag report FILE reads the file on another host.",
    ),
)


__all__ = ["SYMPTOMS", "Symptom"]
