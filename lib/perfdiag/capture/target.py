"""What to measure: the selectors of the command line, resolved to processes."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from perfdiag.capture import cgroups, listening_sockets, name_patterns, processes
from perfdiag.capture.cgroups import Group
from perfdiag.capture.processes import Process
from perfdiag.common.errors import PerfdiagError, TargetGone, UsageError
from perfdiag.common.text import printable, typed
from perfdiag.common.units import first_of
from perfdiag.facts.texts import lines_of, words_of

COMM_LIMIT = 15  # the kernel keeps no more of a name
SHOWN = 10
SHOWN_PIDS = 4
PIDS_LIMIT = 4096  # MAX_TARGETS of the recorder
PID_NAMESPACE = Path("/proc/self/ns/pid")
HOST_NAMESPACE = 0xEFFFFFFC  # its inode: PROC_PID_INIT_INO of linux/proc_ns.h
CLOCK_OFFSETS = Path("/proc/self/timens_offsets")  # a clock a line, with the seconds and nanoseconds added to it
SELECTORS = ("name", "port", "unit", "container", "cgroup")  # of which one can be given, besides pids and a command
# What starts programs that have nothing to do with each other, whatever their names.
SHELLS = frozenset({"sh", "ash", "bash", "dash", "zsh", "fish", "ksh", "mksh", "tcsh", "csh", "tmux: server", "screen"})
ELEVATORS = frozenset({"sudo", "doas", "su", "pkexec", "timeout"})  # what may stand between a user's shell and perfdiag


@dataclass(frozen=True)
class Wanted:
    """The selectors as given; exactly one kind may be."""

    pids: tuple[int, ...] = ()
    name: str | None = None
    port: int | None = None
    unit: str | None = None
    container: str | None = None
    cgroup: str | None = None
    command: tuple[str, ...] = ()
    only: bool = False

    def check(self) -> None:
        """Raise UsageError unless exactly one kind of selector is given, with a valid value."""
        given = [f"--{name}" for name in SELECTORS if getattr(self, name) is not None]
        given += ["--pid"] * bool(self.pids) + ["COMMAND"] * bool(self.command)
        choices = "--pid PID, --name REGEX, --port N, --unit NAME, --container NAME, --cgroup PATH or -- COMMAND"
        if not given:
            raise UsageError("nothing says what to measure", f"give one of {choices}")
        if len(given) > 1:
            raise UsageError(f"{' and '.join(given)} do not go together", f"give one of {choices}")
        for name in SELECTORS:
            if getattr(self, name) == "":  # would match everything, or a group that has no name
                raise UsageError(f"--{name} is empty", "is a variable of a script not set?")
        if self.name is not None:
            name_patterns.compiled(self.name)

    @property
    def words(self) -> str:
        """The selector as typed in a shell, safe to print: "--port 5432", "-- tar ..."."""
        if self.command:
            arguments = " ..." if len(self.command) > 1 else ""  # left out: they can contain a secret
            return typed(["--", self.command[0]]) + arguments
        given = [("pid", pid) for pid in self.pids[:SHOWN_PIDS]]
        given += [(name, value) for name in SELECTORS if (value := getattr(self, name)) is not None]
        return typed([word for name, value in given for word in (f"--{name}", str(value))])


@dataclass(frozen=True)
class Target:
    """The processes the recorder is told to follow, and what the user is told."""

    description: str
    pids: tuple[int, ...]
    notes: tuple[str, ...] = field(default=())  # what was decided on the way
    group: Group | None = None  # whoever comes into it is followed, too


def check_namespaces() -> None:
    """Raise PerfdiagError if our pids or our clocks are not the kernel's, by which the recorder's programs know the
    target and time."""
    _check_clocks()
    try:
        number = PID_NAMESPACE.stat().st_ino
    except OSError:  # nothing can be told without /proc
        return
    if number != HOST_NAMESPACE:
        raise PerfdiagError(
            "perfdiag runs in its own pid namespace, where the kernel's pids are unknown",
            "start it on the host, or start the container with --pid=host",
        )


def _check_clocks() -> None:
    try:
        clocks = [words_of(line)[1:] for line in lines_of(CLOCK_OFFSETS.read_text())]
    except OSError:  # a kernel without time namespaces, or no /proc
        return
    if any(offset != "0" for clock in clocks for offset in clock):
        raise PerfdiagError(
            "perfdiag runs in a time namespace, whose clocks are not the kernel's",
            "start it on the host: nsenter --time=/proc/1/ns/time perfdiag ...",
        )


def resolve(wanted: Wanted) -> Target:
    """Return the selected processes. Raises TargetGone if there is none (any more), UsageError if several could be
    meant or it cannot be measured."""
    if wanted.pids:
        return _of_pids(wanted)
    if wanted.name is not None:
        return _of_name(wanted, wanted.name)
    if wanted.port is not None:
        found = listening_sockets.listeners(wanted.port, _others())
        if not found:
            raise TargetGone(f"--port {wanted.port}: no process listens there", "ss -ltunp shows who listens where")
        return _of_program(found, f"--port {wanted.port}", wanted.only)
    if wanted.unit is not None:
        return _of_group(cgroups.by_unit(wanted.unit), "unit", wanted.unit, wanted.only)
    if wanted.container is not None:
        return _of_group(cgroups.by_container(wanted.container), "container", wanted.container, wanted.only)
    assert wanted.cgroup is not None, "check() came first"
    return _of_group(cgroups.by_path(wanted.cgroup), "control group", wanted.cgroup, wanted.only)


def _of_pids(wanted: Wanted) -> Target:
    found: list[Process] = []
    notes: list[str] = []
    for number in dict.fromkeys(wanted.pids):
        process = _of_pid(number, notes)
        if process.kernel_thread:
            raise UsageError(
                f"{process} is a thread of the kernel: only perfdiag host measures those",
                "perfdiag host, or measure the process that this one works for",
            )
        if process.ended:
            raise TargetGone(f"{process} has ended, and its parent (pid {process.parent}) has not collected it yet")
        if process not in found:
            found.append(process)
    return _target(found, "--pid", wanted.only, notes)


def _of_pid(number: int, notes: list[str]) -> Process:
    """Return the process of a pid in our pid namespace, else in an inner one; notes say which was used."""
    leader = processes.leader(number)
    process = processes.read(leader or number)
    if process:
        if leader != number:
            notes.append(f"{number} is a thread of {process}: the process is measured")
        return process
    inside = processes.by_namespace_pid(number)
    if not inside:
        raise TargetGone(f"no process has pid {number}", "it may have ended; list processes with ps -e")
    if len(inside) > 1:
        raise UsageError(
            f"pid {number} is not a pid of this host, and means {len(inside)} processes inside containers",
            _choice(inside),
        )
    notes.append(f"{number} is a pid inside a container: using {inside[0]}")
    return inside[0]


def _of_name(wanted: Wanted, pattern: str) -> Target:
    others = _others()
    names = name_patterns.matching(pattern, sorted({process.comm for process in others}))
    found = [process for process in others if process.comm in names]
    if not found:
        hint = "list the names with ps -eo pid,comm"
        if len(pattern) > COMM_LIMIT:
            hint += f"; the kernel keeps only {COMM_LIMIT} characters of a name"
        raise TargetGone(f"--name {printable(pattern)}: no process has such a name", hint)
    return _of_program(found, f"--name {printable(pattern)}", wanted.only)


def _of_program(found: list[Process], what: str, only: bool) -> Target:
    """Return the one program that `found` belong to: a process and its descendants, or workers started together."""
    tops = processes.roots(found)
    first = tops[0]
    if len(tops) > 1:
        together = {(process.comm, process.parent, process.group) for process in tops}
        parent = processes.read(first.parent)
        if len(together) > 1 or first.parent <= 1 or (parent and parent.comm in SHELLS):
            raise UsageError(f"{what} matches {len(tops)} separate processes", _choice(tops))
        note = f"{what} matches {len(found)} processes, workers of {parent or 'one parent'}: measured together"
    else:
        note = f"{what} matches {len(found)} processes: {first} and those it started, measured together"
    return _target(found if only else tops, what, only, [note] if len(found) > 1 else [])


def _of_group(group: Path, kind: str, name: str, only: bool) -> Target:
    what = f"{kind} {printable(name)}"
    members = cgroups.processes(group)
    if not members and cgroups.is_threaded(group):
        raise UsageError(
            f"{what} holds threads, not processes", "give their process, or the group above: --pid, --cgroup"
        )
    if not members:
        raise TargetGone(f"{what} has no processes", "a stopped service may leave an empty group behind")
    if cgroups.whole_host(group):
        raise UsageError(f"{what} is the whole host", "choose a group below it")
    _check_number(what, len(members), "choose a group below it")
    known = None if only else cgroups.identify(group)
    more = "" if only else ", those they start and those that join it" if known else " and those they start"
    notes = [f"using {printable(str(group))}"]
    if not known:
        notes.append("a process that joins it from outside meanwhile is not seen")
    if os.getpid() in members:
        notes.append("perfdiag runs in it and is measured, too: start it from another group")
    return Target(f"{what}: {_count(len(members))}{more}", tuple(members), tuple(notes), known)


def _target(found: list[Process], what: str, only: bool, notes: Iterable[str]) -> Target:
    _check_number(what, len(found), "choose some of them: --pid")
    shown = first_of([str(process) for process in found], 3)
    own = processes.read(os.getpid())
    above = set(processes.ancestors(own)) if own and not only else set()
    if above & {process.pid for process in found}:
        hint = "a thread that waits for them shows as waiting for a child"
        notes = [*notes, f"perfdiag was started from this target: its own processes are left out; {hint}"]
    whose = "" if only else " with its descendants" if len(found) == 1 else " with their descendants"
    return Target(shown + whose, tuple(process.pid for process in found), tuple(notes))


def _check_number(what: str, number: int, hint: str) -> None:
    if number > PIDS_LIMIT:
        raise UsageError(f"{what} has {number} processes, more than the {PIDS_LIMIT} that can be followed", hint)


def _others() -> list[Process]:
    """Return all living processes except the kernel's, perfdiag's own, and the sudo it was started with."""
    own = {os.getpid()}
    parent = processes.read(os.getppid())
    while parent and parent.comm in ELEVATORS:
        own.add(parent.pid)
        parent = processes.read(parent.parent)
    return [
        process
        for process in processes.everyone()
        if not process.kernel_thread and process.pid not in own and process.parent != os.getpid() and not process.ended
    ]


def _choice(found: list[Process]) -> str:
    lines = [f"  --pid {process.pid:<8} {process}, child of pid {process.parent}" for process in found[:SHOWN]]
    more = [f"  and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return "\n".join(["choose one, or repeat --pid:", *lines, *more])


def _count(number: int) -> str:
    return "1 process" if number == 1 else f"{number} processes"
