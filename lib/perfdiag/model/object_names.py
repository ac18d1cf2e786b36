"""What an account waited for, in words: "device:254:0" becomes "vda (254:0)".  Everything returned is printable.

Objects are as the recorder wrote them, but for the locks of runtimes, whose words futexes.py puts together
("lock:gil:1234").
"""

import contextlib
import re
from collections.abc import Callable

from perfdiag.common.text import NAME_NOT_KEPT, NO_NAME, endpoint, printable
from perfdiag.common.units import size
from perfdiag.facts.host_facts import Facts
from perfdiag.model.guest import exit_names
from perfdiag.model.waits import postgres_waits
from perfdiag.model.waits.idle_runtime_threads import IDLE_BY_ID
from perfdiag.model.waits.runtime_locks import BY_ID
from perfdiag.model.waits.unix_ends import maker_pid, unix_ends
from perfdiag.recording.recording import Recording

_FIXED = {
    "": "",
    "deadline": "own SCHED_DEADLINE reservation",
    "realtime": "limit of all real-time threads",
    "inflight": "requests in flight",
    "idle": "io_uring or libaio, nothing read or written",
    "uncounted": "nobody knows what is in flight",
}
_FILE = re.compile(r"file:([0-9]+):([0-9]+):([0-9]+)(?::(.*))?", re.DOTALL)
ABSTRACT_NAME_BYTES = 55  # that are kept (bpf/core/records/objects.h)
HALTPOLL = "haltpoll idle"  # of the driver haltpoll: a guest that gives its CPU back to its host


class Names:
    """Resolves the objects of one recording."""

    def __init__(self, facts: Facts, recording: Recording) -> None:
        self._facts = facts
        self._page_bytes = recording.header.host.page_size_bytes
        self._postgres = postgres_waits.major_of(recording.applications)
        self._processes = {line.tid: line.comm for line in recording.threads.values()}
        self._several = len({line.pid for line in recording.threads.values()}) > 1 or bool(recording.processes)
        self._processes |= {line.pid: line.comm for line in recording.processes.values() if line.pid}
        self._processes |= {target.pid: target.comm for target in recording.header.targets}
        self._unix_ends = unix_ends(recording)

    def resolve(self, key: str) -> str:
        """Return an object string of the recording for people; what cannot be resolved stays as it was recorded."""
        if key in _FIXED:
            return _FIXED[key]
        kind, colon, rest = key.partition(":")
        words = None
        if colon and rest:
            with contextlib.suppress(ValueError):  # numbers that are none: shown as recorded
                words = self._words(kind, rest)
        return printable(key if words is None else words)

    def _words(self, kind: str, rest: str) -> str | None:
        if kind in _WORDS:
            return _WORDS[kind](rest)
        match kind:
            case "lock":
                return self._runtime_lock(rest)
            case "device":
                named = rest in self._facts.disks or not self._facts.mount_of(rest)
                return self._facts.disk_name(rest) if named else self._mount(rest)
            case "order":
                known = self._page_bytes is not None and len(rest) < 3
                return f"{size((self._page_bytes or 0) << int(rest))} in one piece" if known else None
            case "unix":
                return self._unix_end(f"{kind}:{rest}")
            case "cgroup":
                group = self._facts.cgroup_of(int(rest))
                return f"cgroup {group.path if group else rest}"
            case "idle":
                return self._idle_state(rest)
            case "file":
                return self._file(rest)
            case "mount":
                return self._mount(rest)
            case "postgres":
                wait = postgres_waits.parse(f"{kind}:{rest}", self._postgres)
                return wait.text if wait else None
        return None

    def _file(self, rest: str) -> str:
        parts = file_parts(f"file:{rest}")
        if parts is None:
            raise ValueError(rest)
        device, inode, name = parts
        where = self._file_system(device)
        return f"{name} (inode {inode}) {where}" if name else f"inode {inode} {where}"

    def _unix_end(self, key: str) -> str:
        """Return who is at the other end, as far as that is known, else who made it."""
        pid, tid, comm = self._unix_ends.get(key, (0, 0, ""))
        if pid and pid != maker_pid(key):
            return f"{comm or NAME_NOT_KEPT} ({tid})"
        maker = task_words(key.partition(":")[2])
        return maker if pid else f"a socket made by {maker}"

    def _idle_state(self, rest: str) -> str:
        """Return "C6", or that the CPU was not in it any more, or not yet in any, when the thread was woken."""
        if rest == "awake":
            return "no idle state entered"
        index, _, left = rest.partition(":")
        states = {state.index: state.name for state in self._facts.idle_states}
        name = states.get(int(index), f"idle state {int(index)}")
        if name == HALTPOLL:
            name = "halt of this guest"
        return f"{name}, left before" if left == "left" else name

    def _runtime_lock(self, rest: str) -> str | None:
        """Return "the GIL", and whose where the target is more than one process, each with its own."""
        id, pid, *address = rest.split(":") if ":" in rest else (rest, "")
        if id not in BY_ID:
            return None
        whose = f" of {self._processes.get(int(pid), 'ended processes')} ({pid})" if self._several and pid else ""
        return " ".join([BY_ID[id].name, *address]) + whose

    def _file_system(self, device: str) -> str:
        """Return on which disk a file is; without one, as a socket in /run, below which mount."""
        mount = None if device in self._facts.disks else self._facts.mount_of(device)
        return f"below {mount.mountpoint}" if mount and mount.root == "/" else f"on {self._facts.disk_name(device)}"

    def _mount(self, device: str) -> str:
        found = self._facts.mounts_of(device)
        words = [f"{mount.source} on {mount.mountpoint} ({mount.fstype})" for mount in found]
        return ", or later ".join(words) or f"file system {device}"


