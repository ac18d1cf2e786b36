"""The statement of PostgreSQL that keeps others from a table, by its kind: who changes a table as a whole locks it."""

import re
from dataclasses import dataclass

from perfdiag.common.units import duration, plural
from perfdiag.diagnosis.evidence.session_waits import LOCK
from perfdiag.diagnosis.evidence.sql.statement_of import in_short, shown
from perfdiag.diagnosis.evidence.sql.statement_work import POSTGRESQL
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import Evidence
from perfdiag.model.model import Model
from perfdiag.model.statements import Statement, statements

# Those whose lock keeps others from reading or writing while they run ("Table-Level Locks" in PostgreSQL's manual), but
# for forms that take a weaker one.
_LOCKS_TABLES = re.compile(
    r"(?!.*\b(?:CONCURRENTLY|VALIDATE CONSTRAINT|ATTACH PARTITION|SET STATISTICS|FULL (?:OFF|FALSE|0))\b)"
    r"(?:VACUUM\s*(?:\([^)]*)?\s*FULL|ALTER TABLE|TRUNCATE|CLUSTER|REINDEX|DROP (?:TABLE|INDEX)"
    r"|CREATE (?:UNIQUE )?INDEX|CREATE (?:OR REPLACE )?(?:CONSTRAINT )?TRIGGER|REFRESH MATERIALIZED VIEW)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class TableLocker:
    """A statement that locks a table, and runs meanwhile for long."""

    statement: Statement

    @property
    def name(self) -> str:
        """Return its text as a headline has room for it."""
        return in_short(shown(self.statement))

    @property
    def verb(self) -> str:
        """Return how its text begins: "VACUUM FULL"."""
        match = _LOCKS_TABLES.match(self.statement.name)
        return match[0] if match else ""

    @property
    def evidence(self) -> Evidence:
        """Return how often it ran, and for how long."""
        count = self.statement.latency.count
        ran = f"{plural(count, 'time')}, {duration(held_ns(self.statement))} without its own waits for locks"
        text = f"{shown(self.statement)} locks its table while it runs: {ran}"
        return Evidence(text, float(held_ns(self.statement)), "ns", "statements")


def table_locker(model: Model, least_ns: int) -> TableLocker | None:
    """Return the statement that locked a table for the longest time; None where none did for so long."""
    found = [
        each for each in statements(model.statements) if each.server == POSTGRESQL and _LOCKS_TABLES.match(each.name)
    ]
    longest = max(found, key=held_ns, default=None)
    if longest is None or held_ns(longest) < max(least_ns, general_policy.fault_share * model.window_ns):
        return None
    return TableLocker(longest)


def held_ns(statement: Statement) -> int:
    """Return how long it ran but for its own waits for locks, in which others had the table."""
    return statement.latency.sum_ns - statement.accounts.get(LOCK, 0)
