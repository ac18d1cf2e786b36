"""Hostile recordings of thousands of requests, or of requests that call thousands of peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from unit.support.products import Line, S, exchange, thread

COUNT = 4300  # as many exchanges as a recording holds


def served(number: int, sum_ns: int = S // 10, **fields: object) -> Line:
    """Return a thousand requests on a port of their own."""
    whole = {"name": f"GET /{number:x}", "count": 1000, "sum_ns": sum_ns, "whole": 1000, "whole_ns": sum_ns}
    return exchange(f"port:{number}", "accepted", **{**whole, **fields})


def resent_answers() -> Iterator[Line]:
    """Requests of thousands of names, whose answers are sent again: one cause concerns them all."""
    for number in range(COUNT):
        yield served(number, read_delay_ns=S // 50, resent=2, resent_ns=S // 20, accounts=[["cpu.user", S // 50]])


def called(number: int, count: int, sum_ns: int = S // 50, **fields: object) -> Line:
    """Return calls to a peer of their own."""
    return exchange(f"peer:10.0.0.1:{number}", "connected", **{"count": count, "sum_ns": sum_ns, **fields})


def latency(line: Line, measure: str) -> Line:
    """Return how long those took: some times in each of 25 buckets."""
    count = line["count"] or line["connects"] + line["connects_failed"]
    buckets = [[bucket, count // 25] for bucket in range(200, 225)]
    whole = {"count": count, "sum_ns": line["sum_ns"], "max_ns": S // 10, "buckets": buckets}
    name = {each: line[each] for each in ("object", "name", "direction")}
    return {"type": "latency", **name, "measure": measure, **whole}


def refused_connects() -> Iterator[Line]:
    """Requests of thousands of names that nothing tells of, beside thousands of peers that refuse connects."""
    for number in range(COUNT // 2):
        yield (line := served(number))
        yield latency(line, "whole")
        yield (call := called(number, count=0, sum_ns=0, connects=1, connects_failed=49))
        yield latency(call, "connect")


def chatty_requests() -> Iterator[Line]:
    """Requests of thousands of names that often call thousands of peers."""
    for number in range(COUNT // 2):
        yield served(number, peers_ns=S // 20, accounts=[["net.receive", S // 20]])
        yield called(number, count=50_000_000)


def limited_requests() -> Iterator[Line]:
    """Requests of thousands of names that wait, beside calls to thousands of peers, one at a time to each."""
    yield thread(0, "net.receive")
    many_ns = S // 250
    yield {"type": "requests_inside", "most": 124, "unseen": 0, "levels": [[1, 9 * S], [124, many_ns]]}
    for number in range(COUNT // 2):
        yield (line := served(number))
        yield latency(line, "whole")
        yield called(number, count=100, sum_ns=many_ns, most=1, levels=[[1, many_ns, 100, 100]])


def overdue_requests() -> Iterator[Line]:
    """Requests without a name on thousands of ports that have no answer yet."""
    for number in range(COUNT):
        yield served(number, name="", open=1, oldest_ns=5 * S, unanswered=1, unanswered_longest_ns=S)


SHAPES: dict[str, Callable[[], Iterator[Line]]] = {
    each.__name__: each
    for each in (chatty_requests, limited_requests, overdue_requests, refused_connects, resent_answers)
}

__all__ = ["SHAPES"]