def task_words(rest: str) -> str:
    """Return "python (4121)" of "4121:python"."""
    pid, kept, comm = rest.partition(":")
    return f"{comm or (NO_NAME if kept else NAME_NOT_KEPT)} ({int(pid)})"


def file_parts(object: str) -> tuple[str, int, str] | None:
    """Return device ("8:1"), inode and name of an object "file:8:1:1234:name"; None if it is no file."""
    found = _FILE.fullmatch(object)
    return (f"{found[1]}:{found[2]}", int(found[3]), found[4] or "") if found else None


def _abstract(name: str) -> str:
    """Return an abstract name for people; what stands for a byte that is no text is one byte."""
    shown = name.rstrip("\0")  # who binds the whole address has zeroes behind the name
    if not shown and name:
        return f"@ ({len(name)} zero bytes)"
    kept_bytes = len(name.replace("\ufffd", "?").encode(errors="replace"))
    return f"@{shown}{'...' if shown == name and kept_bytes >= ABSTRACT_NAME_BYTES else ''}"


def _vm_exit(rest: str) -> str | None:
    vendor, _, code = rest.partition(":")
    return exit_names.reason(vendor, int(code))


STOPPED_BY = {
    "stop:signal": "a signal",
    "stop:tracer": "a debugger or tracer",
    "stop:freezer": "the freezer of its control group",
}
# The kinds of objects that name themselves, without the facts of the recording.
_WORDS: dict[str, Callable[[str], str | None]] = {
    "stop": lambda rest: STOPPED_BY.get(f"stop:{rest}"),
    "peer": endpoint,
    "function": "{}()".format,
    "syscall": "{}()".format,
    "port": "port {}".format,
    "pipe": "pipe {}".format,
    "futex": "futex {}".format,
    "limit": "memory.{}".format,
    "server": "NFS server {}".format,
    "runtime": lambda rest: IDLE_BY_ID[rest].name if rest in IDLE_BY_ID else None,
    "task": task_words,
    "own": lambda rest: f"own thread {task_words(rest)}",
    "abstract": _abstract,
    "vmexit": _vm_exit,
}
