"""NET-DNS-SLOW: look-ups of names take long, are repeated, or get no answer."""

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import measured, shorter
from perfdiag.diagnosis.evidence.local.peer_work import of_calls, of_waits
from perfdiag.diagnosis.evidence.local.slow_peers import with_work
from perfdiag.diagnosis.evidence.network.full_tables import full_table
from perfdiag.diagnosis.evidence.network.refused_lookups import nobody_listens
from perfdiag.diagnosis.evidence.peers import DNS_PORT, name_of, peer_of
from perfdiag.diagnosis.evidence.requests.calls import (
    by_peer,
    claimed,
    felt,
    fine_or_unknown,
    longer_ns,
    not_followed,
    of_requests_ns,
    severity,
)
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Outcome, Remedy, Severity, rule
from perfdiag.diagnosis.significance import (
    about,
    brief,
    duration,
    fix,
    plain,
    share_above,
    still_waiting,
    together,
    total_ns,
    typical_ns,
    waits,
)
from perfdiag.model.model import Model, Row
from perfdiag.model.requests.exchanges import Exchange

ID, RECEIVE = "NET-DNS-SLOW", "net.receive"
_SUFFIXES = "names that do not exist are tried with every suffix of the search list"


@dataclass(frozen=True)
class _Server:
    """One name server: the waits for it, and all look-ups that were counted."""

    key: str
    rows: list[Row]
    lookups: Exchange | None

    @property
    def name(self) -> str:
        """Return the name of the name server for a report."""
        return name_of(self.key, self.key)

    @property
    def waited_ns(self) -> int:
        """Return how long threads waited for slow answers, or for none."""
        return (
            total_ns(self.rows) if self.rows and typical_ns(together(self.rows)) >= network_policy.slow_answer_ns else 0
        )

    @property
    def took_ns(self) -> int:
        """Return how long slow look-ups took, even if no thread waited: open ones until now, and those that found no
        answer for as long as one of them had none."""
        if self.lookups is None:
            return 0
        answered_ns = longer_ns(self.lookups.whole, network_policy.slow_answer_ns) + self.lookups.line.oldest_ns
        return max(answered_ns, self.lookups.line.busy_ns if self.lookups.line.unanswered else 0)

    @property
    def lost(self) -> int:
        """Return how many queries got no answer, or none in time."""
        line = self.lookups.line if self.lookups else None
        return line.retries + line.unanswered + line.open if line else 0

    @property
    def is_silent(self) -> bool:
        """Whether it was asked several times and answered nothing: a client may give up before it asks again."""
        line = self.lookups.line if self.lookups else None
        if line is None or line.count:
            return False
        late = line.open if line.oldest_ns >= network_policy.lost_lookup_ns else 0
        return line.unanswered + late >= network_policy.silent_lookups

    @property
    def loses(self) -> bool:
        """Whether most of the time is due to lost queries or answers."""
        if self.lookups and not self.lost:
            return False
        if self.is_silent:
            return True
        if self.rows or self.lookups is None:
            return share_above(together(self.rows), network_policy.lost_lookup_ns) >= 0.5
        whole = self.lookups.whole
        return 2 * longer_ns(whole, network_policy.lost_lookup_ns) >= whole.sum_ns

    @property
    def fate(self) -> str:
        """Return what becomes of look-ups there."""
        if self.is_silent:
            return "get no answer"
        return "get lost" if self.loses else "are slow"


