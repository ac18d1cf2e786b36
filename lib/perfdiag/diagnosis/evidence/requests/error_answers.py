"""How many requests the target answers with errors, by port: with which statuses, and what was asked."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.common.units import give_or_take, plural
from perfdiag.diagnosis.evidence.requests.error_statuses import is_server_error, name_of
from perfdiag.diagnosis.evidence.requests.places import place
from perfdiag.diagnosis.significance import percent, plain
from perfdiag.model.model import Model
from perfdiag.recording import schema

_SHOWN = 3  # statuses, and names


@dataclass(frozen=True)
class ErrorAnswers:
    """Errors of one kind, the server's (5xx) or the client's (4xx), to requests at one place."""

    place: str
    lines: Sequence[schema.Answer]
    answered: int  # requests there
    server: bool
    answered_error: int = 0  # how far off that may be, beside a sample

    @property
    def count(self) -> int:
        """How many there were: of an answer that is not over yet its beginning counts, not its request."""
        return min(self.answered, sum(each.count for each in self.lines))

    @property
    def share(self) -> float:
        """Their part of all answers there, at least: one whose beginning came in pieces does not count."""
        return self.count / self.answered if self.answered else 0.0

    @property
    def statuses(self) -> str:
        """The statuses, the most frequent first: "500, 503"."""
        counts = sums_by_key((each.status, each.count) for each in self.lines)
        return ", ".join(plain(name_of(status)) for status, _ in counts.most_common(_SHOWN))

    @property
    def text(self) -> str:
        """Return "60 % of the answers on port 80 are 500 (12 of 20)"."""
        return f"{percent(self.share)} of the answers on {self.place} are {self.statuses} ({self.of_all})"

    @property
    def of_all(self) -> str:
        """Return "12 of 20", or, beside a sample, "12 +-4 of 20 +-6"."""
        error = round(math.hypot(*(each.count_error for each in self.lines)))
        return f"{self.count:,}{give_or_take(error)} of {self.answered:,}{give_or_take(self.answered_error)}"

    @property
    def asked(self) -> Sequence[str]:
        """Return for what, and how often: "GET /cart: 10 times 500", the most frequent first."""
        ordered = sorted(self.lines, key=lambda each: (-each.count, each.name, each.status))
        named = [each for each in ordered if each.name][:_SHOWN]
        return [
            f"{plain(each.name)}: {plural(each.count, 'time')}{give_or_take(each.count_error)}"
            f" {plain(name_of(each.status))}"
            for each in named
        ]


def error_answers(model: Model, *, server: bool) -> list[ErrorAnswers]:
    """Return the errors that the target answers with, of one kind, the largest part of a port's answers first."""
    served = groups_by_key((each.line.object, each.line) for each in model.exchanges if each.served)
    found = [
        ErrorAnswers(
            place(object),
            lines,
            sum(each.count for each in served.get(object, ())),
            server,
            round(math.hypot(*(each.count_error for each in served.get(object, ())))),
        )
        for object, lines in groups_by_key((each.object, each) for each in _served(model, server=server)).items()
    ]
    return sorted((each for each in found if each.count), key=lambda each: (-each.share, -each.count, each.place))


def _served(model: Model, *, server: bool) -> Iterable[schema.Answer]:
    return (each for each in model.answers if each.direction == "accepted" and is_server_error(each.status) is server)
