"""SQL-SERVER-WAIT: sessions wait for other processes of their database server: parallel workers, a standby."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.session_waits import EVENTS, Said, said, sessions
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import Finding, Mechanism, Outcome, rule
from perfdiag.diagnosis.significance import duration, fix, little, together, top, total_ns, waits
from perfdiag.model.model import Model
from perfdiag.model.waits.postgres_wait_names import IPC

ID = "SQL-SERVER-WAIT"


@dataclass(frozen=True)
class _Awaited:
    """Waits with the same remedy; how their names begin is from PostgreSQL's manual, "Wait Events of Type IPC"."""

    whom: str
    names: tuple[str, ...]
    remedy: str


_KINDS = (
    _Awaited(
        "parallel workers",
        ("BgWorker", "ExecuteGather", "Hash", "MessageQueue", "Parallel", "AppendReady"),
        "stop small statements from using parallel workers, whose start and end take longer than the statement: if"
        " parallel_setup_cost, parallel_tuple_cost or min_parallel_table_scan_size were lowered, reset them; or SET"
        " max_parallel_workers_per_gather = 0",
    ),
    _Awaited(
        "a synchronous standby",
        ("SyncRep",),
        "see why it confirms late: SELECT application_name, write_lag, flush_lag, replay_lag FROM pg_stat_replication;"
        " where the last commits may be lost, SET synchronous_commit = local",
    ),
    _Awaited(
        "a checkpoint",
        ("Checkpoint",),
        "find who runs CHECKPOINT, as backups do: checkpoints_req of pg_stat_bgwriter counts them",
    ),
)
_OTHERS = _Awaited(
    "other processes of the server", (), "see for whom: SELECT pid, wait_event, query FROM pg_stat_activity"
)


@rule(
    ID,
    title="Sessions wait for other processes of their database server",
    accounts=(EVENTS,),
    meaning="A session of PostgreSQL waits for another process of the server: the parallel workers of its statement to"
    " start, work and end, a synchronous standby to confirm a commit, a checkpoint. It looks like waiting for events.",
    measured="The wait events of class IPC that sessions publish (as in pg_stat_activity), at every switch, where"
    " requests are followed.",
    alternatives="The workers do the work that the statement needs, and wait for CPUs or disks themselves.",
    remedies="Against parallel workers for small statements, default costs; against a late standby, its own diagnosis.",
    verify="wait.events is a smaller part of the time of requests.",
    met=False,
)
def server_wait(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each kind that takes enough of the time of requests."""
    time = model.request_time
    in_requests_ns = time.accounts.get(EVENTS, 0) if time else 0
    kinds = _by_kind(model) if in_requests_ns else {}
    all_ns = sum(map(_ns, kinds.values()))
    least_ns = general_policy.worth_share * time.ns if time else 0.0
    large = {kind: found for kind, found in kinds.items() if _ns(found) >= least_ns}
    for kind, found in large.items():
        yield _finding(model, kind, found, _ns(found) / max(in_requests_ns, all_ns))  # none of it twice
    if not large:
        yield little(model, ID, "waits for other processes of a database server", all_ns)


def _ns(found: Sequence[Said]) -> int:
    return total_ns([each.row for each in found])


def _by_kind(model: Model) -> dict[_Awaited, list[Said]]:
    kinds: dict[_Awaited, list[Said]] = {}
    for each in said(model):
        if each.wait.class_ == IPC and each.row.account == EVENTS and each.row.pid in sessions(model):
            name = each.wait.name
            kind = next((kind for kind in _KINDS if name.startswith(kind.names)), _OTHERS)
            kinds.setdefault(kind, []).append(each)
    return kinds


def _finding(model: Model, kind: _Awaited, found: Sequence[Said], part: float) -> Finding:
    """Return the finding on waits of a kind, which are a `part` of the waits for events that are in requests."""
    rows = [each.row for each in found]
    ns = total_ns(rows)
    by_name = sums_by_key((each.wait.text, each.row.distribution.sum_ns) for each in found)
    return conclude(
        model,
        {EVENTS: round(part * model.ns(EVENTS))},
        headline=f"Statements wait for {kind.whom}",
        claim=f"{plural(len({row.pid for row in rows}), 'session')} waited {duration(ns)} for {kind.whom}:"
        f" {top(by_name)}.",
        mechanism=Mechanism.BUSY,
        evidence=[waits(together(rows), f"waits for {kind.whom}", "wait event")],
        remedies=[fix(kind.remedy)],
        alternatives=["these processes do what the statement needs, and wait for CPUs or disks themselves"],
        verify=time_under(model, EVENTS),
        inside=True,
    )
