"""Processes that were stopped, traced or frozen: for how long, by whom, and what lets them go on."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.common.text import printable
from perfdiag.diagnosis.policy import idle_policy
from perfdiag.model.model import Model
from perfdiag.model.object_names import STOPPED_BY
from perfdiag.model.thread_accounts import ThreadLedger

STOPPED = "wait.stopped"
SHOWN = 3
_ENDED = 0  # pid of what details tell of processes that have ended
_ANY = "a signal, a debugger or a freezer"
_LOOK_FOR = {
    "stop:signal": "who sends the signal: a CPU limit by signals (cpulimit), a supervisor, Ctrl-Z",
    "stop:tracer": "who traced it: a debugger, a profiler, a core dumper",
    "stop:freezer": "who froze its control group: docker pause or commit, systemctl freeze, a checkpoint",
}


@dataclass(frozen=True)
class Stop:
    """A process that was stopped for a part of the window that is felt."""

    pid: int
    name: str  # "app (100)"
    ns: int  # of the thread that was stopped for longest
    total_ns: int  # of all its threads
    lasts_ns: int  # already, when the window ended; 0: it went on


def stops(model: Model) -> list[Stop]:
    """Return the stopped processes, the longest stop first; where some last, only these."""
    processes = groups_by_key(
        (thread.pid, thread)
        for thread in model.threads
        if thread.ns(STOPPED) >= max(1, idle_policy.stopped_felt_share * model.window_ns)
    )
    comms = {target.pid: target.comm for target in model.header.targets}
    found = [
        Stop(
            pid,
            f"{printable(comms.get(pid, threads[0].comm))}{f' ({pid})' if pid else ''}",
            max(thread.ns(STOPPED) for thread in threads),
            sum(thread.ns(STOPPED) for thread in threads),
            _lasting(model, pid),
        )
        for pid, threads in processes.items()
    ]
    found.sort(key=lambda stop: (-stop.ns, stop.pid))
    return [stop for stop in found if stop.lasts_ns] or found


def _is_stopped(thread: ThreadLedger) -> bool:
    return thread.still_waiting is not None and thread.still_waiting.account == STOPPED


def _lasting(model: Model, pid: int) -> int:
    """Return how long a process is stopped already, 0 if it goes on: /proc is read a moment after the ledger, and shows
    a thread that is neither stopped nor frozen."""
    process = model.facts.processes.get(pid)
    unfrozen = model.facts.frozen.get(pid) is False
    if process and (process.state == "R" or (unfrozen and process.state not in ("", "T", "t"))):
        return 0
    waits = [each.still_waiting for each in model.threads_of(pid) if each.still_waiting and _is_stopped(each)]
    end_ns = model.header.start_ns + model.window_ns
    return max((max(1, end_ns - wait.since_ns) for wait in waits), default=0)


def stopped_by(model: Model, pids: Sequence[int]) -> str:
    """Return the object of nearly all stops of these processes, "" where there is none or a recorder did not tell."""
    sums = sums_by_key(
        (row.key, row.distribution.sum_ns) for row in model.rows_of(STOPPED) if row.pid in (*pids, _ENDED)
    )
    how, ns = max(sums.items(), key=lambda each: each[1], default=("", 0))
    return how if how in STOPPED_BY and ns >= idle_policy.one_stop_share * sums.total() else ""


def what_to_find(model: Model, pids: Sequence[int]) -> str:
    """Return what to look for where a stop is over."""
    how = stopped_by(model, pids)
    if how:
        return f"find out {_LOOK_FOR[how]}"
    return f"find out who stopped {'it' if len(pids) == 1 else 'them'}: {_ANY}"


def who_and_remedy(model: Model, pids: Sequence[int]) -> tuple[str, str]:
    """Return by whom processes are stopped and what lets them go on, as far as /proc/PID/status and the control group
    of the first tell; of one that went on they no longer do."""
    lasts = _lasting(model, pids[0]) > 0
    process, frozen = model.facts.processes.get(pids[0]), model.facts.frozen.get(pids[0])
    cont, thaw = f"kill -CONT {' '.join(map(str, pids[:SHOWN]))}", "docker unpause or systemctl thaw"
    if lasts and process and process.tracer:  # SIGCONT does not lift its stop
        return f"the debugger or tracer with pid {process.tracer}", f"end or detach process {process.tracer}"
    if lasts and process and process.state == "T":
        return ("a signal, in a frozen control group", f"{cont}, and {thaw}") if frozen else ("a signal", cont)
    if lasts and frozen:
        return "the freezer of its control group", thaw
    how = stopped_by(model, pids)
    if how:
        return STOPPED_BY[how], {"stop:signal": cont, "stop:freezer": thaw}.get(how, "end or detach it")
    return _ANY, f"after a signal {cont}; {thaw} where its control group is frozen"
