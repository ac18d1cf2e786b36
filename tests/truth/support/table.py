"""What came of every case, beside what the load saw: as text and as data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import msgspec
from perfdiag.common.units import duration
from perfdiag.diagnosis.rules import RULES
from perfdiag.report.contract import Report

from incidents.support import table
from incidents.support.judge import NONE, Result

MISSED = 0.02  # of all requests


class Percentiles(msgspec.Struct, frozen=True):
    """Of requests; None is not known."""

    count: int
    p50_ns: float | None
    p99_ns: float | None


class Held(msgspec.Struct, frozen=True):
    """One case: the judgement of its findings, and two views of the same requests."""

    result: Result
    verdict: str = ""
    waited: Percentiles | None = None  # as the load saw it, from the instant that a request was due
    served: Percentiles | None = None  # the same from the instant that it was sent: what a server can see
    reported: Percentiles | None = None  # by perfdiag
    asked: float | None = None  # requests in the window, by the rate of the load
    agree: float = 0  # how far the last two may be apart, of 1; 0: not compared
    busy: float | None = None  # part of the window in which somebody on this host waited for a CPU

    @property
    def apart(self) -> float | None:
        """How far perfdiag's percentiles are from those of the load, of 1; None where one of them is not known."""
        if not self.served or not self.reported:
            return None
        pairs = [(self.served.p50_ns, self.reported.p50_ns), (self.served.p99_ns, self.reported.p99_ns)]
        return max((abs(ours - theirs) / theirs for theirs, ours in pairs if theirs and ours), default=None)

    @property
    def attributed(self) -> float | None:
        """What part of the requests perfdiag has seen, of 1; None where that is not known."""
        return self.reported.count / self.asked if self.reported and self.asked else None

    @property
    def agrees(self) -> bool:
        """Whether they agree, and nearly all requests have been seen, where that is asked."""
        apart, attributed = self.apart, self.attributed
        if not self.agree or apart is None:
            return not self.agree
        return apart <= self.agree and (attributed is None or abs(1 - attributed) <= MISSED)

    @property
    def right(self) -> bool:
        """Whether the first finding is right, or rightly none, and the percentiles are."""
        return self.result.right and self.agrees


def percentiles(truth: dict[str, float], prefix: str = "") -> Percentiles | None:
    """Return those that the load has printed, None without."""
    if f"{prefix}p50_ns" not in truth:
        return None
    return Percentiles(int(truth.get("requests", 0)), truth[f"{prefix}p50_ns"], truth.get(f"{prefix}p99_ns"))


def reported(report: Report, pattern: str) -> Percentiles | None:
    """Return the percentiles of the requests with such a name: of those that fit, the most frequent."""
    fits = [each.whole for each in report.requests if pattern and re.search(pattern, each.name)]
    most = max(fits, key=lambda whole: whole.count, default=None)
    return Percentiles(most.count, most.p50_ns, most.p99_ns) if most and most.p50_ns is not None else None


def line(held: Held) -> str:
    """Return one case as a line."""
    result = held.result
    state = "right" if held.right else "WRONG"
    said = result.failure or " > ".join(result.found) or NONE
    expected = "" if result.right else f"  (expected {' > '.join([result.first, *result.then])}"
    if expected:
        strange = [id for id in (result.first, *result.then) if id != NONE and id not in RULES]
        expected += ", which there is not yet)" if strange else ", with another claim)" if not result.says else ")"
    if not held.agrees:
        expected += "  (percentiles do not agree)"
    views = " ".join(f"{_pair(view):>15}" for view in (held.waited, held.served, held.reported))
    busy = "-" if held.busy is None else f"{held.busy:.0%}"
    return f"{state}  {f'{result.incident}/{result.case}':36} {busy:>4} {views}  {said}{expected}"


def _pair(view: Percentiles | None) -> str:
    return "-" if view is None else f"{_time(view.p50_ns)} {_time(view.p99_ns)}"


def _time(ns: float | None) -> str:
    return "?" if ns is None else duration(ns).replace(" ", "")


def figures(every: Sequence[Held]) -> dict[str, Any]:
    """Return the sums over all cases."""
    faults = [held for held in every if held.result.kind == "fault"]
    healthy = [held for held in every if held.result.kind != "fault"]
    return {
        "cases": len(every),
        "right": sum(held.right for held in every),
        "faults": len(faults),
        "first_right": sum(held.result.first_right for held in faults),
        "healthy": len(healthy),
        "false_alarms": sum(held.result.false_alarm for held in healthy),
        "failed": sum(bool(held.result.failure) for held in every),
        "busy": [held.busy for held in every if held.busy is not None],
        "seconds": sum(held.result.seconds for held in every),
    }


def text(every: Sequence[Held]) -> Iterator[str]:
    """Yield the lines of the whole account."""
    yield f"{'':43} busy {'asked, p50 p99':>15} {'served':>15} {'perfdiag':>15}  first finding"
    yield from map(line, every)
    yield ""
    yield from table.matrix([held.result for held in every])
    yield ""
    sums = figures(every)
    yield f"right           {sums['right']} of {sums['cases']} cases"
    yield f"faults          {sums['first_right']} of {sums['faults']} have the right finding first"
    yield f"false alarms    {sums['false_alarms']} of {sums['healthy']} healthy twins and near misses"
    yield f"without report  {sums['failed']}"
    yield f"time            {sums['seconds'] / 60:.1f} min"
    if sums["busy"]:
        yield (
            f"this host       was busy for {median(sums['busy']):.0%} of the time, {max(sums['busy']):.0%} at most:"
            " where that is more than a little, servers wait for neighbours for real, and healthy twins may alarm"
        )


def document(every: Sequence[Held], ended: str) -> bytes:
    """Return everything as JSON."""
    content = {
        "ended": ended,
        "figures": figures(every),
        "cases": [
            {**msgspec.to_builtins(held), "right": held.right, "apart": held.apart, "attributed": held.attributed}
            for held in every
        ],
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"


__all__ = ["Held", "Percentiles", "document", "figures", "line", "percentiles", "reported", "text"]
