"""A rule on NFS mounts on which every write waits until the server has it safe."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.nfs.mount_sentences import (
    calls_evidence,
    doubts,
    flush_evidence,
    mount_evidence,
    trip_evidence,
)
from perfdiag.diagnosis.evidence.nfs.wait_parts import WRITE, Use, uses
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import Check, Confidence, Finding, Mechanism, Outcome, Remedy, RemedyKind, rule
from perfdiag.diagnosis.significance import duration, fault, fix, judged, percent, together, waits, without_rows, worth
from perfdiag.model.model import Model

ID = "NFS-SYNC-MOUNT"
# noac makes a mount sync, too.
SYNCHRONOUS = ("sync", "noac")


@rule(
    ID,
    title="An NFS mount makes every write wait for the server",
    accounts=(WRITE,),
    meaning="Threads wait in write() because their NFS mount is sync (or noac, which means sync, too): each write goes"
    " to the server at once and returns when it is safe there. Without, writes are collected and go to the server"
    " together, at the latest when the application calls fsync or closes the file.",
    measured="Joins the target's waits for writes by mount, over the whole window, with the options of that mount"
    " (mountinfo) and its calls. Such waits on a mount without these options are left to NFS-SERVER-SLOW.",
    alternatives="Files opened with O_SYNC or O_DSYNC (booked as nfs.commit); direct I/O.",
    remedies="Larger writes; a mount without sync and noac where the application itself says what must be safe.",
    verify="time of nfs.write in the next report.",
    beats=("NFS-COMMIT-SLOW", "NFS-SERVER-SLOW", "NFS-METADATA-CHATTY", "NFS-CLIENT-QUEUE"),
)
def sync_mount(model: Model) -> Iterable[Outcome]:
    """Join waits in write with the options of their mount; one finding a mount."""
    found = False
    for use in uses(model):
        if any(name in use.options for name in SYNCHRONOUS) and worth(model, use.ns(WRITE)):
            found = True
            yield _finding(model, use)
    if not found:
        share = model.share(WRITE)
        yield without_rows(model, ID, WRITE) or Check(
            ID, f"writes that wait for NFS servers {percent(share)} of busy time", share, "share"
        )


def _finding(model: Model, use: Use) -> Finding:
    ns, options = use.ns(WRITE), [name for name in SYNCHRONOUS if name in use.options]
    whole = together(use.rows_of([WRITE]))
    confidence, limits = judged(model, Confidence.HIGH, doubts(model, use)[:2])
    each = f", {duration(whole.sum_ns / whole.count)} each" if whole.count else ""
    return Finding(
        ID,
        fault(model, ns),
        confidence,
        f"{use.name} is mounted with {' and '.join(options)}: each write waits until the server has it safe{each}.",
        use.claims({WRITE: ns}),
        [
            waits(whole, "waits in writes"),
            *mount_evidence(use),
            *calls_evidence(use, use.names(WRITE)),
            *trip_evidence(use),
            *flush_evidence(use),
        ],
        _remedies(options),
        alternatives=["writes that need the server for another reason: O_DIRECT, a file that was partly read"],
        limits=limits,
        verify=f"{again(model)}: nfs.write on {use.name}",
        returns="The bytes still have to reach the server, but not one write after the other.",
        headline=f"Each write waits for the server: {use.in_brief} is mounted with {' and '.join(options)}",
        mechanism=Mechanism.LIMIT,
    )


def _remedies(options: list[str]) -> list[Remedy]:
    larger = fix("write in larger pieces: each write() costs a round trip and a commit, whatever its size")
    without = Remedy(
        RemedyKind.RISKY,
        f"mount without {' and '.join(options)}, where the application calls fsync for what must be safe",
        risk="what was written, but not yet flushed with fsync or by closing, is lost if this host crashes"
        + ("; other clients' changes are seen some seconds later" if "noac" in options else ""),
    )
    return [larger, without]


__all__ = ["sync_mount"]
