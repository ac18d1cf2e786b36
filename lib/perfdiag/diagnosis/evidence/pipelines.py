"""Members of the target that wait for each other at pipes and unix sockets: who they are, and which of them works.

A pipe belongs to the target if its members end the waits at it; the waits that ended count, also of members that have
ended since. Processes that share pipes are one pipeline. Its working stage is the one the others wait for, directly or
through each other: it waits clearly less than any of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.diagnosis.policy import local_policy
from perfdiag.diagnosis.significance import by_key, percent, plain, total_ns
from perfdiag.model.model import Model, Row
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.model.waits.unix_ends import UNIX, maker_pid
from perfdiag.recording.accounts import OF_CPUS, PIPE

STAGES_TOLD = 4


@dataclass(frozen=True)
class Stage:
    """One process of a pipeline, told by the thread of it that works most."""

    thread: ThreadLedger
    waiting: float  # for other stages, of its life

    @property
    def ready(self) -> float:
        """Share of its life on a CPU or ready for one."""
        return _could_run_ns(self.thread) / self.thread.wall_ns if self.thread.wall_ns else 0.0


@dataclass(frozen=True)
class Pipeline:
    """Processes that wait for each other, and all their waits at what connects them."""

    rows: Sequence[Row]
    stages: Sequence[Stage]  # that still lived, or have books of their own; least waiting first

    @property
    def ns(self) -> int:
        """Time of all their waits."""
        return total_ns(self.rows)

    @property
    def waiting_words(self) -> str:
        """How much of its life each stage waits for others."""
        waiting = groups_by_key((plain(stage.thread.comm), percent(stage.waiting)) for stage in self.stages)
        stages = [f"{name} {' to '.join(dict.fromkeys((of[0], of[-1])))}" for name, of in waiting.items()]
        return f"part of its time that each stage waits for others: {', '.join(stages[:STAGES_TOLD])}"

    @property
    def workers(self) -> Sequence[Stage]:
        """The stages that all others wait for, the busiest first: one, or those of one name where a script runs the
        same pipeline again and again: others end as often.  None if the stages share the work, or the others are
        unknown; nor programs that one process calls in turn, and waits for what each says."""
        first = [stage for stage in self.stages if stage.waiting <= local_policy.awaited_stage_waits_share]
        others = self.stages[len(first) :]
        if not first or len(others) < len(first) or len({stage.thread.comm for stage in first}) > 1:
            return []
        least = others[0].waiting
        clear = first[-1].waiting <= local_policy.awaited_stage_less_share * least
        clear = clear and least >= local_policy.waiting_stages_share
        return sorted(first, key=lambda stage: -_could_run_ns(stage.thread)) if clear else []

    @property
    def works(self) -> Stage | None:
        """The busiest of them."""
        return next(iter(self.workers), None)

    def waited_for(self, stages: Iterable[Stage]) -> int:
        """Return how long the others waited: all waits but those of these stages."""
        return max(0, self.ns - sum(round(stage.waiting * stage.thread.wall_ns) for stage in stages))


def pipelines(model: Model) -> tuple[list[Pipeline], list[list[Row]]]:
    """Return the target's pipelines, the longest waits first, and the waits at other ends outside it, by object."""
    members = _Members(model)
    inside: list[tuple[list[Row], set[int]]] = []
    outside: list[list[Row]] = []
    for rows in by_key(model.rows_of(PIPE, UNIX)).values():
        pids = members.sharing(rows)
        if pids is None:
            outside.append(rows)
        else:
            inside.append((rows, pids))
    found = [Pipeline(rows, _stages(model, rows, pids)) for rows, pids in _connected(inside)]
    return sorted(found, key=lambda pipeline: -pipeline.ns), outside


