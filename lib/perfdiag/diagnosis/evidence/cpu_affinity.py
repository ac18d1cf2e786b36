"""On which CPUs the target may run, and how to let it use all."""

import shlex
from collections.abc import Sequence

from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import attempt
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
    if thread and bound and own and len(own) < _usable(model, thread.pid, online)[0]:
        return attempt(
            f"taskset -cp {_usable(model, thread.pid, online)[1]} {thread.tid}",
            f"taskset -cp {shlex.quote(bound.strip())} {thread.tid}",
            f"CPUs {bound.strip()} of {online} (thread {thread.tid}, unlike the first of {thread.pid})",
        )
    for pid, process in sorted(model.facts.processes.items()):
        allowed = cpu_list(process.cpus_allowed)
        if not allowed or len(allowed) >= online or not process.cpus_allowed:
            continue
        number, usable = _usable(model, pid, online)
        if len(allowed) >= number:
            return _widened_sets(_narrowing(model, pid, online), online)
        present = process.cpus_allowed.strip()
        return attempt(
            _on_cpus(model, pid, usable),
            _on_cpus(model, pid, shlex.quote(present)),
            f"CPUs {present} of {online} (first thread of {pid})",
        )
    return None


def _usable(model: Model, pid: int, online: int) -> tuple[int, str]:
    """Return how many CPUs the cpusets of a process allow, and which."""
    sets = _narrowing(model, pid, online)
    narrowest = shlex.quote(sets[-1].cpus) if sets else f"0-{online - 1}"
    return len(cpu_list(sets[-1].cpus) or ()) if sets else online, narrowest


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
    files = [(shlex.quote(f"{group.path}/cpuset.cpus"), shlex.quote(group.cpus)) for group in groups]
    return attempt(
        "; ".join(f"echo 0-{online - 1} >{file}" for file, _ in files),
        "; ".join(f"echo {cpus} >{file}" for file, cpus in reversed(files)),
        f"CPUs {groups[-1].cpus} of {online}, by the cpuset of its control group",
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
