"""SQL statements that servers of the target ran, and those that it sent."""

from collections.abc import Mapping

from perfdiag.report.contract.base import Part, Untrusted
from perfdiag.report.contract.requests import Percentiles


class LongestStatement(Part, frozen=True, kw_only=True):
    """The longest statement of one digest."""

    pid: int
    tid: int
    begun_ns: int  # CLOCK_MONOTONIC
    ns: int
    accounts: Mapping[str, int]


class Statement(Part, frozen=True, kw_only=True):
    """Statements of one digest: their text without literals and comments."""

    server: str  # postgresql, mariadb
    name: Untrusted
    whole: Percentiles
    ns: int  # of all of them together
    per_second: float
    accounts: Mapping[str, int]
    over_slo: int
    slowest: Mapping[str, int]  # accounts of those over the objective
    longest: LongestStatement


class SqlCall(Part, frozen=True, kw_only=True):
    """Statements of one digest that the target sent to one peer for requests of one name."""

    server: str  # postgresql, mariadb
    name: Untrusted
    peer: Untrusted
    request: Untrusted  # "": it has no name, or is not known
    whole: Percentiles
    ns: int  # of all of them together
    times: float  # so often a request sends it that does; 0: no such request is known
