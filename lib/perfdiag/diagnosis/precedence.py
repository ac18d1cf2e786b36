"""Which rule is served first where several name the same time.

A rule declares the rules it beats (`Rule.beats`); `levels` puts every rule above all that it beats, directly or through
others.  Two rules that can name the same account and declare nothing of each other stand in `UNDECLARED`, with the
reason why none has to: they never want the same time, or both are true, and the surer, then the larger is served first.
A test knows all pairs.
"""

from collections.abc import Mapping

from perfdiag.diagnosis.rule import Rule

Pair = frozenset[str]


def levels(rules: Mapping[str, Rule]) -> dict[str, int]:
    """Return by id the length of the longest chain of rules that a rule beats: the higher is served first."""
    found: dict[str, int] = {}

    def level(id: str, path: tuple[str, ...]) -> int:
        """A circle, which a test forbids, ends the chain."""
        if id in path or id not in rules:
            return 0
        if id in found:
            return found[id]
        return max((level(beaten, (*path, id)) + 1 for beaten in rules[id].beats), default=0)

    for id in rules:
        found[id] = level(id, ())
    return found


def _pairs(text: str) -> list[Pair]:
    return [frozenset(pair.split()) for pair in text.split(",")]


_BOTH = "; both may be true: the surer, then the larger is served first"
UNDECLARED: Mapping[Pair, str] = {
    pair: reason
    for reason, pairs in (
        (
            "waits behind other processes, behind a kernel thread and behind own threads are different ones",
            "CPU-CONTENTION CPU-OVERSUBSCRIBED, CPU-CONTENTION NET-ACCEPT-HERD, CPU-OVERSUBSCRIBED KSM-SCAN,"
            " KSM-SCAN NET-ACCEPT-HERD, KSM-SCAN VIRT-VCPU-PINNING, CPU-CONTENTION GC-HEAVY, GC-HEAVY KSM-SCAN",
        ),
        ("virtual CPUs wait for no connection", "NET-ACCEPT-HERD VIRT-VCPU-PINNING"),
        ("virtual CPUs collect no garbage", "GC-HEAVY VIRT-VCPU-PINNING"),
        ("threads that only collect garbage accept no connection", "GC-HEAVY NET-ACCEPT-HERD"),
        ("each takes its fraction of what is left, in any order", "CPU-FREQUENCY-LOW NUMA-REMOTE"),
        (
            f"one takes a fraction of all, the other what some functions take{_BOTH}",
            "CPU-FREQUENCY-LOW CPU-SPINNING, CPU-SPINNING NUMA-REMOTE, CPU-FREQUENCY-LOW PROC-FORK-SLOW,"
            " NUMA-REMOTE PROC-FORK-SLOW, CPU-FREQUENCY-LOW GC-HEAVY, GC-HEAVY NUMA-REMOTE,"
            " CPU-FREQUENCY-LOW SQL-SLOW-QUERY, NUMA-REMOTE SQL-SLOW-QUERY,"
            " CPU-FREQUENCY-LOW SQL-CONNECTION-CHURN, NUMA-REMOTE SQL-CONNECTION-CHURN,"
            " CPU-FREQUENCY-LOW NET-CHATTY, NET-CHATTY NUMA-REMOTE, NET-CHATTY VIRT-CLOCKSOURCE,"
            " NET-CHATTY VIRT-CPU-MASKED, NET-CHATTY VIRT-EMULATED-DEVICE",
        ),
        (
            "a failed call comes before a sleep of the thread's own, which the others do not tell",
            "CALL-RETRIED NET-UDP-DROPS, CALL-RETRIED WAIT-THREAD-IN-REQUEST",
        ),
        (
            "samples stand in different functions",
            "CPU-SPINNING PROC-FORK-SLOW, CPU-SPINNING GC-HEAVY, GC-HEAVY PROC-CHILD-SLOW, GC-HEAVY PROC-FORK-SLOW,"
            " DIR-HUGE PROC-CHILD-SLOW, VIRT-CLOCKSOURCE VIRT-CPU-MASKED,"
            " VIRT-CLOCKSOURCE VIRT-EMULATED-DEVICE, VIRT-CPU-MASKED VIRT-EMULATED-DEVICE",
        ),
        (
            "calls to peers are made in other functions",
            "CPU-SPINNING NET-CHATTY, DIR-HUGE NET-CHATTY, NET-CHATTY PROC-CHILD-SLOW, NET-CHATTY PROC-FORK-SLOW,"
            " NET-CHATTY SQL-CONNECTION-CHURN",
        ),
        (
            "servers of SQL neither poll, fork nor collect garbage while they run a statement",
            "CPU-SPINNING SQL-SLOW-QUERY, GC-HEAVY SQL-SLOW-QUERY, PROC-CHILD-SLOW SQL-SLOW-QUERY,"
            " PROC-FORK-SLOW SQL-SLOW-QUERY",
        ),
        (
            "servers of SQL neither poll nor collect garbage while a session begins or ends",
            "CPU-SPINNING SQL-CONNECTION-CHURN, GC-HEAVY SQL-CONNECTION-CHURN",
        ),
        (
            f"one takes the time of sessions, the other what functions take in all threads{_BOTH}",
            "SQL-CONNECTION-CHURN VIRT-CLOCKSOURCE, SQL-CONNECTION-CHURN VIRT-CPU-MASKED,"
            " SQL-CONNECTION-CHURN VIRT-EMULATED-DEVICE",
        ),
        (
            f"one takes the time of a thread, the other what functions take in all threads{_BOTH}",
            "CPU-SINGLE-THREAD DIR-HUGE, CPU-SINGLE-THREAD NET-CHATTY, CPU-SINGLE-THREAD PROC-CHILD-SLOW",
        ),
        (
            f"why there are so many reads, and why each takes long{_BOTH}",
            "DIR-HUGE DISK-QUEUEING, DIR-HUGE STORAGE-LOOP, DISK-ERRORS MEM-CGROUP-LIMIT,"
            " DISK-MEMBER-SLOW MEM-CACHE-MISSES, DISK-THROTTLED MEM-CACHE-MISSES",
        ),
        (
            f"a disk may be slow in several ways at once{_BOTH}",
            "DISK-QUEUEING STORAGE-LOOP, DISK-MEMBER-SLOW DISK-THROTTLED",
        ),
        (
            "commits are only told where the disk is not at fault, which is served first",
            "DISK-ERRORS SQL-COMMIT-BOUND, DISK-MEMBER-SLOW SQL-COMMIT-BOUND, DISK-QUEUEING SQL-COMMIT-BOUND,"
            " DISK-SATURATED SQL-COMMIT-BOUND, DISK-THROTTLED SQL-COMMIT-BOUND, SQL-COMMIT-BOUND STORAGE-LOOP",
        ),
        ("waits for the log of a database are told apart from all its other locks", "SQL-COMMIT-BOUND SQL-LOCK-WAIT"),
        (
            "of a target whose requests' time is known nothing is said of idle time",
            "TARGET-BLOCKED-OR-IDLE WAIT-THREAD-IN-REQUEST, TARGET-BLOCKED-OR-IDLE WAIT-TIMER-IN-REQUEST,"
            " TARGET-SLEEPS WAIT-TIMER-IN-REQUEST, SQL-SERVER-WAIT TARGET-IDLE",
        ),
        ("who takes turns at a lock of its own waits for no process of the server", "LOCK-CONTENTION SQL-SERVER-WAIT"),
        ("of sleep, one takes a lock's retries, the other pauses of requests", "LOCK-CONTENTION NET-CONNECT-SLOW"),
        ("exits have different reasons", "KVM-EXIT-EMULATED-IO KVM-HALT-POLLING"),
        ("waits are in different system calls", "QUEUE-FULL TTY-NOT-READ"),
        (
            "time until a request is read is parted by what its reader was in meanwhile",
            "FD-EXHAUSTION LOOP-BLOCKED, FD-EXHAUSTION POOL-SATURATED, FD-EXHAUSTION READER-ELSEWHERE,"
            " FD-EXHAUSTION READER-NOT-LISTENING, FD-EXHAUSTION WAIT-THREAD-IN-REQUEST,"
            " LOOP-BLOCKED POOL-SATURATED, LOOP-BLOCKED READER-ELSEWHERE, LOOP-BLOCKED READER-NOT-LISTENING,"
            " LOOP-BLOCKED WAIT-THREAD-IN-REQUEST, POOL-SATURATED READER-ELSEWHERE,"
            " POOL-SATURATED READER-NOT-LISTENING, POOL-SATURATED WAIT-THREAD-IN-REQUEST,"
            " READER-ELSEWHERE READER-NOT-LISTENING, READER-ELSEWHERE WAIT-THREAD-IN-REQUEST,"
            " READER-NOT-LISTENING WAIT-THREAD-IN-REQUEST",
        ),
        (
            "a futex is for a lock, for another thread, or a timeout ends the waits for it",
            "LOCK-CONTENTION WAIT-THREAD-IN-REQUEST, WAIT-THREAD-IN-REQUEST WAIT-TIMER-IN-REQUEST",
        ),
        (
            "waits for sessions of a database are told apart from those for other threads, and none is for a peer",
            "SQL-IDLE-IN-TRANSACTION WAIT-THREAD-IN-REQUEST, CONCURRENCY-LIMIT SQL-IDLE-IN-TRANSACTION",
        ),
        (f"the limit that slows down, and the one that kills{_BOTH}", "MEM-HIGH-THROTTLE OOM-KILL"),
        (
            f"of one connection several may be true{_BOTH}",
            "NET-CHATTY NET-DELAYED-ACK, NET-CHATTY NET-DNS-SLOW, NET-DELAYED-ACK SQL-CHATTY,"
            " NET-DNS-SLOW SQL-CHATTY, NET-CONGESTION NET-RECEIVER-WINDOW,"
            " NET-DELAYED-ACK NET-DNS-SLOW, NET-RETRANSMITS NET-SLOW-CLIENT,"
            " NET-CHATTY NET-CORKED, NET-CORKED NET-DELAYED-ACK, NET-CORKED NET-DNS-SLOW,"
            " NET-CORKED NET-RETRANSMITS, NET-CORKED NET-SLOW-CLIENT, NET-CORKED SQL-CHATTY,"
            " NET-CHATTY NET-CONGESTION, NET-CONGESTION NET-CORKED, NET-CONGESTION NET-DNS-SLOW,"
            " NET-CONGESTION SQL-CHATTY",
        ),
        ("the other end of a connection is the target's own, or not", "NET-PEER-SLOW NET-SELF-SLOW"),
        (
            "one asks by UDP, the other by TCP, or several may be true of a peer",
            "NET-CHATTY NET-UDP-DROPS, NET-CORKED NET-UDP-DROPS, NET-DELAYED-ACK NET-UDP-DROPS,"
            " NET-DNS-SLOW NET-UDP-DROPS, NET-RETRANSMITS NET-UDP-DROPS, NET-SLOW-CLIENT NET-UDP-DROPS,"
            " NET-UDP-DROPS SQL-CHATTY, NET-CONNECT-SLOW NET-UDP-DROPS, NET-CONGESTION NET-UDP-DROPS",
        ),
        (f"one sleeps before it tries a lock again, the other before it asks{_BOTH}", "LOCK-CONTENTION NET-UDP-DROPS"),
        (
            f"each takes its own part of a call: queue, round trip, server, locks{_BOTH}",
            "NFS-CLIENT-QUEUE NFS-COMMIT-SLOW, NFS-CLIENT-QUEUE NFS-LOCK-SLOW, NFS-CLIENT-QUEUE NFS-METADATA-CHATTY,"
            " NFS-CLIENT-QUEUE NFS-SERVER-SLOW, NFS-COMMIT-SLOW NFS-METADATA-CHATTY, NFS-COMMIT-SLOW NFS-SERVER-SLOW,"
            " NFS-LOCK-SLOW NFS-METADATA-CHATTY, NFS-LOCK-SLOW NFS-SERVER-SLOW, NFS-METADATA-CHATTY NFS-SERVER-SLOW",
        ),
    )
    for pair in _pairs(pairs)
}
