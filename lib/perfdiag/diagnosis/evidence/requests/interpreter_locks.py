"""The lock that lets one thread of an interpreter run at a time, where no function with a name shows it.

Distributions ship interpreters without the names of the functions that take it, and Ruby parks a thread on the same
word for this lock and for work. But requests that are parked inside of the interpreter, while threads of the same
process run nearly all the time, wait for what those have: to run.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.locks.holder_sentences import does, does_in_brief
from perfdiag.diagnosis.policy import locks_policy
from perfdiag.diagnosis.significance import brief
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger, times_of
from perfdiag.model.waits.runtime_locks import BY_ID, RuntimeLock
from perfdiag.recording.accounts import OF_CPUS

# The modules in which threads wait for it, by the lock.
_MODULES = {"gvl": re.compile(r"\((lib)?ruby[-\d.]*(\.so[.\d]*)?\)$")}


@dataclass(frozen=True)
class InterpreterLock:
    """Such a lock, and the thread that has it."""

    lock: RuntimeLock
    holder: ThreadLedger | None  # that has it for most of the time, None: several take turns

    @property
    def name(self) -> str:
        """The name of the thread that has it, for people."""
        return self.holder.name if self.holder else "one thread after the other"

    @property
    def headline(self) -> str:
        """The headline of the finding."""
        doing = does_in_brief(_mostly(self.holder)) if self.holder else "runs"
        return f"Requests wait for {self.lock.name}, and {brief(self.name)} {doing} meanwhile"

    @property
    def meanwhile(self) -> str:
        """How the claim continues."""
        return f"Meanwhile {self.name} {f'mostly {does(_mostly(self.holder))}' if self.holder else 'runs'}."


def interpreter_lock(model: Model, pid: int, waited_ns: int, code: Mapping[str, int]) -> InterpreterLock | None:
    """Return the lock of an interpreter that requests of a process waited for so long, None if it may be another.

    `code`: the functions in which they wait, by sampled time.
    """
    most = max(code, key=lambda name: code[name], default="")
    id = next((id for id, module in _MODULES.items() if module.search(most)), "")
    threads = model.threads_of(pid) if id else ()
    runs = {each.tid: _runs_ns(each) for each in threads if each.tid}
    had_ns = sum(runs.values())
    # Somebody has the lock for as long as anybody waits.
    if not had_ns or had_ns < locks_policy.held_share * min(model.window_ns, waited_ns):
        return None
    holder = next((each for each in threads if each.tid and runs[each.tid] > locks_policy.holder_share * had_ns), None)
    return InterpreterLock(BY_ID[id], holder)


def _runs_ns(thread: ThreadLedger) -> int:
    return sum(ns for account, ns in times_of(thread.accounts) if account.startswith(OF_CPUS))


def _mostly(thread: ThreadLedger) -> str:
    """Return in which account a thread mostly has it."""
    had = {account: ns for account, ns in times_of(thread.accounts) if account.startswith(OF_CPUS)}
    return max(had, key=lambda account: had[account])
