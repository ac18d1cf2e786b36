"""Pipes and connections at which nothing came, or nothing that was asked for: waited for as work, or as an answer?

A worker without a job and a client of a server that hangs stand in the same call, and so do who takes one message
after the other and who is answered slowly.  Where nothing tells them apart nobody is accused, and nobody acquitted.
"""

from __future__ import annotations

from perfdiag.diagnosis.evidence.target import again, subject
from perfdiag.diagnosis.rule import Confidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import brief, claims_of, duration, fix, judged, together, total_ns, waits
from perfdiag.model.model import Model, Row

LOOKS_THE_SAME = "waiting for work looks the same as waiting for an answer"


def nothing_came(model: Model, rows: list[Row]) -> bool:
    """Return whether none of the waits of `rows` ended: all that there were still lasted when the recording ended."""
    objects = {(row.account, row.key) for row in rows}
    last = [thread.still_waiting for thread in model.threads if thread.still_waiting]
    lasting = sum((wait.account, wait.object) in objects for wait in last)
    return 0 < together(rows).count <= lasting


def silent(
    model: Model,
    id: str,
    rows: list[Row],
    whom: str,
    look: str,
    *,
    came: str = "nothing came",  # or what else makes it impossible to tell
    may: str = "work or for an answer",
    limit: str = LOOKS_THE_SAME,
) -> Finding:
    """Return the finding `id` on waits at `whom` that show nobody to be slow: profile, as long as nothing tells more;
    `look` is what would."""
    confidence, limits = judged(model, Confidence.HIGH, [limit])
    return Finding(
        id,
        Severity.INFO,
        confidence,
        f"{subject(model, begin=True)} waits {duration(total_ns(rows))} at {whom}, and {came}: for {may}, cannot tell.",
        claims_of(rows),
        [waits(together(rows), f"waits at {whom}")],
        [fix(look)],
        alternatives=["a reader that waits for its next job", "somebody at the other end who is slow, or hangs"],
        limits=limits,
        verify=f"{again(model)}, while work is being done: waits at {whom}",
        headline=f"{subject(model, begin=True)} waits at {brief(whom)}, for {may}",
        mechanism=Mechanism.UNDETERMINED,
    )


__all__ = ["LOOKS_THE_SAME", "nothing_came", "silent"]
