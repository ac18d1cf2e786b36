"""What must hold of how many requests were in progress, and calls outstanding, at once: fields by the names that
perfdiag-recording(5) gives them."""

from collections.abc import Iterator, Sequence

from perfdiag.common.units import duration
from perfdiag.recording import schema
from perfdiag.recording.laws.tolerance import exceeds
from perfdiag.recording.levels import TOLD_BELOW, highest
from perfdiag.recording.recording import Recording

AnyLevels = Sequence[schema.Level] | Sequence[schema.CallLevel]


def of_calls(line: schema.Exchange, window_ns: int, at_once: int) -> Iterator[str]:
    """Yield what is contradictory in the levels of one peer's calls.

    `window_ns`: 0, it is not known; so many programs `at_once` may have counted in one table and not in the other yet.
    """
    if line.levels and line.direction != "connected":
        yield f"levels stand in a line {line.direction}: only calls have any"
    yield from _of_levels("calls", line.levels, line.most or 0, window_ns)
    for each in line.levels:
        if each.waited > each.answered + at_once:
            yield f"{each.waited:,} of {each.answered:,} calls were answered while a request waited"
    answered = sum(each.answered for each in line.levels)
    if answered > 1.02 * line.count + at_once:
        yield f"{answered:,} calls were answered by their levels, {line.count:,} by their count"
    if line.most is None or line.most >= TOLD_BELOW:
        return
    if exceeds(line.sum_ns, _most_ns(line.levels)):
        yield f"calls took {duration(line.sum_ns)}, by their levels {duration(_most_ns(line.levels))}"
    if exceeds(line.busy_ns, sum(each.sum_ns for each in line.levels)):
        levels_ns = sum(each.sum_ns for each in line.levels)
        yield f"busy_ns of calls is {duration(line.busy_ns)}, by their levels {duration(levels_ns)}"


def of_requests(recording: Recording, window_ns: int) -> Iterator[str]:
    """Yield what is contradictory in how many requests were in progress at once."""
    for line in recording.requests_inside:
        yield from _of_levels("requests", line.levels, line.most, window_ns)
        beside_ns, most_ns = line.beside_ns or 0, window_ns * (recording.header.host.cpus_online or 1)
        if exceeds(beside_ns, most_ns):
            yield f"threads computed {duration(beside_ns)} beside requests, where CPUs have {duration(most_ns)}"
        served = [each for each in recording.exchanges if each.direction == "accepted"]
        if line.most >= TOLD_BELOW or not served:
            continue
        if exceeds(line.accompanied_ns or 0, _most_ns(line.levels)):
            together = duration(line.accompanied_ns or 0)
            yield f"calls accompanied {together} of requests, by levels {duration(_most_ns(line.levels))}"
        first_ns = sum(each.sum_ns for each in recording.latencies if each.measure == "first_byte")
        read_ns, levels_ns = first_ns - sum(each.read_delay_ns for each in served), _most_ns(line.levels)
        if exceeds(read_ns, levels_ns):
            yield f"requests took {duration(read_ns)} from read to answered, by levels {duration(levels_ns)}"


def _of_levels(what: str, levels: AnyLevels, most: int, window_ns: int) -> Iterator[str]:
    told = [each.level for each in levels]
    if told != sorted(set(told)):
        yield f"levels of {what} are not in order"
    top = max(told, default=0)
    if top > most:
        yield f"{top:,} {what} were there at once, {most:,} at most"
    if top >= TOLD_BELOW:
        yield f"a level of {what} is {top:,}: none from {TOLD_BELOW} on is told"
    whole_ns = sum(each.sum_ns for each in levels)
    if window_ns and exceeds(whole_ns, window_ns):
        yield f"levels of {what} make {duration(whole_ns)}, the window is {duration(window_ns)}"


def _most_ns(levels: AnyLevels) -> int:
    """Return how long all together can have taken at most."""
    return sum(highest(each.level) * each.sum_ns for each in levels)
