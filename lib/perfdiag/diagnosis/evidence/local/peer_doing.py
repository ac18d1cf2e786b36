"""What a process at the other end of the target's waits can be in: in words, and what to do about it."""

from dataclasses import dataclass

from perfdiag.common.units import of_several
from perfdiag.diagnosis.rule import Mechanism


@dataclass(frozen=True)
class Doing:
    """What the other process, or whom it waits for, can be in: in words, and what to do about it."""

    words: str  # behind its name; "{object}" stands for what it is at
    remedy: str  # with "{who}", "{where}", "{waits}", "{pid}" and "{measure}", too
    mechanism: Mechanism = Mechanism.SLOW
    otherwise: str = "a disk"  # stands for an object that is not known


STARTS = "see what that process starts, and what these do: {measure}"
_COMPUTES = Doing("computes", "make {where} cheaper, or call it less")
WAITS = Doing("waits for {object}", "see why {where} {waits} for {object}: {measure}", otherwise="a peer of its own")
DOING: dict[str, Doing] = {
    "cpu.user": _COMPUTES,
    "cpu.kernel": _COMPUTES,
    "wait.timer": Doing("sleeps", "shorten or drop the sleep in {where}", Mechanism.SLEEP),
    "wait.child": Doing("waits for a child process", "see what its child does: {measure}"),
    "wait.stopped": Doing(
        "is stopped, traced or frozen",
        "see who stopped {who}: grep -E 'State|TracerPid' /proc/{pid}/status",
        Mechanism.STOPPED,
    ),
    "runq.busy": Doing("waits for a CPU", "give {who} CPU time: {measure} names who has it", Mechanism.BUSY),
    "runq.throttled": Doing(
        "is held back by a CPU limit",
        "raise the CPU quota of the control group of {who} (cat /proc/{pid}/cgroup; cpu.max or cpu.cfs_quota_us)",
        Mechanism.LIMIT,
    ),
    "disk.read": Doing("reads from {object}", "read less in {where}, or from memory: {measure}"),
    "disk.write": Doing("writes to {object}", "write less in {where}: {measure}"),
    "disk.flush": Doing("flushes to {object}", "flush less often in {where}: {measure}"),
    "lock.file": Doing("waits for a file lock", "see who holds the lock that {who} {waits} for: cat /proc/locks"),
    "net.receive": WAITS,
    "net.connect": Doing("connects to {object}", WAITS.remedy, otherwise=WAITS.otherwise),
    "ipc.unix": Doing("waits at a unix socket", "see who is at the other end of its socket: {measure}"),
    "ipc.pipe": Doing("waits at a pipe", "see who is at the other end of its pipe: {measure}"),
}


def agreeing(words: str, subject: object) -> str:
    """Return what one process does ("sleeps") as several do it where there is no subject: "sleep"."""
    verb, space, rest = words.partition(" ")
    return words if subject else f"{of_several(verb)}{space}{rest}"