class _Members:
    """Which threads and processes belong to the target, also of those that ended."""

    def __init__(self, model: Model) -> None:
        self._processes = {thread.tid: thread.pid for thread in model.threads if thread.tid}
        self._pids = {thread.pid for thread in model.threads} - {0}
        self._pids |= {target.pid for target in model.header.targets}
        self._pids |= {event.pid for event in model.events if event.name == "exec"}
        self._others: set[int] = set()
        for row in model.rows_of("runq.busy"):
            kind, _, rest = row.key.partition(":")
            pid = rest.partition(":")[0]
            if kind in ("own", "task") and pid.isascii() and pid.isdigit():
                (self._pids if kind == "own" else self._others).add(int(pid))
        # The rows of ended processes are kept together: those of them that waited like this share what stands there.
        self._ended = {
            account: {thread.pid for thread in model.threads if thread.exited and account in thread.accounts} - {0}
            for account in (PIPE, UNIX)
        }
        # Only wake-ups by threads of the target are followed: whose waits have a root were ended by one.
        self._followed = groups_by_key(((each.account, each.key), each) for each in model.chains)
        self._folded = any(thread.exited and not thread.tid for thread in model.threads)
        self._stopped = {
            thread.pid
            for thread in model.threads
            if "wait.stopped" in thread.accounts
            and thread.accounts["wait.stopped"].ns >= local_policy.stopped_peer_share * model.window_ns
        }

    def sharing(self, rows: list[Row]) -> set[int] | None:
        """Return the processes of the target that share what these rows wait at; None: the other end is outside."""
        own = outside = unknown = 0
        pids = {row.pid for row in rows} - {0}
        if any(not row.pid for row in rows):
            pids |= self._ended[rows[0].account]
        for row in rows:
            if not row.waker_tid:
                continue
            if row.waker_tid in self._processes or row.waker_tid in self._pids:
                own += max(row.waker_count, 1)
                pids.add(self._processes.get(row.waker_tid, row.waker_tid))
            elif row.waker_tid in self._others or not self._folded:
                outside += max(row.waker_count, 1)
            else:
                unknown += max(row.waker_count, 1)
        shared = len({row.pid for row in rows}) > 1
        if own > outside or (shared and not outside and unknown):
            return pids
        pid = maker_pid(rows[0].key)
        # A pair of sockets made by one process names that process on both ends, whoever inherited the other one.
        if pid in self._pids and pid not in {row.pid for row in rows}:
            return pids | {pid}
        silent = not own and not outside and not unknown
        followed = self._followed.get((rows[0].account, rows[0].key), []) if silent else []
        if 2 * sum(each.ns for each in followed) >= total_ns(rows):
            ended_by = {each.root_tid or each.some_tid for each in followed}
            return pids | {self._processes[tid] for tid in ended_by if tid in self._processes}
        stopped = self._stopped - pids
        return pids | stopped if silent and stopped else None


def _connected(groups: Iterable[tuple[list[Row], set[int]]]) -> list[tuple[list[Row], set[int]]]:
    """Join the groups that have a process in common; a target that starts thousands of pipelines has as many."""
    joined: dict[int, tuple[list[Row], set[int]]] = {}
    group_of: dict[int, int] = {}
    for number, (rows, pids) in enumerate(groups):
        met = {group_of[pid] for pid in pids if pid in group_of} or {number}
        first, *others = sorted(met, key=lambda each: (-len(joined[each][1]) if each in joined else 0, each))
        all_rows, all_pids = joined.setdefault(first, ([], set()))
        for more_rows, more_pids in [*(joined.pop(other) for other in others), (rows, pids)]:
            all_rows += more_rows
            group_of.update(dict.fromkeys(more_pids - all_pids, first))
            all_pids |= more_pids
    return list(joined.values())


def _stages(model: Model, rows: Sequence[Row], pids: set[int]) -> list[Stage]:
    """Return the stages of a pipeline, but for those that have next to nothing to do with it: the shell that made it
    has waited there for a moment, too."""
    least_ns = local_policy.stage_share * total_ns(rows)
    ended_ns = sums_by_key((row.waker_tid, row.distribution.sum_ns) for row in rows if row.waker_tid)
    ends = {thread.pid for thread in model.threads if ended_ns.get(thread.tid, 0) >= least_ns}
    busiest = groups_by_key(
        (thread.pid, thread) for thread in model.threads if thread.pid in pids and thread.tid and thread.wall_ns
    )
    threads = [max(group, key=_could_run_ns) for group in busiest.values()]
    part = [thread for thread in threads if thread.pid in ends or not 0 < _waiting_ns(thread) < least_ns]
    stages = [Stage(thread, _waiting_ns(thread) / thread.wall_ns) for thread in part]
    return sorted(stages, key=lambda stage: (stage.waiting, stage.thread.pid))


def _waiting_ns(thread: ThreadLedger) -> int:
    return thread.ns(PIPE, UNIX)


def _could_run_ns(thread: ThreadLedger) -> int:
    return sum(total.ns for name, total in thread.accounts.items() if name.startswith(OF_CPUS))


__all__ = ["UNIX", "Pipeline", "Stage", "pipelines"]
