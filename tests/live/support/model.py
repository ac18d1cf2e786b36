"""A live recording on the way a user takes: through the reader and the ledger of lib/perfdiag."""

from __future__ import annotations

from perfdiag.model import builder
from perfdiag.model.model import Model
from perfdiag.recording import reader

from live.support.recording import Recording

AGREEMENT = 0.98


def model_of(recording: Recording) -> Model:
    """Return what the recording means; it must be read without any complaint."""
    with recording.path.open("rb") as stream:
        read = reader.read(stream)
    assert not read.problems, read.problems
    return builder.build(read)


def check_model(recording: Recording) -> None:
    """What a report would rest on: closed books, little unexplained, accounts that agree with sampled stacks."""
    coverage = model_of(recording).coverage
    assert coverage.complete
    assert not coverage.contradictions, coverage.contradictions
    assert coverage.closed_error <= 0.01 and coverage.worst_thread_error <= 0.01, coverage
    assert coverage.unexplained_share < 0.01, coverage
    assert coverage.stack_agreement is None or coverage.stack_agreement >= AGREEMENT, coverage


__all__ = ["check_model", "model_of"]
