"""A rule on round trips to an NFS server: the floor that stays however fast the server becomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfdiag.diagnosis.evidence.nfs.mount_sentences import calls_evidence, doubts, mount_evidence, trip_evidence
from perfdiag.diagnosis.evidence.nfs.wait_parts import METADATA, NFS, Use, uses
from perfdiag.diagnosis.evidence.target import again, subject
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import duration, fault, fix, judged, percent, without_rows, worth
from perfdiag.model.model import Model

ID = "NFS-METADATA-CHATTY"
# Calls that ask whether something has changed.
ASKING = ("GETATTR", "ACCESS", "LOOKUP")
# From half of the calls on, what they are for is what the mount is used for.
MOSTLY = 0.5


@rule(
    ID,
    title="Round trips to an NFS server add up",
    accounts=NFS,
    meaning="Each file that is looked up, opened, created, changed, locked or closed on NFS needs calls one after the"
    " other, and each takes a round trip however fast the server is: a floor that neither a faster disk nor a log"
    " device removes. Profile, as only fewer calls help; a fault where mount options make the client ask again for what"
    " it knows (noac, actimeo=0, lookupcache=none) and such calls are most of them.",
    measured="Joins the target's waits by mount, over the whole window, with the round trip of that mount (what the"
    " fastest call that needs no disk takes): one for each wait; a flush counts its WRITEs, which go side by side,"
    " once, and its COMMIT once. Round trips that are themselves too long are left to NFS-SERVER-SLOW.",
    alternatives="Many small files by nature (unpacking, building); a program that opens and closes a file for each"
    " record; several clients that write the same files, so that caches must be asked.",
    remedies="Fewer, larger files; work on a local copy and move it as a whole; keep attribute caches on.",
    verify="calls by procedure in the next report; nfsiostat 1 (ops/s).",
)
def metadata_chatty(model: Model) -> Iterable[Outcome]:
    """Join waits with the round trip of their mount; one finding a mount."""
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
            "no call that needs no disk was seen: the round trip is not known",
            f"nfsiostat 1 while {subject(model)} runs",
        )
        return
    share = model.share(METADATA)
    yield Check(ID, f"names and attributes over NFS {percent(share)} of busy time", share, "share")


def _finding(model: Model, use: Use, parts: Mapping[str, float], claimed_ns: int) -> Finding:
    names = [name for account in parts for name in use.names(account)]
    calls = use.calls(*dict.fromkeys(names))
    asking = use.calls(*ASKING).count
    trips = round(claimed_ns / use.trip_ns) if use.trip_ns else 0
    forced = _forced(use) if calls.count and asking >= MOSTLY * calls.count else []
    confidence, limits = judged(model, Confidence.HIGH, doubts(model, use))
    claim = f"{subject(model, begin=True)} waits for {trips:,} round trips of {duration(use.trip_ns)} to {use.name}"
    return Finding(
        ID,
        fault(model, claimed_ns) if forced else Severity.INFO,
        confidence,
        f"{claim}, most to ask what it knows already: the mount has {' and '.join(forced)}."
        if forced
        else f"{claim}: only fewer of them help, not a faster server.",
        use.claims(parts),
        [
            *_often(model, use, trips, asking, calls.count),
            *calls_evidence(use, dict.fromkeys(names), most=4),
            *trip_evidence(use),
            *mount_evidence(use),
        ],
        _remedies(forced),
        ruled_out=["the server's disk: these calls are answered from memory, or this is what they take besides it"],
        alternatives=["many small files by nature", "other clients that write the same files"],
        limits=limits,
        verify=f"{again(model)}: count and time of nfs.metadata on {use.name}",
        headline=f"Threads wait for {trips:,} round trips to {use.in_brief}",
        mechanism=Mechanism.MANY,
    )


def _often(model: Model, use: Use, trips: int, asking: int, count: int) -> list[Evidence]:
    seconds = model.window_ns / 1e9
    if not seconds:
        return []
    text = f"{trips / seconds:,.0f} round trips a second waited for"
    if count:
        text += f"; of {count:,} calls of this mount {percent(asking / count)} ask whether something changed"
    return [Evidence(text, trips / seconds, "1/s", use.probe or "ledger")]


def _forced(use: Use) -> list[str]:
    """Return the mount options that make the client ask again for what it knows."""
    found = [name for name in ("noac",) if name in use.options]
    if not found and use.options.get("acregmax") == "0" and use.options.get("acdirmax") == "0":
        found.append("actimeo=0")
    return [*found, *(["lookupcache=none"] if use.options.get("lookupcache") == "none" else [])]


def _remedies(forced: list[str]) -> list[Remedy]:
    local = fix("fewer round trips: unpack, build and collect on a local disk, then copy whole files; keep files open")
    if not forced:
        return [local]
    return [fix(f"mount without {' and '.join(forced)}, unless several clients must see changes at once"), local]


__all__ = ["metadata_chatty"]
