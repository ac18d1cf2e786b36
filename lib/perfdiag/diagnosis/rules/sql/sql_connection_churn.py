"""SQL-CONNECTION-CHURN: a database makes a process for each connection, and clients connect for a statement or two."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.target import CPU, cpu_ns
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import local_policy, sql_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, rule
from perfdiag.diagnosis.significance import duration, fix, percent, worth
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger

ID = "SQL-CONNECTION-CHURN"


@rule(
    ID,
    title="Clients connect to the database for a statement or two",
    accounts=CPU,
    meaning="PostgreSQL makes a process for each connection: to fork, log in and end takes milliseconds of CPU time,"
    " many times what a short statement takes. Clients that connect anew for each statement keep CPUs busy with that.",
    measured="Sessions that began and ended in the window and lived under 50 ms on average, with fewer than five"
    " statements each; claimed is their CPU time outside of statements.",
    alternatives="A health check that connects anew each time, at a low rate.",
    remedies="Let a pool keep connections open: one in the application, PgBouncer, or persistent connections.",
    verify="Fewer sessions begin for the same statements.",
    beats=("CPU-BOUND", "CPU-KERNEL-HEAVY", "CPU-SINGLE-THREAD", "PROC-CHILD-SLOW", "PROC-FORK-SLOW", "SQL-SLOW-QUERY"),
)
def connection_churn(model: Model) -> Iterable[Outcome]:
    """Yield the finding where sessions are short and do little else than begin and end."""
    server = next((each for each in model.applications if each.kind == "postgresql"), None)
    count = sum(line.count for line in model.statements)
    if server is None or not count:
        return
    found = _short_sessions(model, server.pid, count)
    share = found.outside_ns / model.busy_ns if model.busy_ns else 0.0
    if (
        _are_clients(model, found.sessions)
        and found.sessions * sql_policy.statements_of_session > count
        and worth(model, found.outside_ns)
    ):
        yield _finding(model, found)
    else:
        text = f"{found.sessions:,} short sessions for {count:,} statements, {percent(share)} of busy time outside"
        yield Check(ID, text, share, "share")


def _are_clients(model: Model, sessions: int) -> bool:
    """Return whether most have a connection, where that is known. A server makes processes for parallel parts of a
    statement, too."""
    used = model.requests_inside.accepted if model.requests_inside else None
    return used is None or used >= sql_policy.clients_share * sessions


@dataclass(frozen=True)
class _Sessions:
    """Sessions that began and ended in the window."""

    sessions: int
    statements: int
    life_ns: int  # of all of them
    user_ns: int  # CPU time of all of them
    kernel_ns: int
    statements_ns: int  # CPU time of their statements, user and kernel code alike

    @property
    def outside_ns(self) -> int:
        """CPU time outside of statements: to begin, to log in, to end."""
        return max(0, self.user_ns + self.kernel_ns - self.statements_ns)


def _short_sessions(model: Model, server_pid: int, statements: int) -> _Sessions:
    """Return the sessions; statements of others, which live on, are taken to be theirs."""
    names = _names(model.threads, server_pid)
    threads = [thread for thread in model.threads if _is_short(thread, names)]
    return _Sessions(
        sum(thread.processes for thread in threads),
        statements,
        sum(thread.wall_ns for thread in threads),
        sum(thread.ns("cpu.user") for thread in threads),
        sum(thread.ns("cpu.kernel") for thread in threads),
        sum(part.sum_ns for line in model.statements for part in line.accounts if part.account in CPU),
    )


def _names(threads: Sequence[ThreadLedger], pid: int) -> set[str]:
    return {thread.comm for thread in threads if thread.pid == pid}


def _is_short(thread: ThreadLedger, names: set[str]) -> bool:
    lived_ns = thread.wall_ns / max(thread.processes, 1)
    return thread.exited and thread.comm in names and cpu_ns(thread) > 0 and lived_ns < local_policy.short_life_ns


def _finding(model: Model, found: _Sessions) -> Finding:
    part = found.outside_ns / max(1, found.user_ns + found.kernel_ns)
    kernel_ns = round(found.kernel_ns * part)
    per_second = found.sessions / (model.window_ns / 1e9)
    each_ns, used_ns = found.life_ns // found.sessions, (found.user_ns + found.kernel_ns) // found.sessions
    claims = {"cpu.user": found.outside_ns - kernel_ns, "cpu.kernel": kernel_ns}
    return conclude(
        model,
        {account: ns for account, ns in claims.items() if ns},
        headline=f"Clients connect {per_second:,.0f} times a second, for {_each(found)} each",
        claim=(
            f"{found.sessions:,} sessions began and ended for {found.statements:,} statements: outside of these they"
            f" took {duration(found.outside_ns)} of CPU time, {percent(part)} of all theirs."
        ),
        mechanism=Mechanism.MANY,
        evidence=[
            Evidence(
                f"{found.sessions:,} sessions; each lived {duration(each_ns)} and took {duration(used_ns)} of CPU time"
                " on average",
                float(found.sessions),
                "count",
                "ledger",
            ),
            Evidence(
                f"{found.statements:,} statements; each took"
                f" {duration(found.statements_ns // max(1, found.statements))} of CPU time on average",
                float(found.statements),
                "count",
                "statements",
            ),
        ],
        remedies=[
            fix(
                "keep connections open: a pool in the application, PgBouncer in front of the server, or persistent"
                " connections"
            )
        ],
        alternatives=["a health check that connects anew each time"],
        verify=measured(model, f"fewer sessions a second for the same statements, now {per_second:,.0f}"),
        inside=True,
    )


def _each(found: _Sessions) -> str:
    """Return "one statement", or "2.5 statements"."""
    mean = found.statements / found.sessions
    return "one statement" if round(mean, 1) <= 1 else f"{mean:.1f} statements"
