"""What a target waits for that somebody else ends, as a rule by sending work; and whether it did anything else."""

from perfdiag.common.units import duration
from perfdiag.diagnosis.policy import idle_policy
from perfdiag.model.model import Model
from perfdiag.model.waits.idle_runtime_threads import WORK, IdleThreads, scheduler_of

CHILD = "wait.child"
EVENTS = "wait.events"
# What somebody else ends, as a rule by sending work; the words fit "waited 3 s ...".  Whose events a server waits for,
# its clients' or those of whoever it asks in turn, no wait shows.
FOR_WORK = (EVENTS, "net.accept", "net.request", "vm.halt")
_OTHERS = {EVENTS: f"for events ({EVENTS})", "wait.signal": "for a signal", CHILD: "for child processes"}

ENDED_BY_OTHERS = (*FOR_WORK, WORK, "wait.signal")
FOR_CLIENTS = ("net.accept", "net.request")


def is_idle(model: Model) -> bool:
    """Return whether a target was hardly busy."""
    return model.busy_ns <= idle_policy.idle_target_share * min(model.window_ns, model.wall_ns)


def scheduler(model: Model) -> IdleThreads | None:
    """Return the scheduler whose threads had nothing to run, if the target was busy for less than half of the window.
    Its tasks may wait for each other meanwhile, and no thread shows that."""
    if 2 * model.busy_ns > model.window_ns:
        return None
    return scheduler_of(row.key for row in model.rows_of(WORK))  # largest first


def untold_tasks(model: Model) -> list[str]:
    """Return the sentence on what such a scheduler's tasks wait for, if there is one."""
    found = scheduler(model)
    return [f"Threads do not show what its {found.tasks}s wait for: {found.tells}."] if found else []


def waits(model: Model, most: int | None = None) -> str:
    """Return what the target waited for while idle, timers and stops apart: "3.00 s for work (net.accept)".

    `most`: only so many of them, the longest.
    """
    parts = []
    work = [(name, model.ns(name)) for name in (*FOR_WORK, WORK) if model.ns(name) and name not in _OTHERS]
    if work:
        names = ", ".join(name for name, _ in sorted(work, key=lambda each: -each[1]))
        parts.append((sum(ns for _, ns in work), f"for work ({names})"))
    parts += [(model.ns(name), words) for name, words in _OTHERS.items() if model.ns(name)]
    worth_ns = sum(ns for ns, _ in parts) // 100  # less is not worth a word
    told = sorted((part for part in parts if part[0] >= worth_ns), key=lambda part: -part[0])
    return ", ".join(f"{duration(ns)} {words}" for ns, words in told[:most])


def senders(model: Model) -> str:
    """Return who may send the events that were waited for, "" if none came or none was waited for."""
    waiting = [t for t in model.threads if t.ns(EVENTS)]
    if sum(t.accounts[EVENTS].count for t in waiting) <= sum(t.threads for t in waiting):
        return ""
    pid = max(waiting, key=lambda thread: thread.ns(EVENTS)).pid
    which = f": ss -tnp | grep pid={pid}" if _has_connections(model) else f": ls -l /proc/{pid}/fd"
    return f"Events come from clients, or from processes that it calls itself{which if pid else ''}."


def _has_connections(model: Model) -> bool:
    """Return whether anything was seen of connections of TCP."""
    objects = [each.line.object for each in model.exchanges] + [row.key for row in model.rows]
    listeners = model.facts.listeners
    return bool(model.sockets or (listeners and listeners.sockets)) or any(
        each.startswith(("port:", "peer:")) for each in objects
    )


def got_work(model: Model) -> bool:
    """Return whether waits for clients ended, more than were under way when the recording began."""
    totals = ((thread, thread.accounts.get(name)) for thread in model.threads for name in FOR_CLIENTS)
    return any(total.count > thread.threads for thread, total in totals if total)
