"""Which of several processes goes first where they compete for a CPU, and how to let one go behind the target.

Within a control group the scheduler compares nice values; groups it compares by their weights, and sessions by nice
values of their own.  A real-time policy goes before all of these.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.text import printable
from perfdiag.diagnosis.evidence.target import is_shared, is_weighed_by_session, niced, subject, weighed_group, write
from perfdiag.facts.cgroup import Weight
from perfdiag.facts.competitors import REAL_TIME, Competitor
from perfdiag.facts.process import IDLE_POLICY
from perfdiag.model.model import Model, once
from perfdiag.model.requests.exchanges import is_loopback
from perfdiag.model.waits.unix_ends import UNIX, maker_pid
from perfdiag.recording.accounts import PIPE

NAMED = 3
SEVERAL = 2
INIT = 1  # of any host or container
YIELDING_NICE = 10
UNITS = (".service", ".scope", ".slice")  # of systemd


def perhaps_yielding(model: Model) -> dict[int, int]:
    """Return the processes with a nice value in a control group, where it is unknown whether others compete there."""
    groups = {pid: weighed_group(model, pid) for pid in niced(model)}
    return {pid: niced(model)[pid] for pid, group in groups.items() if group and is_shared(model, group) is None}


def go_behind(model: Model, named: Sequence[tuple[str, int]]) -> str:
    """Return how to let the first of these processes go behind the target: by what was seen of them when the window
    ended, or by a command that looks."""
    if not named:
        return "lower the CPU weight of these processes, limit them with a quota, or move them to other CPUs"
    serving = answering(model)
    if all(pid in serving for _, pid in named):
        who = f"{subject(model)} and who answers it, {_names(named[:NAMED])}"
        return f"give {who}, more CPUs, or CPUs of their own (taskset, cpuset)"
    named = [(comm, pid) for comm, pid in named if pid not in serving]
    seen = model.facts.competitors
    known = [(comm, pid) for comm, pid in named if pid in seen]
    living = [(comm, pid) for comm, pid in known if not seen[pid].ended][:NAMED]
    if not living:
        # Several of that name had ended, and none was met that lived: it comes and goes.
        of_first = [(comm, pid) for comm, pid in known if comm == named[0][0]]
        ended = len(of_first) >= SEVERAL or 0 < len(known) == len(named)
        return _starter(of_first or known) if ended else _by_looking(model, named[:NAMED])
    means = groups_by_key((_means(model, seen[pid]), (comm, pid)) for comm, pid in living)
    return "; ".join(_command(model, each, who) for each, who in means.items())


def _names(named: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{comm} ({pid})" for comm, pid in named)


@once
def answering(model: Model) -> frozenset[int]:
    """Return the processes outside the target that end its waits at pipes and sockets of this host, or made the other
    ends: the target waits for what they do, and is slower if they are.  init goes behind nobody either."""
    rows = model.rows_of(PIPE, UNIX, "net.receive")
    found = {pid for row in rows for pid in (row.waker_pid or row.waker_tid, maker_pid(row.key)) if pid}
    return frozenset(found | {INIT})


def _starter(ended: Sequence[tuple[str, int]]) -> str:
    """Return what helps against processes that had ended when the window did."""
    comm, pid = ended[0]
    again = " again and again" if sum(each == comm for each, _ in ended) > 1 else ""
    return (
        f"find out who starts {comm}{again} ({comm} ({pid}) has ended), and start it with nice -n 10, or at another"
        " time; execsnoop shows its parent"
    )


@dataclass(frozen=True, slots=True)
class _Means:
    """How a process is let go behind: a command for `$pid`, and what is now."""

    command: str
    now: str


def _means(model: Model, seen: Competitor) -> _Means:
    """Return it by whatever has the last word of its real-time policy, the weight of a control group that the target is
    not in, its session, and its own nice value."""
    if seen.policy in REAL_TIME:
        return _Means("chrt -a -o -p 0 $pid", "real-time")
    own = {group.path for group in model.facts.cpu_groups if group.depth > 0 and group.weight}
    if apart := [group for group in seen.weighed if group.directory not in own]:
        return _less_weight(apart[-1])
    if _competes_by_session(model, seen):
        return _Means("echo 10 >/proc/$pid/autogroup", f"nice {seen.session_nice} as a session")
    if seen.policy == IDLE_POLICY:
        return _Means("taskset -acp CPUS $pid", f"SCHED_IDLE already: CPUS are some that {subject(model)} does not use")
    if (seen.nice or 0) >= YIELDING_NICE:
        return _Means("chrt -a -i -p 0 $pid", f"nice {seen.nice}")
    return _Means(f"renice -n {YIELDING_NICE} -p $(ls /proc/$pid/task)", f"nice {seen.nice or 0}")


def _less_weight(group: Weight) -> _Means:
    """Return how to give a control group a quarter of its weight for CPUs, or a quota if it has the least already."""
    path, unit = group.directory, PurePosixPath(group.directory).name
    shown = printable(path, len(path))
    what = f"cpu weight {group.weight} of all in {shown}"
    less = max(1 if group.version == 2 else 2, group.weight // 4)
    if less == group.weight or shown != path:
        return _Means("set a quota of CPU time for its control group", what)
    if group.version == 2 and unit.endswith(UNITS) and not _is_below_a_service(path):
        return _Means(f"systemctl set-property --runtime -- {shlex.quote(unit)} CPUWeight={less}", what)
    return _Means(write(str(less), f"{path}/{'cpu.weight' if group.version == 2 else 'cpu.shares'}"), what)


def _is_below_a_service(path: str) -> bool:
    """Return whether a unit is one of a manager that is a unit itself, as a user's: systemctl does not know it."""
    return any(parent.name.endswith(".service") for parent in PurePosixPath(path).parents)


