"""Pipes and connections where nothing arrived: waiting for work looks like waiting for an answer.

An idle worker and a client of a server that hangs are in the same call; so are a consumer that takes one message
after the other, and a client that is answered slowly. If nothing tells them apart, the finding blames nobody and
rules nothing out.
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
    """Return the finding `id` on waits at `whom` that do not show anybody to be slow; `look` is what would tell
    more."""
    confidence, limits = judged(model, Confidence.HIGH, [limit])
    return Finding(
        id,
        Severity.INFO,
        confidence,
        f"{subject(model, begin=True)} waits {duration(total_ns(rows))} at {whom}; {came}. It is unknown whether"
        f" it waits for {may}.",
        claims_of(rows),
        [waits(together(rows), f"waits at {whom}")],
        [fix(look)],
        alternatives=["a reader that waits for its next job", "the other end is slow, or hangs"],
        limits=limits,
        verify=f"{again(model)}, under load: waits at {whom}",
        headline=f"{subject(model, begin=True)} waits at {brief(whom)}, for {may}",
        mechanism=Mechanism.UNDETERMINED,
    )


__all__ = ["LOOKS_THE_SAME", "nothing_came", "silent"]
