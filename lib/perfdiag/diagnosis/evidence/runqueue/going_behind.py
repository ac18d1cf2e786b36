"""Which of several processes goes first where they compete for a CPU, and how to let one go behind the target.

Within a control group the scheduler compares nice values; groups it compares by their weights, and sessions by nice
values of their own.  A real-time policy goes before all of these.
"""

from collections.abc import Sequence

from perfdiag.diagnosis.evidence.target import is_shared, is_weighed_by_session, niced, subject, weighed_group
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import is_loopback


def perhaps_yielding(model: Model) -> dict[int, int]:
    """Return the processes with a nice value in a control group, where it is unknown whether others compete there."""
    groups = {pid: weighed_group(model, pid) for pid in niced(model)}
    return {pid: niced(model)[pid] for pid, group in groups.items() if group and is_shared(model, group) is None}


def go_behind(model: Model, named: Sequence[tuple[str, int]]) -> str:
    """Return how to let these processes go behind the target, and what shows whether that works: nice values count
    within a control group or a session, and never against a real-time policy."""
    if not named:
        return "lower the CPU weight of these processes, limit them with a quota, or move them to other CPUs"
    who = ", ".join(f"{comm} ({pid})" for comm, pid in named)
    own = min(model.facts.processes, default=0)
    pid = "$pid" if len(named) > 1 else str(named[0][1])
    yields = f"renice -n 10 -p $(ls /proc/{pid}/task)"
    if sessions := _sessions(model):
        names = " ".join(f"-e '/autogroup-{session} '" for session in sessions)
        # The file of a process that is in no session's group is empty: its own nice value counts.
        yields = f"if grep -qv {names} /proc/{pid}/autogroup; then echo 10 >/proc/{pid}/autogroup; else {yields}; fi"
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
    asked = {each.line.object for each in model.exchanges if each.line.direction == "connected" and each.line.count}
    addresses = {object.removeprefix("peer:").rpartition(":")[0] for object in asked}
    here = any(map(is_loopback, addresses)) or any(object.startswith("unix:") for object in asked)
    answers = "they answer" if several else "it answers"
    return f", unless {answers} calls of {subject(model)}" if here else ""


def _sessions(model: Model) -> list[int]:
    """Return the sessions of the target that compete as a whole: a process of such a one competes with it by its own
    nice value, and what lowers its session lowers the target, too."""
    found = {process.session for pid, process in model.facts.processes.items() if is_weighed_by_session(model, pid)}
    return sorted(session for session in found if session)
