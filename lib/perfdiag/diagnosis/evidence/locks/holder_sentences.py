"""Sentences on what the holder of a lock does, and on what helps against it."""

from perfdiag.diagnosis.evidence.locks.lock_holders import Holder
from perfdiag.diagnosis.significance import brief
from perfdiag.recording.accounts import phrase_of

# What a holder does, in words, and what to do about it.
ROOTS = {
    "disk.flush": (
        "waits until data is on disk (disk.flush)",
        "flush less often, or outside the lock",
    ),
    "disk.read": ("waits for reads from disk", "read before taking the lock"),
    "disk.write": ("waits for writes to disk", "write after releasing the lock"),
    "net.receive": ("waits for a peer", "do not hold the lock across a request"),
    "runq.throttled": ("is held back by a CPU limit", "raise that limit: cpu.max of its cgroup"),
    "runq.busy": (
        "waits for a CPU, runnable (runq.busy)",
        "give the thread that holds the lock a CPU sooner: fewer threads and processes beside it, or more CPUs",
    ),
    "runtime.safepoint": (
        "is stopped by the JVM (runtime.safepoint)",
        "see what the JVM stops its threads for: -Xlog:safepoint",
    ),
    "cpu.user": ("runs its own code", "shorten the code under the lock or split the lock"),
    "cpu.kernel": ("runs kernel code", "take system calls out of the locked section"),
    "wait.events": ("waits for events (wait.events)", "do not wait for events while holding the lock"),
    "net.request": (
        "waits for the next request of its client (net.request)",
        "end what holds the lock before the client does something else",
    ),
    "wait.timer": ("sleeps on a timer", "do not sleep while holding the lock"),
    "wait.child": ("waits for a child process", "do not wait for a child while holding the lock"),
    "ipc.pipe": ("waits for another process at a pipe", "do not wait for another process while holding the lock"),
    "ipc.unix": ("waits for another process at a socket", "do not wait for another process while holding the lock"),
    "remote.fs": ("waits for a remote file system", "do not hold the lock across file access"),
    "nfs.commit": (
        "waits until an NFS server has flushed its data (nfs.commit)",
        "flush less often, or outside the lock",
    ),
    "nfs.read": ("waits for reads from NFS", "read before taking the lock"),
    "nfs.write": ("waits for writes to NFS", "write after releasing the lock"),
    "nfs.metadata": ("waits for names and attributes on NFS", "open and look up files before taking the lock"),
    "nfs.lock": ("waits for a lock on NFS", "do not take one lock while holding another"),
}


_IN_BRIEF = {
    "disk.flush": "waits for a flush to disk",
    "runq.busy": "waits for a CPU",
    "runtime.safepoint": "is stopped by the JVM",
    "wait.events": "waits for events",
    "net.request": "waits for its client",
    "wait.timer": "sleeps",
    "nfs.commit": "waits until an NFS server has flushed its data",
}


# Where "is" and the phrase of the account make no sentence.
_OTHERS = {
    "cpu.irq": "loses its CPU to interrupts",
    "cpu.stolen": "loses its CPU to the hypervisor",
    "memory.dirty_throttle": "is throttled as it dirties memory",
    "runq.waking": "waits until its idle CPU wakes up",
    "unexplained": "waits for an unknown reason",
    "wait.parked": "is blocked or idle (unknown)",
}


def does(account: str) -> str:
    """Return what a thread in this account does: "waits for a child process"."""
    return ROOTS[account][0] if account in ROOTS else _OTHERS.get(account, f"is {phrase_of(account)}")


def does_in_brief(account: str) -> str:
    """Return the same, as a headline has room for it."""
    return _IN_BRIEF.get(account) or does(account)


def remedy_of(holder: Holder) -> str:
    """Return the remedy for what the holder does, "" if that is unknown or the lock's own remedies say so."""
    if holder.another:
        return f"do not wait for {holder.another} while holding this lock; that lock has its own row"
    if not holder.root or holder.known:
        return ""
    if holder.way:
        return ROOTS.get(holder.way, ("", "do not wait for another thread while holding the lock"))[1]
    return ROOTS.get(holder.root, ("", f"see why the holder spends its time on {phrase_of(holder.root)}"))[1]


def in_brief(holder: Holder) -> str:
    """Return how a headline continues: who holds it, if that is one thread, and what it does meanwhile, if known."""
    who = f"its holder, {brief(holder.name)}," if holder.one else "the thread that holds it"
    if holder.another:
        return f", and {who} waits for another lock"
    if not holder.root:
        return f", held by {brief(holder.name)}" if holder.one else ""
    doing = does_in_brief(holder.way or holder.root)
    return f", which {doing}" if holder.known else f", and {who} {doing}"


def path(holder: Holder, *, of_kernel: bool = False) -> str:
    """Return how the claim continues: from the lock to what its holder does.

    `of_kernel`: it is a lock of the kernel's, whose remedies tell how to want it less: that is no bad advice there.
    """
    if holder.another:
        waits = f"itself waits for another lock ({holder.another})"
        return f", because its holder, {holder.name}, {waits}. Fix that one first"
    if not holder.root:
        return f"; most waits are for {holder.name}" if holder.one else f"; it is taken by {holder.name}"
    doing = does(holder.root)
    if holder.known:
        return f", which {doing}. Fix that, not the lock"
    who = f"its holder, {holder.name}," if holder.one else f"whoever holds it ({holder.name})"
    if holder.root_object:
        doing += f" on {holder.root_object}"
    if holder.way:
        waits = does(holder.way)
        return f", because {who} mostly {waits}, while the thread that it waits for {doing}"
    computes = holder.root.startswith("cpu.")
    instead = "" if of_kernel else ". Fix that, not the lock"
    advice = ": the section under the lock is long" if computes else instead
    return f", because {who} mostly {doing}{advice}"
