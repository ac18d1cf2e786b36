"""Processes in /proc, without the files that can block forever.

cmdline, maps and environ wait for the process's memory lock, which a stuck process may hold forever. io, exe and the
links in fd and ns wait for an exec to finish; on newer kernels (seen on 6.18) stat and wchan, too. They are never read
here. status, comm, cgroup, net and the names in fd and task wait for nothing.
"""

import os
import select
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from perfdiag.common.text import NO_NAME, printable

KTHREADD = 2  # the parent of all kernel threads
ENDED_STATES = frozenset("ZXx")


@dataclass(frozen=True)
class Process:
    """One process; pids as perfdiag itself sees them."""

    pid: int
    comm: str  # hostile: show `name`
    state: str
    parent: int
    group: int  # process group
    kernel_thread: bool

    @property
    def name(self) -> str:
        """The comm, safe to print."""
        return printable(self.comm) or NO_NAME

    @property
    def ended(self) -> bool:
        """True if no thread is left: a leader can be a zombie while its threads run."""
        if self.state not in ENDED_STATES:
            return False
        try:
            tids = os.listdir(f"/proc/{self.pid}/task")
        except OSError:
            return True
        return all(_state(f"/proc/{self.pid}/task/{tid}/status") in ENDED_STATES for tid in tids)

    def __str__(self) -> str:
        inner = namespace_pid(self.pid)
        return f"{self.name} (pid {self.pid}{'' if inner in (None, self.pid) else f', {inner} inside its container'})"


def read(pid: int) -> Process | None:
    """Return the process of a pid (or of a thread's tid: then its own comm, as a process of its own); None if gone."""
    comm, fields = _read(f"/proc/{pid}/comm"), status(pid)
    if comm is None or not {"State", "PPid"} <= fields.keys():
        return None
    state, parent = fields["State"][0], int(fields["PPid"])
    group = int(fields.get("NSpgid", "0").split("\t")[0])
    return Process(pid, comm.removesuffix("\n"), state, parent, group, _is_kernel_thread(pid, state, parent, fields))


def _is_kernel_thread(pid: int, state: str, parent: int, fields: Mapping[str, str]) -> bool:
    if "Kthread" in fields:  # Linux 6.11
        return fields["Kthread"] == "1"
    # in a container pid 2 is anybody, but whoever lives and is a process has memory
    return KTHREADD in (pid, parent) and "VmSize" not in fields and state not in ENDED_STATES


def everyone() -> Iterator[Process]:
    """Yield all processes of this pid namespace, kernel threads too."""
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (process := read(int(entry))):
            yield process


def status(pid: int) -> dict[str, str]:
    """Return the fields of /proc/PID/status, empty when it is gone."""
    # splitlines() would also part at what a name may hold
    return dict(line.split(":\t", 1) for line in (_read(f"/proc/{pid}/status") or "").split("\n") if ":\t" in line)


def leader(pid: int) -> int | None:
    """Return the process a thread belongs to (itself for a process), None when there is none."""
    return int(group) if (group := status(pid).get("Tgid")) else None


def pidfd(pid: int) -> int | None:
    """Return a descriptor of a process, to be closed; None when it is gone, or cannot be held."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def is_another(pid: int, pidfd: int) -> bool:
    """Whether the process of a descriptor has ended, and its pid is that of one that lives."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    if not poll.poll(0):
        return False
    process = read(pid)
    return process is not None and not process.ended


def namespace_pid(pid: int) -> int | None:
    """Return the pid inside the innermost pid namespace of the process."""
    number = status(pid).get("NSpid", "").rpartition("\t")[2]
    return int(number) if number else None


def by_namespace_pid(number: int) -> list[Process]:
    """Return the processes of inner pid namespaces that have the pid `number` there."""
    found = []
    for process in everyone():
        numbers = status(process.pid).get("NSpid", "").split("\t")
        if len(numbers) > 1 and int(numbers[-1]) == number:
            found.append(process)
    return found


def roots(found: Iterable[Process]) -> list[Process]:
    """Return those of `found` that descend from no other of them."""
    by_pid = {process.pid: process for process in found}
    return [process for process in by_pid.values() if not any(pid in by_pid for pid in ancestors(process))]


def ancestors(process: Process) -> Iterator[int]:
    """Yield the pids of parent, grandparent and so on."""
    seen = {process.pid}
    current: Process | None = process
    while current and current.parent and current.parent not in seen:
        seen.add(current.parent)
        yield current.parent
        current = read(current.parent)


def _state(path: str) -> str:
    """Return the state letter of a status file, "X" when it is gone."""
    text = _read(path) or ""
    return text.partition("\nState:\t")[2][:1] or "X"


def _read(path: str) -> str | None:
    """Return a small file of /proc, None when the process has gone or may not be seen."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            return file.read()
    except OSError:
        return None
