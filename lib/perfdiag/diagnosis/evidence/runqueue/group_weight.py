"""Whose weight counts against the others: of the target's control groups the one beside which others use CPUs.

A control group shares the CPUs of its parent with the groups beside it, by their weights.  The weight of the innermost
one counts for nothing against who is outside of its parents, as where a container is alone in its pod.
"""

import shlex
from collections.abc import Sequence
from itertools import pairwise

from perfdiag.diagnosis.evidence.target import cpu_ns, is_shared, setting
from perfdiag.diagnosis.policy import runqueue_policy
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import fix
from perfdiag.facts.host_facts import CpuGroup
from perfdiag.model.model import Model

LARGEST_WEIGHT = {1: 262_144, 2: 10_000}  # cpu.shares, cpu.weight
WAITING = ("idle", "iowait", "steal")  # no process of this host has the CPU


def more_weight(model: Model, competitors: Sequence[int]) -> Remedy | None:
    """Return how to give the target more weight against these processes, the one that has the CPU most first."""
    groups = _weighed_groups(model)
    if not groups or is_shared(model, groups[0]):
        return None
    group = groups[0] if len(groups) == 1 else _most_used_beside(model, groups)
    if group is None:
        return _highest_without(groups, competitors[0]) if competitors else None
    weight = group.weight or 0
    wanted = min(_largest(group), runqueue_policy.trial_weight_factor * weight)
    return setting(f"{group.path}/{_file(group)}", str(wanted), str(weight)) if wanted > weight else None


def _weighed_groups(model: Model) -> list[CpuGroup]:
    """Return the innermost control group of the target and those above it, if weighed; a whole host has none."""
    groups = [group for group in model.facts.cpu_groups if group.depth > 0]
    if model.host or not groups:
        return []
    own = max(groups, key=lambda group: group.depth)
    above = [group for group in groups if f"{own.path}/".startswith(f"{group.path}/") and group.weight]
    return sorted(above, key=lambda group: -group.depth) if own.weight else []


def _most_used_beside(model: Model, groups: Sequence[CpuGroup]) -> CpuGroup | None:
    """Return the group beside which processes that are not the target's used most CPU time; None: not known."""
    times = {name: ns for name, ns in model.facts.cpu_times_ns.items() if not name.startswith("guest")}
    if not times or any(group.usage_ns is None for group in groups):
        return None
    used = [(group.usage_ns or 0) - _own_ns(model, group) for group in groups]
    busy = sum(ns for name, ns in times.items() if name not in WAITING)
    used.append(busy - sum(map(cpu_ns, model.threads)))
    beside = [above - below for below, above in pairwise(used)]
    return groups[beside.index(max(beside))]


def _own_ns(model: Model, group: CpuGroup) -> int:
    """Return the CPU time of the target in a group.  Processes it made are not recorded: taken to be where it is."""
    elsewhere = model.facts.processes.keys() - set(group.pids)
    return sum(cpu_ns(thread) for thread in model.threads if thread.pid not in elsewhere)


def _highest_without(groups: Sequence[CpuGroup], competitor: int) -> Remedy:
    """Return the command that raises the weight of the highest group that does not hold a competitor."""
    paths = [shlex.quote(group.path) for group in reversed(groups)]
    file, largest = _file(groups[0]), _largest(groups[0])
    more = (
        f'weight=$(({runqueue_policy.trial_weight_factor} * $(cat "$group/{file}")));'
        f' echo $((weight < {largest} ? weight : {largest})) >"$group/{file}"'
    )
    return fix(
        f"raise the weight of the control group that competes with process {competitor}: for group in"
        f' {" ".join(paths)}; do grep -rqx {competitor} --include=cgroup.procs "$group" || {{ {more}; break; }}; done;'
        f" note the present values first: grep . {' '.join(f'{path}/{file}' for path in paths)}"
    )


def _largest(group: CpuGroup) -> int:
    return LARGEST_WEIGHT.get(group.version, LARGEST_WEIGHT[2])


def _file(group: CpuGroup) -> str:
    return "cpu.weight" if group.version == 2 else "cpu.shares"
