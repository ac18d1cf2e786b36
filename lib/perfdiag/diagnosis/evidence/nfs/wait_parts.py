"""What the target's waits on an NFS mount are made of: queue in the client, round trips, the server.

The calls of a mount are those of everybody; the waits are the target's.  Calls say how long each takes and which part
of that is queue, round trip and server; waits say how much of it the target had to sit through.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from perfdiag.common.by_key import groups_by_key
from perfdiag.diagnosis.evidence.nfs.mount_calls import (
    MODIFYING,
    NOTHING,
    Procedure,
    RoundTrip,
    Served,
    counted,
    procedures,
    round_trip,
    served,
)
from perfdiag.diagnosis.policy import nfs_policy
from perfdiag.diagnosis.rule import Claim
from perfdiag.diagnosis.significance import (
    brief,
    plain,
    total_ns,
)
from perfdiag.facts.host_facts import NfsMount
from perfdiag.model.model import Model, Row, once
from perfdiag.recording import schema

READ, WRITE, COMMIT, METADATA, LOCK = NFS = ("nfs.read", "nfs.write", "nfs.commit", "nfs.metadata", "nfs.lock")
# Of so many mounts, those waited for longest, each is judged by itself; mountinfo as it is recorded has no more.
MOST_MOUNTS = 1024
READING = ("READ", "READ_PLUS")
LOCKING = ("LOCK", "LOCKT", "LOCKU")
DATA = (*READING, "WRITE", "COMMIT")


@dataclass(frozen=True)
class Parts:
    """What the time of one account on one mount is made of; together all of it."""

    queue_ns: float = 0.0  # in the client, before calls were sent
    trip_ns: float = 0.0  # one round trip for each wait
    commit_ns: float = 0.0  # the server, making something safe
    answer_ns: float = 0.0  # anything else above a round trip: the server, or the bytes on their way


@dataclass(frozen=True)
class Use:
    """One NFS mount (or server) as the target used it."""

    key: str  # "mount:0:45"
    name: str  # "nas1:/jobs on /srv (nfs4)"
    rows: Mapping[str, Sequence[Row]]  # the target's waits by account
    nfsd: Served  # what this host's own server did for it
    procedures: Mapping[str, Procedure]  # everybody's calls; locks of NFS 3 as "nlm.LOCK"
    flushes: Sequence[schema.NfsFlush]
    mount: NfsMount | None
    source: str  # "nas1:/jobs"; "" where not known
    options: Mapping[str, str]
    round_trip: RoundTrip | None
    probe: str  # where the calls were counted; "" where nowhere
    in_milliseconds: bool  # ... without their distribution

    @property
    def in_brief(self) -> str:
        """Return the mount as a headline has room for it: "nas1:/jobs"."""
        return brief(plain(self.source) or self.name)

    def ns(self, *accounts: str) -> int:
        """Return the target's time in some accounts on this mount."""
        return sum(total_ns(self.rows.get(account, ())) for account in accounts)

    def claims(self, parts: Mapping[str, float]) -> dict[Claim, int]:
        """Return what parts of accounts claim, by account and key."""
        return {(account, self.key): int(ns) for account, ns in parts.items() if ns >= 1}

    def rows_of(self, accounts: Iterable[str]) -> list[Row]:
        """Return the target's waits in some accounts on this mount."""
        return [row for account in accounts for row in self.rows.get(account, ())]

    def calls(self, *names: str) -> Procedure:
        """Return the calls of some procedures together."""
        return reduce(Procedure.merged, (self.procedures[name] for name in names if name in self.procedures), NOTHING)

    def names(self, account: str) -> list[str]:
        """Return the procedures an account waits for."""
        locks = [name for name in self.procedures if name in LOCKING or name.startswith("nlm.")]
        if account == METADATA:
            return [name for name in self.procedures if name not in DATA and name not in locks and "." not in name]
        wanted = {READ: READING, WRITE: ("WRITE",), COMMIT: ("WRITE", "COMMIT"), LOCK: locks}[account]
        return [name for name in self.procedures if name in wanted]

    def is_mostly_queued(self, account: str) -> bool:
        """Return whether the calls of an account are in this host's queue for most of their time: a slow server alone
        does not hold back calls that can be sent side by side."""
        calls = self.calls(*self.names(account))
        return calls.queue.sum_ns >= nfs_policy.mostly_queued_factor * max(calls.wire.sum_ns, 1)

    @property
    def trip_ns(self) -> float:
        """Return the round trip, zero where it is not known."""
        return self.round_trip.ns if self.round_trip else 0.0

    @property
    def flush_bytes(self) -> float:
        """How many bytes one flush of the target writes; without flushes, those of a WRITE for each COMMIT."""
        count = sum(flush.count for flush in self.flushes)
        if count:
            return sum(flush.bytes for flush in self.flushes) / count
        writes = self.calls("WRITE")
        return writes.sent_bytes / (self.calls("COMMIT").count or writes.count or 1)

    @property
    def far(self) -> bool:
        """Whether even calls that need no disk take longer than an answer should."""
        return (
            self.round_trip is not None and self.round_trip.measured and self.round_trip.ns >= nfs_policy.slow_answer_ns
        )

    @property
    def stable_part(self) -> float:
        """Return the share of WRITEs that the server must not answer before they are safe.

        Where flushes were not seen: what is never followed by a COMMIT needs none.
        """
        writes = sum(flush.writes for flush in self.flushes)
        if writes:
            return sum(flush.stable_writes for flush in self.flushes) / writes
        return 0.0 if self.calls("COMMIT").count else 1.0

    @property
    def trips(self) -> int:
        """How many round trips one after the other the target's flushes needed: their WRITEs go side by side."""
        flushes = [flush for flush in self.flushes if flush.writes or flush.commits]
        if sum(flush.sum_ns for flush in flushes) < self.ns(COMMIT) / 2:
            return sum(row.distribution.count for row in self.rows.get(COMMIT, ()))
        return sum(flush.count * bool(flush.writes) + min(flush.commits, flush.count) for flush in flushes)

    def parts(self, account: str) -> Parts:
        """Divide the target's time in one account on this mount."""
        ns = self.ns(account)
        names = self.names(account)
        if not ns or not self.calls(*names).count:
            return Parts(commit_ns=ns) if account == COMMIT else Parts(answer_ns=ns)
        if account == COMMIT:
            return self._commit_parts(ns)
        waits = sum(row.distribution.count for row in self.rows[account])
        trip = min(float(ns), waits * self.trip_ns)
        safe = [name for name in names if name in MODIFYING or (account == WRITE and self.stable_part >= 0.5)]
        weights = (
            float(self.calls(*names).queue.sum_ns),
            sum(self.procedures[name].above_ns(self.trip_ns) for name in safe),
            sum(self.procedures[name].above_ns(self.trip_ns) for name in names if name not in safe),
        )
        whole = sum(weights)
        if not whole:
            return Parts(trip_ns=trip, answer_ns=ns - trip)
        queue, commit, answer = (weight * (ns - trip) / whole for weight in weights)
        return Parts(queue, trip, commit, answer)

    def _commit_parts(self, ns: int) -> Parts:
        """Divide the time of flushes: first WRITEs side by side, then one COMMIT, where the WRITEs were not stable."""
        writes, commits = self.calls("WRITE"), self.calls("COMMIT")
        trip = min(float(ns), self.trips * self.trip_ns)
        own = sum(flush.commits for flush in self.flushes) if self.flushes else commits.count
        of_commit = commits.queue.sum_ns + commits.above_ns(self.trip_ns)
        of_write = writes.queue.sum_ns + writes.above_ns(self.trip_ns)
        committing = min(ns - trip, own * of_commit / commits.count) if commits.count else 0.0
        committing = committing if of_write else ns - trip if of_commit else 0.0
        writing = ns - trip - committing
        queued = (committing * commits.queue.sum_ns / of_commit if of_commit else 0.0) + (
            writing * writes.queue.sum_ns / of_write if of_write else 0.0
        )
        unstable = (writing * writes.above_ns(self.trip_ns) / of_write if of_write else writing) * (
            1 - self.stable_part
        )
        return Parts(queued, trip, max(0.0, ns - trip - queued - unstable), unstable)