def _competes_by_session(model: Model, seen: Competitor) -> bool:
    """Return whether the nice value of its session counts: not for who is in the target's own, unless control groups
    are between them."""
    counts = model.facts.sysctl("kernel/sched_autogroup_enabled") == "1" and not seen.weighed
    return counts and seen.session is not None and seen.session not in _sessions(model)


def _command(model: Model, means: _Means, who: Sequence[tuple[str, int]]) -> str:
    names = _names(who)
    command = f"{_guard(model)}{means.command}" if "$pid" in means.command else means.command
    if len(who) == 1:
        command = command.replace("$pid", str(who[0][1]))
    elif "$pid" in command:
        command = f"for pid in {' '.join(str(pid) for _, pid in who)}; do {command}; done"
    return f"lower the priority of {names}{_unless(model, len(who) > 1)}: {command} (now {means.now})"


def _by_looking(model: Model, named: Sequence[tuple[str, int]]) -> str:
    """Return how to do it where it is not known how they are scheduled, and what shows whether that works: nice values
    count within a control group or a session, and never against a real-time policy."""
    who = _names(named)
    own = min(model.facts.processes, default=0)
    pid = "$pid" if len(named) > 1 else str(named[0][1])
    yields, guard = f"renice -n 10 -p $(ls /proc/{pid}/task)", _guard(model).replace("$pid", pid)
    if sessions := _sessions(model):
        names = " ".join(f"-e '/autogroup-{session} '" for session in sessions)
        # The file of a process that is in no session's group is empty: its own nice value counts.
        yields = f"if grep -qv {names} /proc/{pid}/autogroup; then echo 10 >/proc/{pid}/autogroup; else {yields}; fi"
    yields = f"{guard}{{ {yields}; }}" if guard else yields
    if len(named) > 1:
        yields = f"for pid in {' '.join(str(each) for _, each in named)}; do {yields}; done"
    pids = ",".join(str(each) for each in [*(each for _, each in named), *([own] if own else [])])
    return (
        f"lower the priority of {who}{_unless(model, len(named) > 1)}: {yields};"
        f" note the present values first: ps -o pid,cls,ni,cgroup -p {pids}"
        f" (if cgroup differs, lower the cpu.weight of theirs; FF and RR are real-time: chrt -a -o -p 0 {named[0][1]})"
    )


def _unless(model: Model, several: bool) -> str:
    """Return the condition that they do not serve the target: who is asked on this host may be any of them."""
    here = _ports_here(model) or any(object.startswith("unix:") for object in _asked(model))
    answers = "they answer" if several else "it answers"
    return f", unless {answers} calls of {subject(model)}" if here else ""


def _guard(model: Model) -> str:
    """Return the begin of a command that passes over `$pid` if it listens where the target calls on this host."""
    ports = sorted(_ports_here(model))
    where = f" '{' or '.join(f'sport = :{port}' for port in ports)}'" if len(ports) <= NAMED else ""
    return f"{_beside_the_target(model, f'ss -Hltnp{where}')} | grep -q pid=$pid, || " if ports else ""


def _beside_the_target(model: Model, command: str) -> str:
    """Return a command as it is to be run in the target's network namespaces: elsewhere others have its ports."""
    there = model.facts.network_namespaces
    if all(each.own for each in there):
        return command
    if len(there) == 1:
        return f"nsenter -t {there[0].pid} -n {command}"
    pids = " ".join(str(each.pid) for each in there)
    return f"for target in {pids}; do nsenter -t $target -n {command}; done"


def _ports_here(model: Model) -> set[str]:
    """Return the TCP ports of this host that the target calls."""
    peers = (object.removeprefix("peer:").rpartition(":") for object in _asked(model) if object.startswith("peer:"))
    return {port for address, _, port in peers if is_loopback(address)}


def _asked(model: Model) -> set[str]:
    return {each.line.object for each in model.exchanges if each.line.direction == "connected" and each.line.count}


def _sessions(model: Model) -> list[int]:
    """Return the sessions of the target that compete as a whole: a process of such a one competes with it by its own
    nice value, and what lowers its session lowers the target, too."""
    found = {process.session for pid, process in model.facts.processes.items() if is_weighed_by_session(model, pid)}
    return sorted(session for session in found if session)
