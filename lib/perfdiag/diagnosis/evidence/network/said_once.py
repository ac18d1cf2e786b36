"""What threads wait for a peer, and what requests wait for their calls there, as one finding: part of NET-PEER-SLOW."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from perfdiag.diagnosis.rule import Finding


def said_once(of_threads: Sequence[tuple[str, Finding]], of_requests: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings on waits of threads, each with its peer, and on calls that requests wait for; one of a peer
    where the second says nothing but the first again, of the time in which no thread of the request waits for it."""
    rest = list(of_requests)
    for peer, waits in of_threads:
        again = [each for each in rest if each.peer == peer and _says_the_same(waits, each)]
        rest = [each for each in rest if each not in again]
        yield _both(waits, again[0]) if again else waits
    yield from rest


def _both(waits: Finding, calls: Finding) -> Finding:
    evidence = [*waits.evidence, *calls.evidence[:1]]
    return replace(waits, claims={**waits.claims, **calls.claims}, peer=calls.peer, evidence=evidence)


def _says_the_same(waits: Finding, calls: Finding) -> bool:
    return (waits.severity, waits.mechanism, waits.inside) == (calls.severity, calls.mechanism, calls.inside)