@rule(
    ID,
    title="A name server answers slowly, or not always",
    accounts=(RECEIVE,),
    meaning="A name server takes long, or its answers get lost; the C library then asks again after 5 seconds. Most"
    " programs look a name up for every connection they make, and the C library caches nothing.",
    measured="Waits to receive from port 53, and UDP look-ups from query to answer, even if no thread waited, with"
    " those repeated after 100 ms or more and those never answered. Slow is 10 ms, for the wait in which"
    " half of the time was spent. On sockets that are not connected, look-ups cannot be told from other"
    " datagrams.",
    alternatives="A firewall or address translation loses one of the two queries (A, AAAA) that are sent at once;"
    " names that do not exist are tried with every suffix of the search list.",
    remedies="Ask the name server yourself; set shorter timeouts in resolv.conf; run a cache on this host.",
    verify="Look-ups take under 10 ms; or run dig +tries=1 NAME a hundred times.",
    beats=(
        "NET-PEER-SLOW",
        "NET-SELF-SLOW",
    ),
    elsewhere=True,
)
def dns_slow(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each name server that holds the target up."""
    said = 0
    for each in _servers(model):
        if refused := nobody_listens(model, each.name, each.lookups, each.waited_ns):
            said += 1
            yield refused
            continue
        requests_ns = of_requests_ns(model, each.took_ns)
        unseen = each.lost and severity(model, 0, 0, each.took_ns) is Severity.WARNING
        if felt(model, each.waited_ns, requests_ns) or unseen:
            said += 1
            yield _finding(model, each, requests_ns)
    if not said:
        yield fine_or_unknown(model, ID, "waiting for data, name servers included,", RECEIVE)


def _servers(model: Model) -> list[_Server]:
    rows: dict[str, list[Row]] = {}
    for row in model.rows_of(RECEIVE):
        peer = peer_of(row.key)
        if peer and peer.port == DNS_PORT:
            rows.setdefault(row.key, []).append(row)
    lookups = by_peer(model, "lookup")
    found = [_Server(key, rows.get(key, []), lookups.get(key)) for key in dict.fromkeys([*rows, *lookups])]
    return sorted(found, key=lambda each: (-max(each.waited_ns, each.took_ns), each.key))


def _finding(model: Model, server: _Server, requests_ns: int) -> Finding:
    name, took_ns = server.name, max(server.waited_ns, server.took_ns)
    full = full_table(model) if server.loses else None
    if server.loses:
        counted = f" {_lost_words(server.lookups)}," if server.lookups else ""
        until = "" if server.is_silent else " until they are repeated"
        claim = f"Look-ups at {name} {server.fate}:{counted} {duration(took_ns)} of waiting{until}."
        claim += f" {full.sentence}" if full else ""
    else:
        typical = about(_typical_ns(server))
        claim = f"Look-ups at {name} take long: half of the time is in look-ups of {typical} or more."
    hanging = [thread for thread, wait in still_waiting(model, RECEIVE) if wait.object == server.key]
    if hanging:
        claim += f" {len(hanging)} of the threads still waited at the end."
    uncounted = "" if server.lookups else "look-ups were not counted: repeated ones are recognized by their length"
    shared = "the part of each peer is estimated from the time of its calls" if requests_ns else ""
    found = conclude(
        model,
        claimed({(RECEIVE, server.key): server.waited_ns}, requests_ns),
        headline=full.headline if full else f"Look-ups at {brief(name)} {server.fate}",
        claim=claim,
        mechanism=Mechanism.LIMIT if full else Mechanism.FAILED if server.loses else Mechanism.SLOW,
        severity=severity(model, server.waited_ns, requests_ns, server.took_ns),
        doubts=[uncounted, shared, not_followed(model)],
        evidence=[*_evidence(server), *([full.evidence] if full else [])],
        remedies=[*(full.remedies if full else []), *_remedies(server)],
        alternatives=[] if server.is_silent else [_SUFFIXES],
        verify=_check(model, server),
    )
    if server.loses:
        return found
    work = of_waits(model, server.rows) if server.rows else of_calls(model, server.key, server.took_ns)
    return with_work(found, work, f"name server {name}")


def _check(model: Model, server: _Server) -> str:
    if server.is_silent:
        return measured(model, f"look-ups at {server.name} are answered")
    if server.loses:
        return measured(model, f"no look-up at {server.name} is repeated")
    return shorter(model, f"look-ups at {server.name}", _typical_ns(server), network_policy.slow_answer_ns)


def _typical_ns(server: _Server) -> int:
    if server.rows:
        return typical_ns(together(server.rows))
    return server.lookups.whole.typical_ns() if server.lookups else 0


def _lost_words(lookups: Exchange) -> str:
    line, parts = lookups.line, []
    if line.retries:
        parts.append(f"{line.retries:,} {'query' if line.retries == 1 else 'queries'} repeated")
    if line.unanswered:
        parts.append(f"{line.unanswered:,} never answered")
    if line.open:
        parts.append(f"{line.open:,} not answered when the window ended")
    return ", ".join(parts)


def _evidence(server: _Server) -> list[Evidence]:
    evidence = [waits(together(server.rows), f"waits for {server.name}")] if server.rows else []
    if server.lookups:
        whole = server.lookups.whole
        parts = [f"{plural(whole.count, 'look-up')} answered", *filter(None, [_lost_words(server.lookups)])]
        for text, q in (("p50", 0.5), ("p99", 0.99)):
            value = whole.quantile_ns(q)
            if value is not None and (q < 0.9 or whole.count >= general_policy.waits_for_p99):
                parts.append(f"{text} {about(value)}")
        if whole.count:
            parts.append(f"longest {duration(whole.max_ns)}")
        evidence.append(Evidence(", ".join(parts), float(whole.sum_ns), "ns", "sockets"))
    return evidence


def _remedies(server: _Server) -> list[Remedy]:
    peer = peer_of(server.key)
    at = f" @{plain(peer.address.strip('[]'))}" if peer else ""
    ask = fix(f"ask the name server yourself, several times, for the same names: dig +tries=1 +time=2{at} NAME")
    cache = fix("run a cache on this host (systemd-resolved, unbound, dnsmasq), or keep connections open")
    sooner = fix(
        "make a lost query cheaper, in the /etc/resolv.conf of its clients: options timeout:1 attempts:3; rotate if it"
        " names several servers; single-request if one of the two queries (A, AAAA) sent at once gets lost"
    )
    if server.is_silent:
        return [
            fix(f"see whether it runs, and whether a firewall drops the queries: dig +tries=1 +time=2{at} NAME"),
            sooner,
        ]
    return [ask, sooner, cache] if server.loses else [ask, cache]
