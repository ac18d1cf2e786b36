"""NFS-SYNC-MOUNT: an NFS mount makes every write wait for the server."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import less
from perfdiag.diagnosis.evidence.nfs.mount_sentences import (
    calls_evidence,
    doubts,
    flush_evidence,
    mount_evidence,
    trip_evidence,
)
from perfdiag.diagnosis.evidence.nfs.wait_parts import WRITE, Use, uses
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Finding, Mechanism, Outcome, Remedy, RemedyKind, rule
from perfdiag.diagnosis.significance import duration, fault, fine, fix, together, waits, worth
from perfdiag.model.model import Model

ID = "NFS-SYNC-MOUNT"
# noac makes a mount sync, too.
SYNCHRONOUS = ("sync", "noac")


@rule(
    ID,
    title="An NFS mount makes every write wait for the server",
    accounts=(WRITE,),
    meaning=(
        "The mount is sync (or noac, which implies sync): each write() goes to the server at once and returns when it"
        " is safe there. Without it, writes go out together, at the latest at fsync or close."
    ),
    measured=(
        "The target's write waits by mount, with the mount's options and calls. Without these options such waits are"
        " NFS-SERVER-SLOW."
    ),
    alternatives="Files opened with O_SYNC or O_DSYNC (nfs.commit), or direct I/O.",
    remedies="Write larger pieces, or mount without sync and noac if the application calls fsync itself.",
    verify="The same work has less nfs.write.",
    beats=("NFS-COMMIT-SLOW", "NFS-SERVER-SLOW", "NFS-METADATA-CHATTY", "NFS-CLIENT-QUEUE"),
)
def sync_mount(model: Model) -> Iterable[Outcome]:
    """Judge write waits by the options of their mount; one finding per mount."""
    found = False
    for use in uses(model):
        if any(name in use.options for name in SYNCHRONOUS) and worth(model, use.ns(WRITE)):
            found = True
            yield _finding(model, use)
    if not found:
        yield fine(model, ID, "NFS writes", WRITE)


def _finding(model: Model, use: Use) -> Finding:
    ns, options = use.ns(WRITE), [name for name in SYNCHRONOUS if name in use.options]
    whole = together(use.rows_of([WRITE]))
    each = f" {duration(whole.sum_ns / whole.count)}" if whole.count else ""
    return conclude(
        model,
        use.claims({WRITE: ns}),
        headline=f"Each write waits for the server: {use.in_brief} is mounted with {' and '.join(options)}",
        claim=f"Each write to {use.in_brief} waits{each} until the server has it safe.",
        mechanism=Mechanism.LIMIT,
        severity=fault(model, ns),
        doubts=doubts(model, use)[:2],
        evidence=[
            waits(whole, "writes"),
            *mount_evidence(use),
            *calls_evidence(use, use.names(WRITE)),
            *trip_evidence(use),
            *flush_evidence(use),
        ],
        remedies=_remedies(options),
        alternatives=["writes that need the server anyway: O_DIRECT, a partly read file"],
        verify=less(model, f"nfs.write on {use.in_brief}", ns),
        returns="The bytes must still reach the server, but not one write after the other.",
    )


def _remedies(options: list[str]) -> list[Remedy]:
    larger = fix("write larger pieces: each write() costs a round trip and a commit")
    without = Remedy(
        RemedyKind.RISKY,
        f"mount without {' and '.join(options)} if the application calls fsync itself",
        risk="a crash of this host loses writes not yet flushed by fsync or close"
        + ("; changes by other clients appear some seconds later" if "noac" in options else ""),
    )
    return [larger, without]
