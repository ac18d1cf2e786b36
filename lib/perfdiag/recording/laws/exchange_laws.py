"""What requests and calls of a recording must obey: no part is more than its whole, and nothing more than can be.

Fields go by the names that perfdiag-recording(5) gives them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from operator import attrgetter

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.common.units import duration
from perfdiag.recording import schema
from perfdiag.recording.given_up import one_connection_in
from perfdiag.recording.laws import level_laws
from perfdiag.recording.laws.tolerance import exceeds
from perfdiag.recording.recording import Recording

Key = tuple[str, str, str]

# Fields of one exchange: each pair stands in one line.  Programs of that many CPUs may still run while it is read, and
# have counted a part already, of which the whole was read before.
PART_AND_WHOLE_COUNTS = (
    ("over_slo", "count"),
    ("whole", "count"),
    ("turns", "count"),
    ("unsure", "count"),
    ("resent", "count"),
    ("missed", "count"),
    ("timed_out", "unanswered"),
    ("until_end", "count"),
    ("over_slo_unsure", "over_slo"),
    ("over_slo_unsure", "unsure"),
)
ANSWERING = ("held", "corked", "resent", "untaken")
PARTS = ("read_delay", "unread_error", "arriving", *ANSWERING)
PART_AND_WHOLE_NS = (
    ("over_slo_ns", "sum_ns"),
    ("missed_ns", "sum_ns"),
    *((f"{part}_ns", "sum_ns") for part in ("whole", *PARTS)),
    *((f"over_slo_{part}_ns", "over_slo_ns") for part in ("whole", *PARTS)),
    *((f"over_slo_{part}_ns", f"{part}_ns") for part in ("whole", "peers", *PARTS)),
    ("unread_error_ns", "read_delay_ns"),
    ("unread_peers_ns", "read_delay_ns"),
    ("unread_peers_ns", "peers_ns"),
    ("over_slo_unread_peers_ns", "unread_peers_ns"),
    ("over_slo_unread_peers_ns", "over_slo_read_delay_ns"),
    *((f"untaken_{limit}_ns", "untaken_ns") for limit in ("window", "buffer")),
)
# Parts of a request, one after the other: it waits to be read, arrives, and its answer waits for room, or is kept back
# or lost when all of it is written.  (These may overlap: the buffer is full, and its last piece is kept back.)
IN_TURN = tuple(("read_delay", "arriving", part) for part in ANSWERING)
_TURNS = [
    (", ".join(names), attrgetter(*names), whole)
    for parts in IN_TURN
    for of, whole in (("", "sum_ns"), ("over_slo_", "over_slo_ns"))
    for names in [[f"{of}{part}_ns" for part in parts]]
]
# What happened in the window, at most once a nanosecond on the largest machine there is.
EVENTS = (
    *("count", "unanswered", "unawaited", "untimed", "open", "early", "declined"),
    *("connects", "connects_failed", "connecting", "greetings", "retries"),
)
MOST_BYTES_PER_NS = 1000
# The distribution of a measure and the field that sums the same.
MEASURED_NS = {"whole": "sum_ns", "read_delay": "read_delay_ns"}
CONNECT = "connect"  # counts connections, and those that are still being made


def find(recording: Recording) -> Iterator[str]:
    """Yield what is contradictory."""
    yield from _twice(recording)
    for line in recording.exchanges:
        yield from _of_parts(line, recording.header.host.cpus_online or 1)
        yield from _of_window(line, recording)
        yield from level_laws.of_calls(line, _window_ns(recording), recording.header.host.cpus_online or 1)
    yield from level_laws.of_requests(recording, _window_ns(recording))
    yield from _of_named(recording, recording.header.host.cpus_online or 1)
    yield from _of_latencies(recording)
    yield from _of_parked(recording)
    yield from _of_unread(recording)
    yield from _of_readers(recording)
    yield from _of_left(recording)
    yield from _of_silent(recording)
    yield from _of_peers(recording)


def _window_ns(recording: Recording) -> int:
    return max(0, recording.footer.at_ns - recording.header.start_ns) if recording.footer else 0


def _twice(recording: Recording) -> Iterator[str]:
    names = Counter((line.object, line.name) for line in recording.exchanges if line.name)  # one can be lost
    timed = Counter((line.object, line.name, line.measure) for line in recording.latencies if line.name)
    twice = max((*names.values(), *timed.values()), default=0)
    if twice > 1:
        yield f"the same requests stand there {twice} times"


def _of_parts(line: schema.Exchange, at_once: int) -> Iterator[str]:
    for part, whole in PART_AND_WHOLE_COUNTS:
        if getattr(line, part) > getattr(line, whole) + at_once:
            yield f"{part} of requests or calls is {getattr(line, part):,}, their {whole} {getattr(line, whole):,}"
    sums = [(part, getattr(line, part) or 0, whole, getattr(line, whole) or 0) for part, whole in PART_AND_WHOLE_NS]
    sums.append(("the sum of accounts", sum(part.sum_ns for part in line.accounts), "sum_ns", line.sum_ns))
    slow_ns = sum(part.sum_ns for part in line.over_slo_accounts)
    sums.append(("the sum of over_slo_accounts", slow_ns, "over_slo_ns", line.over_slo_ns))
    for names, values_of, whole in _TURNS:
        ns = sum(value or 0 for value in values_of(line))
        sums.append((f"the sum of {names}", ns, whole, getattr(line, whole)))
    for part, part_ns, whole, whole_ns in sums:
        if exceeds(part_ns, whole_ns):
            yield f"{part} of requests or calls is {duration(part_ns)}, their {whole} {duration(whole_ns)}"


def _of_named(recording: Recording, at_once: int) -> Iterator[str]:
    for line in recording.named_calls:
        for part in (line.owned, line.missed):
            if part > line.count + at_once:
                yield f"of {line.count:,} calls of one name {part:,} are told"


_WAITED = (  # how long, of how many
    ("unanswered_ns", "unanswered", "while requests waited for {count:,} unanswered calls"),
    ("unanswered_lasted_ns", "unanswered", "until the connections of {count:,} unanswered calls ended"),
    ("greeting_ns", "greetings", "until {count:,} peers said something"),
    ("rest_ns", "count", "while requests waited for the rest of {count:,} answers"),
    ("until_end_ns", "until_end", "while requests waited for {count:,} ends of connections"),
    ("behind_ns", "behind", "while {count:,} calls waited behind others"),
)


def _of_window(line: schema.Exchange, recording: Recording) -> Iterator[str]:
    now_ns = recording.footer.at_ns if recording.footer else 0
    if not now_ns:
        return
    if exceeds(line.sum_ns, line.count * now_ns):
        yield f"{line.count:,} requests or calls took {duration(line.sum_ns)}: longer than since boot"
    if exceeds(line.oldest_ns, now_ns if line.open else 0):
        yield f"the oldest of {line.open:,} open requests or calls is {duration(line.oldest_ns)} old"
    for field, number, what in _WAITED:
        waited_ns, count = getattr(line, field) or 0, getattr(line, number)
        if exceeds(waited_ns, count * now_ns):
            yield f"{duration(waited_ns)} went by {what.format(count=count)}: more than each since boot"
    if exceeds(line.unanswered_longest_ns or 0, now_ns if line.unanswered else 0):
        longest = duration(line.unanswered_longest_ns or 0)
        yield f"the longest of {line.unanswered:,} unanswered requests took {longest}"
    window_ns = now_ns - recording.header.start_ns
    if window_ns <= 0:
        return
    if exceeds(line.busy_ns, window_ns):
        yield f"busy_ns of calls is {duration(line.busy_ns)}, the window {duration(window_ns)}"
    most = {
        **dict.fromkeys(EVENTS, window_ns),
        **dict.fromkeys(("bytes_in", "bytes_out"), window_ns * MOST_BYTES_PER_NS),
    }
    for name, bound in most.items():
        if getattr(line, name) > bound:
            yield f"{name} of requests or calls is {getattr(line, name):,}, in {duration(window_ns)}"


def _of_latencies(recording: Recording) -> Iterator[str]:
    """A distribution counts what its exchange counts."""
    exchanges = groups_by_key((_key(line), line) for line in recording.exchanges)
    latencies = groups_by_key(((_key(each), each.measure), each) for each in recording.latencies)
    for (key, measure), timed in latencies.items():
        lines = exchanges.get(key, [])
        if not lines:
            yield f"a distribution ({measure}) is of requests or calls that do not stand there"
        if len(lines) != len(timed) or measure not in (
            *MEASURED_NS,
            CONNECT,
        ):  # names can be lost: lines are alike then
            continue
        counts = sum(_timed(line, measure) for line in lines), sum(each.count for each in timed)
        if max(counts) > min(counts) * 1.02 + (recording.header.host.cpus_online or 1):
            yield f"{counts[0]:,} requests or calls have {counts[1]:,} in their distribution ({measure})"
        if measure == CONNECT:
            continue
        field = MEASURED_NS[measure]
        sums_ns = sum(getattr(line, field) for line in lines), sum(each.sum_ns for each in timed)
        if exceeds(max(sums_ns), min(sums_ns)):
            own, timed_ns = map(duration, sums_ns)
            yield f"{field} of requests or calls is {own}, in their distribution {timed_ns}"


def _timed(line: schema.Exchange, measure: str) -> int:
    return line.connects + line.connects_failed + line.connecting if measure == CONNECT else line.count


def _of_parked(recording: Recording) -> Iterator[str]:
    for over_slo in (False, True):
        parked_ns = sum(line.sum_ns for line in recording.requests_parked if line.over_slo or not over_slo)
        within_ns = sum(
            _parked_ns(line.over_slo_accounts if over_slo else line.accounts) for line in recording.exchanges
        )
        if exceeds(parked_ns, within_ns):
            yield f"requests were parked {duration(parked_ns)}, by their accounts {duration(within_ns)}"


def _of_unread(recording: Recording) -> Iterator[str]:
    """By object alone: a name can be lost, and lines are alike then."""
    for over_slo in (False, True):
        unread = sums_by_key(
            (line.object, line.sum_ns if line.over_slo or not over_slo else 0) for line in recording.requests_unread
        )
        delays = sums_by_key((each.object, schema.unread_ns(each, over_slo=over_slo)) for each in recording.exchanges)
        for object, ns in unread.items():
            if exceeds(ns, delays[object]):
                yield f"requests lay unread {duration(ns)}, by their exchanges {duration(delays[object])}"


def _of_readers(recording: Recording) -> Iterator[str]:
    """Whatever a thread has read ends in one of these counts; few find no room in them, or are told as several."""
    read = sum(line.requests_read or 0 for line in recording.threads.values())
    begun = sum(
        line.count + line.unanswered + line.open + line.untimed + line.declined
        for line in recording.exchanges
        if line.direction == "accepted"
    )
    lost = recording.footer.lost if recording.footer else {}
    if not one_connection_in(recording.given_up):
        return  # with them what was counted until then
    if read > 2 * begun + (recording.header.host.cpus_online or 1) and not lost.get("exchanges_full"):
        yield f"threads have read {read:,} requests, of which {begun:,} are told"


def _of_left(recording: Recording) -> Iterator[str]:
    now_ns = recording.footer.at_ns if recording.footer else 0
    twice = Counter((line.object, line.earlier, line.queued) for line in recording.requests_left)
    if max(twice.values(), default=0) > 1:
        yield "what is left unread on one port stands there more than once"
    for line in recording.requests_left:
        parts_ns = sum(part.sum_ns for part in line.parts)
        if exceeds(parts_ns, line.sum_ns):
            yield f"what readers were in is {duration(parts_ns)}, what is left was unread {duration(line.sum_ns)}"
        if exceeds(line.sum_ns, line.count * line.oldest_ns):
            oldest = duration(line.oldest_ns)
            yield f"{line.count:,} requests are left unread, {duration(line.sum_ns)}, the oldest {oldest}"
        if now_ns and exceeds(line.oldest_ns, now_ns):
            yield f"a request is left unread for {duration(line.oldest_ns)}: longer than since boot"
        if now_ns and exceeds(line.sum_ns, line.count * max(0, now_ns - recording.header.start_ns)):
            yield f"{line.count:,} requests are left unread, {duration(line.sum_ns)}: longer than the window"


def _of_silent(recording: Recording) -> Iterator[str]:
    footer = recording.footer
    for line in recording.silent:
        if line.never > line.count:
            yield f"of {line.count:,} silent connections {line.never:,} never had an answer"
        if footer and exceeds(line.oldest_ns, footer.at_ns):
            yield f"a connection is silent for {duration(line.oldest_ns)}: longer than since boot"
        if footer and line.oldest_ns and exceeds(footer.at_ns - recording.header.start_ns, line.oldest_ns):
            yield f"a connection that was silent all along is so for {duration(line.oldest_ns)}: not the whole window"


def _of_peers(recording: Recording) -> Iterator[str]:
    """Calls for one request can be under way at the same time: together they take longer than it does."""
    calls = [line for line in recording.exchanges if line.direction != "accepted"]
    made = ("count", "unanswered", "open", "connects", "connects_failed", "connecting")
    number = sum(getattr(line, name) for line in calls for name in made)
    peers_ns = sum(line.peers_ns for line in recording.exchanges)
    if recording.footer and exceeds(peers_ns, number * recording.footer.at_ns):
        yield f"requests waited {duration(peers_ns)} for {number:,} calls: longer than since boot"


def _parked_ns(accounts: Iterable[schema.PartSum]) -> int:
    return sum(part.sum_ns for part in accounts if part.account == "wait.parked")


def _key(line: schema.Exchange | schema.Latency) -> Key:
    return line.object, line.name, line.direction