@once
def uses(model: Model) -> Sequence[Use]:
    """Return what the target waited for on NFS, by mount, the longest waited for first."""
    rows: dict[str, dict[str, list[Row]]] = {}
    for row in model.rows_of(*NFS):
        rows.setdefault(row.key, {}).setdefault(row.account, []).append(row)
    flushes = groups_by_key((flush.object, flush) for flush in model.nfs_flushes)
    longest = sorted(rows, key=lambda key: (-total_ns(row for group in rows[key].values() for row in group), key))
    found = [_use(model, key, rows[key], flushes.get(key, [])) for key in longest[:MOST_MOUNTS]]
    return sorted(found, key=lambda use: (-use.ns(*NFS), use.key))


def _use(model: Model, key: str, rows: Mapping[str, Sequence[Row]], flushes: Sequence[schema.NfsFlush]) -> Use:
    device = key.removeprefix("mount:") if key.startswith("mount:") else ""
    # Of two mounts that had one number, one after the other, it is not known which was waited for.
    places = [each for each in model.facts.mounts_of(device) if each.is_nfs] if device else []
    place = places[0] if len(places) == 1 else None
    mount = model.facts.nfs_mount_of(device) if place else None
    options = dict(mount.options) if mount else {}
    for option in place.options if place else ():
        name, _, value = option.partition("=")
        options.setdefault(name, value)
    shown = next((row.object for group in rows.values() for row in group if row.object), "")
    known, probe = procedures(model, key, options.get("addr", "")), "rpc_stats_latency"
    in_milliseconds = not known and mount is not None and bool(mount.calls)
    if not known and mount:
        known, probe = {name: counted(each) for name, each in mount.calls.items()}, "/proc/self/mountstats"
    nfsd = served(
        model, options.get("vers", "")[:1], sum(each.count for name, each in known.items() if "." not in name)
    )
    return Use(
        key,
        plain(shown) if key else "an unnamed NFS mount",
        rows,
        nfsd,
        known,
        flushes,
        mount,
        place.source if place else "",
        options,
        round_trip(known, mount, probe, nfsd),
        probe if known else "",
        in_milliseconds,
    )
