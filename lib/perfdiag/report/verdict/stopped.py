"""Who was stopped, traced or frozen, by whom, and what lets it go on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.common.text import printable
from perfdiag.common.units import duration, first_of
from perfdiag.facts.texts import number
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.report.verdict.not_busy import FELT, STOPPED

SHOWN = 3


@dataclass(frozen=True)
class Stop:
    """Processes that were stopped."""

    ns: int
    lasts: bool  # still stopped when the window ended
    sentence: str


def stop(model: Model) -> Stop | None:
    """Return who was stopped, traced or frozen for a part of the window that is felt."""
    processes: defaultdict[int, list[ThreadLedger]] = defaultdict(list)
    for thread in model.threads:
        if thread.ns(STOPPED) >= max(1, FELT * model.window_ns):
            processes[thread.pid].append(thread)
    if not processes:
        return None
    longest = {pid: max(t.ns(STOPPED) for t in threads) for pid, threads in processes.items()}
    order = sorted(longest, key=lambda pid: (-longest[pid], pid))
    lasting = [pid for pid in order if any(_is_stopped(thread) for thread in processes[pid])]
    told = lasting or order
    names = "Process " if len(told) == 1 else "Processes "
    names += first_of([_process(model, pid, processes[pid][0]) for pid in told], SHOWN)
    is_or_are = "is" if len(told) == 1 else "are"
    took = f"{duration(longest[told[0]])} of {duration(model.window_ns)}"
    if lasting:
        sentence = f"{names} {is_or_are} stopped, {took}: {_by_whom(model, lasting)}."
    else:
        were = "was" if len(told) == 1 else "were"
        sentence = f"{names} {were} stopped for {took} by a signal, a debugger or a freezer, and went on."
    return Stop(longest[told[0]], bool(lasting), sentence)


def _is_stopped(thread: ThreadLedger) -> bool:
    return thread.still_waiting is not None and thread.still_waiting.account == STOPPED


def _by_whom(model: Model, pids: Sequence[int]) -> str:
    """Return what stopped them, as far as /proc/PID/status told, and what lets them go on."""
    status = model.facts.processes[pids[0]].status if pids[0] in model.facts.processes else {}
    tracer, state = number(status.get("TracerPid")), status.get("State", "")
    cont = f"kill -CONT {' '.join(map(str, pids[:SHOWN]))}"
    if tracer:
        return f"the debugger or tracer with pid {tracer} holds it; end or detach that one"
    if state.startswith("T"):
        return f"a signal did it (SIGSTOP, Ctrl-Z); {cont} lets it go on"
    if state and not state.startswith("t"):
        return "no signal and no debugger, so its control group is frozen; docker unpause or systemctl thaw ends that"
    return f"by a signal, a debugger or a freezer (cgroup.freeze); after a signal, {cont} lets it go on"


def _process(model: Model, pid: int, thread: ThreadLedger) -> str:
    comm = next((t.comm for t in model.header.targets if t.pid == pid), thread.comm)
    return f"{printable(comm)} ({pid})" if pid else printable(comm)


__all__ = ["Stop", "stop"]
