"""REQUEST-ERRORS: the target answers requests with errors."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.requests.error_answers import ErrorAnswers, error_answers
from perfdiag.diagnosis.evidence.requests.error_statuses import meaning_of
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import requests_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import fix
from perfdiag.model.model import Model

ID = "REQUEST-ERRORS"


@rule(
    ID,
    title="Requests are answered with errors",
    accounts=(),
    meaning="The target answers requests with errors, often fast: then it is not slow, but whoever asks does not get"
    " what was asked for, and may ask again. Errors of the server (5xx) are its own, or of those that it asks; errors"
    " of clients (4xx) are told where most answers are such.",
    measured="The status in the first piece of each answer of HTTP/1 on connections that are not encrypted; of answers"
    " whose status comes in several pieces, or through io_uring, nothing is known.",
    alternatives="A health check that is meant to fail, as of a standby.",
    remedies="See the target's log; of 502 and 504, diagnose the server that it asks.",
    verify="Answers of 5xx are rare.",
)
def request_errors(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each port that answers with many errors; they take no time."""
    server = [each for each in error_answers(model, server=True) if _matter(each, requests_policy.server_errors_share)]
    client = [each for each in error_answers(model, server=False) if _matter(each, requests_policy.client_errors_share)]
    for each in [*server, *client]:
        yield _finding(model, each)
    if server or client:
        return
    if not model.measured("requests"):
        yield Silence(ID, "answers to requests were not looked at", model.would_measure("requests"))
        return
    yield Check(ID, "few answers are errors, of those whose status was seen", 0.0, "share")


def _matter(errors: ErrorAnswers, share: float) -> bool:
    return errors.count >= requests_policy.fewest_errors and errors.share >= share


def _finding(model: Model, errors: ErrorAnswers) -> Finding:
    status = max(errors.lines, key=lambda each: each.count).status
    why, remedy = meaning_of(status)
    return conclude(
        model,
        {},
        headline=errors.text,
        claim=f"{status}: {why}.",
        mechanism=Mechanism.FAILED,
        severity=Severity.WARNING if errors.server else Severity.INFO,
        evidence=[Evidence(text, float(errors.count), "count", "sockets") for text in errors.asked or [errors.of_all]],
        remedies=[
            fix(remedy if errors.server else "see what clients ask for that they do not get: its log of requests")
        ],
        alternatives=["a health check that is meant to fail, as of a standby"],
        verify=measured(model, f"answers on {errors.place} are not {errors.statuses}"),
    )
