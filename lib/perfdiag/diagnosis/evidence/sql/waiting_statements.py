"""Statements that wait for the locks of a session that is idle in a transaction: part of SQL-IDLE-IN-TRANSACTION."""

import re
from dataclasses import replace

from perfdiag.diagnosis.evidence.sql.statement_work import MARIADB, MYSQL
from perfdiag.diagnosis.rule import Evidence, Finding
from perfdiag.diagnosis.significance import fix, with_room

ID = "SQL-IDLE-IN-TRANSACTION"
_LONGEST = 150  # characters of the headline, which says who keeps the lock and who waits for it
_OF_INNODB = (MARIADB, MYSQL)
# What locks rows by a condition. InnoDB locks what it reads on the way to them: "Locks Set by Different SQL Statements
# in InnoDB" in MySQL's manual.
_LOCKS_ROWS = re.compile(
    r"(UPDATE|DELETE)\b.* WHERE |SELECT\b.* WHERE .*(?:FOR UPDATE|FOR SHARE|IN SHARE MODE)\b", re.IGNORECASE
)


def with_waiting(finding: Finding, statement: str, short: str, server: str, shown: Evidence) -> Finding:
    """Return the finding with the statement that waits, and with what that may lock itself."""
    headline = f"{finding.headline}: {short}"
    remedies = list(finding.remedies)
    if server in _OF_INNODB and (locks := _LOCKS_ROWS.match(statement)):
        verb, does = (locks[1].upper(), "changes") if locks[1] else ("SELECT", "returns")
        remedies.insert(
            1,
            fix(
                f"see whether the {verb} locks only the rows that it {does}: without an index on what it filters by,"
                " InnoDB locks every row it reads (EXPLAIN)"
            ),
        )
    return replace(
        finding,
        headline=with_room(headline, finding.headline, _LONGEST),
        evidence=[*finding.evidence, shown],
        remedies=remedies,
    )
