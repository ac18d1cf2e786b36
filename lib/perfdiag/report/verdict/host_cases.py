"""The verdict on a whole host: its faults, or that it has none."""

from perfdiag.common.units import duration, share
from perfdiag.diagnosis.rule import Finding
from perfdiag.model.model import Model
from perfdiag.recording.accounts import phrase_of
from perfdiag.report.host_consumers import everyone
from perfdiag.report.verdict.cases import Case
from perfdiag.report.verdict.sentences import Kind, reasons, said, told
from perfdiag.report.verdict.situation import SECOND_CAUSE, Situation

MOSTLY_UNKNOWN = 0.5
MOSTLY = 0.5  # of an account, from which on one process has most of it


def _causes(it: Situation) -> list[Finding]:
    return [finding for finding in it.timed[:2] if finding is it.cause or finding.share >= SECOND_CAUSE]


def _largest(model: Model) -> str:
    """Return the largest account, and the process with most of it."""
    found = everyone(model)
    if found is None or not found.consumers:
        return f"No task was busy in {duration(model.window_ns)}."
    first = found.consumers[0]
    part = share(first.ns / model.busy_ns) if model.busy_ns else "all"
    largest = "most of it" if first.consumers[0].share > MOSTLY else "the largest part"
    who = "".join(f", {largest} {each.comm} ({share(each.share)} of that)" for each in first.consumers[:1])
    return f"Most time: {phrase_of(first.account)} ({first.account} {part}){who}."


CASES = (
    Case[Situation](
        "nothing ran",
        lambda it: not it.model.wall_ns,
        Kind.CANNOT_TELL,
        lambda it: ["Cannot tell: no task of the host ran."],
    ),
    Case[Situation](
        "most is unknown",
        lambda it: it.model.coverage.unexplained_share > MOSTLY_UNKNOWN,
        Kind.CANNOT_TELL,
        lambda it: [f"Cannot tell: {reasons(it.model)}."],
    ),
    Case[Situation](
        "there are causes",
        lambda it: it.timed,
        lambda it: Kind.CAUSES if len(_causes(it)) > 1 else Kind.CAUSE,
        lambda it: [*map(told, _causes(it)), _largest(it.model)],
        _causes,
    ),
    Case[Situation](
        "there are faults that take no time",
        lambda it: it.faults,
        Kind.CAUSE,
        lambda it: [*map(said, it.faults[:2]), _largest(it.model)],
        lambda it: it.faults[:2],
    ),
    Case[Situation](
        "there is no fault",
        lambda it: True,
        Kind.PROFILE,
        lambda it: [
            "Nothing abnormal was found on this host.",
            _largest(it.model),
            *map(told, it.diagnosis.findings[:1]),
        ],
        lambda it: it.diagnosis.findings[:1],
    ),
)
