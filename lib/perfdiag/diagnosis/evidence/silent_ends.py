"""Pipes and connections where nothing arrived: waiting for work looks like waiting for an answer.

An idle worker and a client of a server that hangs are in the same call; so are a consumer that takes one message
after the other, and a client that is answered slowly. If nothing tells them apart, the finding blames nobody and
rules nothing out.
"""

from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Finding, Mechanism
from perfdiag.diagnosis.significance import brief, claims_of, duration, fix, together, total_ns, waits
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
    rows: list[Row],
    whom: str,
    look: str,
    *,
    came: str = "nothing came",  # or what else makes it impossible to tell
    may: str = "work or for an answer",
    limit: str = LOOKS_THE_SAME,
) -> Finding:
    """Return the finding on waits at `whom` that do not show anybody to be slow; `look` is what would tell
    more."""
    return conclude(
        model,
        claims_of(rows),
        headline=f"{subject(model, begin=True)} waits at {brief(whom)}, for {may}",
        claim=(
            f"{subject(model, begin=True)} waits {duration(total_ns(rows))} at {whom}; {came}. It is unknown whether"
            f" it waits for {may}."
        ),
        mechanism=Mechanism.UNDETERMINED,
        departs=False,
        doubts=[limit],
        evidence=[waits(together(rows), f"waits at {whom}")],
        remedies=[fix(look)],
        alternatives=["a reader that waits for its next job", "the other end is slow, or hangs"],
        verify=measured(model, f"under load, less than the {duration(total_ns(rows))} at {whom}"),
    )
