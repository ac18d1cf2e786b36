"""NFS-METADATA-CHATTY: round trips to an NFS server add up."""

from collections.abc import Iterable, Mapping, Sequence

from perfdiag.diagnosis.evidence.fix_checks import fewer
from perfdiag.diagnosis.evidence.nfs.mount_sentences import calls_evidence, doubts, mount_evidence, trip_evidence
from perfdiag.diagnosis.evidence.nfs.revalidation import ASKING, forced_by, without
from perfdiag.diagnosis.evidence.nfs.wait_parts import METADATA, NFS, Use, uses
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import (
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import duration, fault, fix, little, percent, without_rows, worth
from perfdiag.model.model import Model

ID = "NFS-METADATA-CHATTY"


@rule(
    ID,
    title="Round trips to an NFS server add up",
    accounts=NFS,
    meaning=(
        "Each look-up, open, create, change, lock or close on NFS needs calls one after the other, and each takes a"
        " round trip. A faster server does not help. A profile; a fault if mount options force the client to"
        " revalidate (noac, actimeo=0, lookupcache=none) and most calls do that."
    ),
    measured=(
        "The target's waits by mount, with one round trip (of the fastest cheap call) per wait; parallel WRITEs of a"
        " flush count once. Slow round trips are left to NFS-SERVER-SLOW."
    ),
    alternatives=(
        "Many small files (unpacking, building), a program that opens and closes a file per record, or several"
        " clients that write the same files."
    ),
    remedies="Use fewer, larger files, work on a local copy, and keep attribute caches on.",
    verify="The same work makes fewer calls (ops/s in nfsiostat 1).",
)
def metadata_chatty(model: Model) -> Iterable[Outcome]:
    """Judge waits by the round trip of their mount; one finding per mount."""
    found, unknown_ns = False, 0
    for use in uses(model):
        unknown_ns += use.ns(METADATA) if use.round_trip is None else 0
        parts = {account: use.parts(account).trip_ns for account in NFS}
        claimed_ns = sum(use.claims(parts).values())
        if worth(model, claimed_ns) and not use.far:
            found = True
            yield _finding(model, use, parts, claimed_ns)
    if found:
        return
    if worth(model, unknown_ns):
        yield without_rows(model, ID, METADATA) or Silence(
            ID,
            "the round trip is unknown: no cheap call was seen",
            f"nfsiostat 1 while {subject(model)} runs",
        )
        return
    yield little(model, ID, "NFS metadata", model.ns(METADATA))


def _finding(model: Model, use: Use, parts: Mapping[str, float], claimed_ns: int) -> Finding:
    names = [name for account in parts for name in use.names(account)]
    calls = use.calls(*dict.fromkeys(names))
    asking = use.calls(*ASKING).count
    trips = round(claimed_ns / use.trip_ns) if use.trip_ns else 0
    forced = forced_by(use, calls)
    claim = f"{subject(model, begin=True)} waits for {trips:,} round trips of {duration(use.trip_ns)} to {use.in_brief}"
    reason = f"because of {' and '.join(forced)}" if forced else "add up"
    return conclude(
        model,
        use.claims(parts),
        headline=f"{trips:,} round trips to {use.in_brief} {reason}",
        claim=(
            f"{claim}. Most revalidate caches because the mount has {' and '.join(forced)}."
            if forced
            else f"{claim}. A faster server does not help."
        ),
        mechanism=Mechanism.MANY,
        severity=fault(model, claimed_ns) if forced else Severity.INFO,
        doubts=doubts(model, use),
        evidence=[
            *_often(model, use, trips, asking, calls.count),
            *calls_evidence(use, dict.fromkeys(names), most=4),
            *trip_evidence(use),
            *mount_evidence(use),
        ],
        remedies=_remedies(forced),
        ruled_out=["the server's disk: round trips do not include it"],
        alternatives=["many small files", "other clients write the same files"],
        verify=fewer(model, f"calls to {use.in_brief}", calls.count or trips),
    )


def _often(model: Model, use: Use, trips: int, asking: int, count: int) -> list[Evidence]:
    seconds = model.window_ns / 1e9
    if not seconds:
        return []
    text = f"{trips / seconds:,.0f} round trips/s"
    if count:
        text += f"; {percent(asking / count)} of {count:,} calls revalidate caches"
    return [Evidence(text, trips / seconds, "1/s", use.probe or "ledger")]


def _remedies(forced: Sequence[str]) -> list[Remedy]:
    local = fix("unpack and build on a local disk, then copy whole files; keep files open")
    if not forced:
        return [local]
    return [without(forced), local]
