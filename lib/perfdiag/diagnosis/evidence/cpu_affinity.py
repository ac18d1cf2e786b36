"""On which CPUs the target may run, and how to let it use all."""

import shlex
from collections.abc import Sequence

from perfdiag.diagnosis.evidence.debuggers import has_ended
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import attempt, fix
from perfdiag.facts.cgroup import CpusetGroup
from perfdiag.facts.cpu_sets import cpu_list
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger

MOST_PIDS = 8  # of a command that names each


def widened_affinity(model: Model, thread: ThreadLedger | None = None) -> Remedy | None:
    """Return the trial that lets the target use all CPUs, if it may use fewer now; of one thread, if that has CPUs
    of its own.  No affinity reaches beyond the cpuset of a control group: that is widened then."""
    online = model.header.host.cpus_online
    if online is None:
        return None
    process = model.facts.processes.get(thread.pid) if thread else None
    bound = (process.thread_cpus or {}).get(thread.tid) if thread and process else None
    own = cpu_list(bound)
    if thread and bound and own:
        number, usable = _usable(_narrowing(model, thread.pid, online), online)
        if len(own) < number:
            return attempt(
                f"taskset -cp {usable} {thread.tid}",
                f"taskset -cp {shlex.quote(bound.strip())} {thread.tid}",
                f"CPUs {bound.strip()} of {online} (thread {thread.tid}, unlike the first of {thread.pid})",
            )
    for pid, process in sorted(model.facts.processes.items()):
        allowed = cpu_list(process.cpus_allowed)
        if allowed and len(allowed) < online and process.cpus_allowed:
            return _widened(model, pid, process.cpus_allowed.strip(), online)
    return None


def _widened(model: Model, pid: int, present: str, online: int) -> Remedy:
    """Return the trial that widens the affinity of a process, or the cpusets that keep it from more CPUs."""
    groups = _narrowing(model, pid, online)
    number, usable = _usable(groups, online)
    if len(cpu_list(present) or ()) >= number:
        return _widened_sets(groups, online)
    if has_ended(model):
        return fix(f"start it with more CPUs than {present} (of {online}): taskset -c {usable} COMMAND")
    return attempt(
        _on_cpus(model, pid, usable),
        _on_cpus(model, pid, shlex.quote(present)),
        f"CPUs {present} of {online} (first thread of {pid})",
    )


def _usable(groups: Sequence[CpusetGroup], online: int) -> tuple[int, str]:
    """Return how many CPUs these groups, the outermost first, leave of all, and which."""
    if not groups:
        return online, f"0-{online - 1}"
    return len(cpu_list(groups[-1].cpus) or ()), shlex.quote(groups[-1].cpus)


def _narrowing(model: Model, pid: int, online: int) -> list[CpusetGroup]:
    """Return the groups of a process that allow fewer CPUs than the group around them, the outermost first."""
    found, before = [], online
    for group in sorted(model.facts.cpuset_groups, key=lambda each: each.depth):
        number = len(cpu_list(group.cpus) or ())
        if pid in group.pids and 0 < number < before:
            found.append(group)
            before = number
    return found


def _widened_sets(groups: Sequence[CpusetGroup], online: int) -> Remedy:
    if not groups[0].depth:  # a container sees itself as the root, and cannot change that
        return fix(
            f"let the container use more CPUs than {groups[0].cpus} (of {online}), from outside: docker update"
            f" --cpuset-cpus=0-{online - 1}, or AllowedCPUs= of its unit"
        )
    files = [(shlex.quote(f"{group.path}/cpuset.cpus"), shlex.quote(group.cpus)) for group in groups]
    return attempt(
        "; ".join(f"echo 0-{online - 1} >{file}" for file, _ in files),
        "; ".join(f"echo {cpus} >{file}" for file, cpus in reversed(files)),
        f"CPUs {groups[-1].cpus} of {online}, by the cpuset of {groups[-1].path}",
    )


def _on_cpus(model: Model, pid: int, cpus: str) -> str:
    """Return the command that lets a process use these CPUs; its children, too, which have inherited its own: a change
    does not reach those that run."""
    known = model.facts.processes
    forked = {thread.pid for thread in model.threads if thread.pid and not thread.exited} - {*known}
    alike = {other for other, process in known.items() if process.cpus_allowed == known[pid].cpus_allowed} - {pid}
    forked |= alike
    if not forked:
        return f"taskset -acp {cpus} {pid}"
    pids = [pid, *sorted(forked)]
    which = " ".join(map(str, pids)) if len(pids) <= MOST_PIDS else f"{pid} $(pgrep -P {pid})"
    return f"for pid in {which}; do taskset -acp {cpus} $pid; done"
