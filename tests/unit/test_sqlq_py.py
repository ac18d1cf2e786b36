"""sqlq.py shows no literal of a statement, whatever the dialect, and statements that are alike in one row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unit.support.programs import program

sqlq = program("sqlq.py")
BOTH = ("PostgreSQL", "MariaDB", "MySQL")
OURS = ("MariaDB", "MySQL")

CASES = [
    (BOTH, "SELECT a, b1 FROM t2 WHERE c = 5 AND d='it''s'", "SELECT a, b1 FROM t2 WHERE c = ? AND d=?"),
    (BOTH, "SELECT 1 /* x */ ,\n\t-- y\n 0x1F, 1.5e3, .5", "SELECT ? , ?, ..."),
    (BOTH, "DELETE FROM t WHERE a IN (1,2, 'x')", "DELETE FROM t WHERE a IN (?, ...)"),
    (BOTH, "INSERT INTO t VALUES (1,'a'),(2,'b'), (3,'c')", "INSERT INTO t VALUES (?, ...), ..."),
    (BOTH, "SELECT x'41', N'secret', _utf8'secret'", "SELECT x?, N?, _utf8?"),
    (("PostgreSQL",), 'SELECT "A b" FROM "T" WHERE c = $1 AND d = $2', 'SELECT "A b" FROM "T" WHERE c = $1 AND d = $2'),
    (("PostgreSQL",), "SELECT $$secret$$, $a_1$it's $$ secret$a_1$ FROM t", "SELECT ?, ... FROM t"),
    (OURS, 'SELECT `a 1` FROM t WHERE b = "secret" AND c = ?', "SELECT `a 1` FROM t WHERE b = ? AND c = ?"),
    # What one dialect takes for the end of a literal, or of a comment, another does not.
    (BOTH, r"SELECT 'a\', 'secret'", "SELECT ..."),
    (BOTH, "SELECT 1--'x\n'secret'", "SELECT ?..."),
    (BOTH, "SELECT 1 # don't\n , 'secret'", "SELECT ? ..."),
    (BOTH, "SELECT /* /* */ 'a */ secret' */", "SELECT ..."),
    (("PostgreSQL",), "SELECT 1 -- note\r, '\nsecret', 2", "SELECT ? , ?, ..."),
    (OURS, "SELECT 1 -- it's\r secret\n, '\nsecret'", "SELECT ? , ?"),
    (OURS, "SELECT 1 /*! + '*/ secret', 2 */", "SELECT ? ..."),
    (OURS, "SELECT 1 /*M!100100 + '*/ secret', 2 */", "SELECT ? ..."),
    (OURS, "SELECT /*+ '*/ secret' */", "SELECT ..."),
    (BOTH, "SELECT 1 --\xa0'\nsecret'", "SELECT ? ..."),
    # In GBK, Big5 and Shift JIS a backtick may be half a letter.
    (OURS, "INSERT INTO `t\ufffd`` VALUES ('secret', `c`)", "INSERT INTO ..."),
    (OURS, "SELECT `größe`, 'secret'", "SELECT `größe`, ?"),
    (BOTH, "SELECT 'cut off secre", "SELECT ..."),
    (("PostgreSQL",), "SELECT $a$ cut off secre", "SELECT ..."),
    (BOTH, "SELECT \x1b[2J", "SELECT ..."),
    (BOTH, "", ""),
]


@pytest.mark.parametrize(("server", "text", "shown"), [(one, *rest) for servers, *rest in CASES for one in servers])
def test_literals(server: str, text: str, shown: str) -> None:
    assert sqlq.without_literals(text, server) == shown


def test_names_cannot_control_a_terminal() -> None:
    text = sqlq.without_literals('SELECT 1 AS "\x1b[2J\n 9 row\u202e\x9b"', "PostgreSQL")
    assert sqlq.printable(text) == 'SELECT ? AS "?[2J? 9 row??"'


@given(st.text("abc '\\\"$-/*#\n", max_size=40), st.text("z", min_size=5, max_size=5))
def test_a_quoted_literal_is_never_shown(before: str, secret: str) -> None:
    """Behind whatever stands before it, if that has no open quote or comment in any dialect."""
    closed = not set(before) & set("'\"\\$-/*#")
    text = f"{before}'{secret}'" if closed else f"SELECT '{before.replace(chr(39), chr(39) * 2)}{secret}'"
    for server in BOTH:
        assert secret not in sqlq.without_literals(text, server)


@pytest.mark.parametrize("ns", [1, 999, 10**6, 10**9])
def test_lengths_are_within_three_percent(ns: int) -> None:
    kind = sqlq.Kind()
    for length in [ns] * 99 + [ns * 1000]:
        kind.add(length)
    assert ns / 1e6 <= kind.most_ms(0.5) <= ns * 1.031 / 1e6
    assert ns / 1e6 <= kind.most_ms(0.99) <= ns * 1.031 / 1e6
    assert kind.most_ms(1) == pytest.approx(ns / 1e3, rel=0.03)
