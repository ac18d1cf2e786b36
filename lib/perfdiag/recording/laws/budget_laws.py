"""What a recording must obey of its budget: each step gives more up than the one before, and numbers are estimates
where a step says so."""

from collections.abc import Iterator

from perfdiag.common.units import duration
from perfdiag.recording.given_up import one_connection_in
from perfdiag.recording.laws.tolerance import exceeds
from perfdiag.recording.recording import Recording

_MOST_PROGRAMS_AT_ONCE = 2  # on one CPU: one in an interrupt of the other


def find(recording: Recording) -> Iterator[str]:
    """Yield what is contradictory."""
    yield from _of_steps(recording)
    yield from _of_estimates(recording)
    yield from _of_costs(recording)


def _of_steps(recording: Recording) -> Iterator[str]:
    now: dict[str, int] = {}
    begin_ns, at_ns = recording.header.start_ns, recording.header.start_ns
    for step in recording.given_up:
        before, one_of = now.get(step.feature, 1), step.one_of
        if not before or (one_of and (one_of <= before or one_of & (one_of - 1))):
            yield f"of what one in {before:,} was followed, one in {one_of:,} is from then on"
        if step.at_ns < at_ns or (recording.footer and step.at_ns > recording.footer.at_ns):
            yield f"something was given up {duration(abs(step.at_ns - begin_ns))} away from its begin"
        now[step.feature], at_ns = one_of, max(at_ns, step.at_ns)


def _of_estimates(recording: Recording) -> Iterator[str]:
    one_of = one_connection_in(recording.given_up)
    if not one_of and (told := sum(line.count for line in recording.exchanges)):
        yield f"requests and calls were given up, and {told:,} are told"
    errors = [*(line.count_error for line in recording.exchanges), *(line.count_error for line in recording.answers)]
    if one_of == 1 and any(errors):
        yield "numbers of requests are estimates, and all were followed"


def _of_costs(recording: Recording) -> Iterator[str]:
    """Programs take CPU time of the window."""
    footer = recording.footer
    if footer is None:
        return
    window_ns = max(0, footer.at_ns - recording.header.start_ns) * (recording.header.host.cpus_online or 1)
    costs = [footer.cost.kept_ns, footer.cost.kept_of_ns]
    for step in recording.given_up:
        costs += [step.cost_ns, step.of_ns, step.cost_after_ns, step.of_after_ns]
    for ns in costs:
        if exceeds(ns or 0, _MOST_PROGRAMS_AT_ONCE * window_ns):
            yield f"programs took, or had, {duration(ns or 0)} of {duration(window_ns)} of CPU time"
