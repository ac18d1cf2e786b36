"""What a recording must obey of failures: answers that are errors, and what failed before threads slept."""

import re
from collections.abc import Iterator

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.recording import schema
from perfdiag.recording.laws.tolerance import exceeds
from perfdiag.recording.recording import Recording

# Of HTTP, MySQL, PostgreSQL (SQLSTATE, which has a digit), and Redis.
_STATUS = re.compile(r"[45][0-9]{2}|[1-9][0-9]{3}|(?=[A-Z]*[0-9])[0-9A-Z]{5}|[A-Z]+")
_MOST_ERRNO = 4095  # MAX_ERRNO of include/linux/err.h
_MOST_EXIT_CODE = 0xFFFF


def find(recording: Recording) -> Iterator[str]:
    """Yield what is contradictory."""
    for answer in recording.answers:
        if not _STATUS.fullmatch(answer.status):
            yield "an answer that is an error has a status that is none"
    yield from _of_answers(recording)
    for line in recording.failed_calls:
        yield from _of_failed(line)


def _of_answers(recording: Recording) -> Iterator[str]:
    """An answer ends after its status: the request that it is of may be counted as anything. By object alone, as a name
    can be lost; half of an answer's counts are within what two tables of several CPUs differ by."""
    at_once = recording.header.host.cpus_online or 1
    served = groups_by_key((line.object, line) for line in recording.exchanges if line.direction == "accepted")
    errors = sums_by_key(
        (line.object, max(0, line.count - line.count_error))
        for line in recording.answers
        if line.direction == "accepted"
    )
    if recording.footer is None or recording.footer.lost.get("exchanges_full"):
        return
    for object, count in errors.items():
        there = sum(map(_received, served.get(object, ())))
        if count > 2 * there + at_once:
            yield f"{count:,} answers are errors, of {there:,} to requests"


def _received(line: schema.Exchange) -> int:
    return line.count + line.count_error + line.unanswered + line.open + line.untimed + line.declined + line.early


def _of_failed(line: schema.FailedCall) -> Iterator[str]:
    if not line.sleeps:
        yield "what failed before sleeps stands there, and no sleep"
    if exceeds(line.max_ns, line.sum_ns):
        yield "the longest sleep after a failure is longer than all"
    if line.command and not 0 < line.exit_code <= _MOST_EXIT_CODE:
        yield f"a child failed with {line.exit_code:,}, which wait(2) does not say of one"
    if line.error > _MOST_ERRNO:
        yield f"a call failed with {line.error:,}, which is no error"
