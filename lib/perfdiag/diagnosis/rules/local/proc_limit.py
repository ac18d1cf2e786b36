"""PROC-LIMIT: no more processes or threads can be started."""

import math
from collections.abc import Iterable, Iterator, Sequence

from perfdiag.common.text import typed_path
from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.target import setting, subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import local_policy
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import attempt, brief, fix, percent, plain
from perfdiag.facts.cgroup import PidsGroup
from perfdiag.facts.user_tasks import UserAtLimit, nearest_of, read_users_at_limit
from perfdiag.model.model import Model

ID = "PROC-LIMIT"
_UNSEEN = "no refused start was seen: the limit is reached, and nothing may want more"


@rule(
    ID,
    title="No more processes or threads can be started",
    accounts=(),
    meaning="The target's user has as many tasks (processes and threads) as its RLIMIT_NPROC allows, or its control"
    " group as many as pids.max allows. Then fork() and pthread_create() fail with EAGAIN: shells wait and try again,"
    " servers cannot start workers, a JVM says that it is unable to create a native thread. It claims no time: what the"
    " target waits for meanwhile has findings of its own.",
    measured="pids.current and pids.max of the target's control group and those above it, with what was refused in the"
    " window (pids.events); the threads of all processes of its user, counted when the window ended, against"
    " /proc/PID/limits of each process of the target. Root is not held to the latter.",
    alternatives="A leak of processes or threads, which a higher limit only delays; other programs of the same user or"
    " group.",
    remedies="End what is not needed, or raise the limit.",
    verify="pids.current, or the number of the user's tasks (ps -L), stays below the limit.",
    one_process=True,
)
def limit_of_tasks(model: Model) -> Iterable[Outcome]:
    """Yield a finding for each limit that is reached, else how near the nearest one is."""
    groups = [each for each in model.facts.pids_groups if _part(each) is not None]
    users = read_users_at_limit(model.facts.texts)
    limited = [each for each in users or () if each.limit > local_policy.tasks_of_sandbox]
    full = nearest_of(limited, {thread.pid for thread in model.threads})
    found = [*_groups(model, groups), *(_user(model, each) for each in full)]
    yield from found
    if found:
        return
    if users is None and not groups:
        yield _uncounted(model)
        return
    part = max((_part(each) or 0.0 for each in groups), default=0.0)
    near = part >= local_policy.tasks_near_share
    yield Check(ID, f"{percent(part)} of the tasks that are allowed exist", part, "share", large=near)


def _uncounted(model: Model) -> Check | Silence:
    """Return the check of a target that is root's alone, else that nobody has counted."""
    known = (process.status or {} for process in model.facts.processes.values())
    if {status.get("Uid", "").partition("\t")[0] for status in known} == {"0"}:
        return Check(ID, "no task limit applies to root", 0.0, "share")
    return Silence(ID, "it was not counted how many tasks its user has", "perfdiag record")


def _part(group: PidsGroup) -> float | None:
    """Return the part of a group's limit that is used; None where either is unknown, or nothing is limited."""
    if group.current is None or group.limit is None or math.isinf(group.limit):
        return None
    return group.current / group.limit if group.limit else 1.0


def _groups(model: Model, groups: Sequence[PidsGroup]) -> Iterator[Finding]:
    """Yield the finding of the control group whose limit is nearest, if it is reached or a start was refused.

    Until Linux 6.11 a refusal counts in the group of who was refused, since then in the one whose limit it was.
    """
    nearest = max(groups, key=lambda each: _part(each) or 0.0, default=None)
    refused = max((each.refused or 0 for each in model.facts.pids_groups), default=0)
    if nearest is None or (not refused and (_part(nearest) or 0.0) < 1):
        return
    limit, current = int(nearest.limit or 0), nearest.current or 0
    evidence = [Evidence(f"{current:,} of {limit:,} tasks", float(current), "count", "pids.current")]
    if refused:
        evidence.append(Evidence(f"{refused:,} starts refused in the window", float(refused), "count", "pids.events"))
    limit_path, path = f"{nearest.path}/pids.max", typed_path(nearest.path)
    yield conclude(
        model,
        {},
        headline=f"{subject(model, begin=True)} can start no more processes or threads: its control group is full",
        claim=f"The control group {brief(plain(nearest.path))} has {current:,} of {limit:,} tasks.",
        mechanism=Mechanism.LIMIT,
        severity=Severity.CRITICAL if refused else Severity.WARNING,
        best=Confidence.HIGH,
        doubts=[] if refused else [_UNSEEN],
        evidence=evidence,
        remedies=[
            fix(f"see what they are: xargs ps -o pid,nlwp,args -p <{path}/cgroup.procs"),
            setting(limit_path, f"{2 * limit}", f"{limit}"),
        ],
        alternatives=["a leak, which a higher limit only delays"],
        verify=checked(f"cat {path}/pids.current", f"stays below {limit:,}"),
    )


def _user(model: Model, each: UserAtLimit) -> Finding:
    tasks = f"{each.tasks:,} of {each.limit:,} tasks"
    hard = "unlimited" if each.hard_limit is None else each.hard_limit
    more = hard if each.hard_limit is None else max(each.hard_limit, 2 * each.limit)
    return conclude(
        model,
        {},
        headline=f"User {each.user} can start no more processes or threads: its limit is reached",
        claim=f"User {each.user} has {tasks} that process {each.pid} allows (RLIMIT_NPROC).",
        mechanism=Mechanism.LIMIT,
        severity=Severity.WARNING,
        best=Confidence.HIGH,
        doubts=[_UNSEEN],
        evidence=[Evidence(tasks, float(each.tasks), "count", "/proc")],
        remedies=[
            fix(f"see what they are, and end what is not needed: ps -U {each.user} -o pid,nlwp,args"),
            attempt(
                f"prlimit --pid {each.pid} --nproc={2 * each.limit}:{more}",
                f"prlimit --pid {each.pid} --nproc={each.limit}:{hard}",
                f"soft limit {each.limit}, hard limit {hard}",
            ),
            fix("raise LimitNPROC, or ulimit -u, where it is started"),
        ],
        alternatives=["a leak, which a higher limit only delays"],
        verify=checked(f"ps -L -U {each.user} | wc -l", f"stays below {each.limit:,}"),
    )
