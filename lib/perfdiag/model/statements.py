"""SQL statements of the target's servers, and those that it sends itself; those that took most time in all first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfdiag.model.requests.exchanges import Latencies
from perfdiag.recording import schema

_TOGETHER = "together"
_WITHOUT_TEXT = {
    "not_run": "(not run: only prepared, or refused)",
    "prepared": "(prepared statements)",
    "other": "(other commands of the protocol)",
    "unread": "(statements whose text was not in memory)",
    "no_room": "(all other statements)",
}


class _Digested:
    """What lines by digest have in common."""

    __slots__ = ()
    line: schema.Statement | schema.SqlCall

    @property
    def has_text(self) -> bool:
        """Whether `name` is a digest of their text."""
        return self.line.kind in ("run", _TOGETHER)

    @property
    def name(self) -> str:
        """The digest, or what is known instead."""
        if self.has_text:
            more = " (and others sent with it)" if self.line.kind == _TOGETHER else ""
            return self.line.name + (" ..." if self.line.cut else "") + more
        return _WITHOUT_TEXT.get(self.line.kind, self.line.kind)

    @property
    def latency(self) -> Latencies:
        """How long they took; those that the target sent, until the first byte of the answer."""
        line = self.line
        return Latencies(count=line.count, sum_ns=line.sum_ns, max_ns=line.max_ns, buckets=dict(line.buckets))


@dataclass(frozen=True, slots=True)
class Statement(_Digested):
    """All statements of one digest in one kind of server; thousands of them stay as compact as they were recorded."""

    line: schema.Statement

    @property
    def server(self) -> str:
        """The kind of server, "postgresql", "mariadb" or "mysql"."""
        return self.line.server

    @property
    def accounts(self) -> Mapping[str, int]:
        """What their time went to, ns by account."""
        return _sums(self.line.accounts)

    @property
    def over_slo(self) -> int:
        """How many took longer than the objective."""
        return self.line.over_slo

    @property
    def over_slo_accounts(self) -> Mapping[str, int]:
        """What the time of these went to, ns by account."""
        return _sums(self.line.over_slo_accounts)


@dataclass(frozen=True, slots=True)
class SqlCall(_Digested):
    """All statements of one digest that the target sent to one server, for requests of one name."""

    line: schema.SqlCall

    @property
    def times(self) -> float:
        """How often a request sends it that does; 0: no such request is known."""
        requests = self.line.owned - self.line.repeated
        return self.line.owned / requests if requests > 0 else 0.0


def sql_calls(lines: Sequence[schema.SqlCall]) -> list[SqlCall]:
    """Return the statements that the target sent."""
    return [SqlCall(line) for line in sorted(lines, key=lambda line: -line.sum_ns)]


def statements(lines: Sequence[schema.Statement]) -> list[Statement]:
    """Return the statements of a recording."""
    return [Statement(line) for line in sorted(lines, key=lambda line: -line.sum_ns)]


def _sums(parts: Sequence[schema.PartSum]) -> dict[str, int]:
    return {part.account: part.sum_ns for part in parts}
