"""SLO-BREACH of SQL statements with a limit of their own: what the slow ones have that the others have not."""

from __future__ import annotations

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.recording import schema
from perfdiag.report import header

from unit.support import Builder
from unit.support.judging import finding, findings
from unit.test_findings_sql_slow_query import TEXT, statement

MS, S = 1_000_000, 10**9
ID = "SLO-BREACH"
SLOW = {
    "over_slo": 4,
    "over_slo_ns": 2 * S,
    "over_slo_accounts": [schema.PartSum("cpu.user", 40 * MS), schema.PartSum("disk.read", 1960 * MS)],
    "max_ns": 600 * MS,
}


def server(limits: dict[str, str], *lines: schema.Statement) -> Builder:
    builder = Builder(comm="postgres", slo_names=limits).thread("postgres", cpu_user="2 s", disk_read="2 s")
    for line in lines:
        builder.line(line)
    return builder


def test_slow_ones_are_compared_with_the_others() -> None:
    model = server({TEXT.rstrip(";"): "400 ms"}, statement(104, 29 * MS, S, **SLOW)).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and not found.claims
    assert found.headline.startswith("4 of 104 ") and found.headline.endswith(" took over 400 ms")
    slow, others, more = (each.text for each in found.evidence[1:])
    assert slow == "the slow ones: reading from disk 98 %, own code on a CPU 2 %"
    assert others.startswith("the others, 10.2 ms each: own code on a CPU")
    assert more == "a slow one takes 490 ms more than one of the others: reading from disk >99 %"
    assert "disk.read" in found.remedies[0].text


def test_statements_without_a_limit_of_their_own_have_no_finding_here() -> None:
    assert not findings(server({}, statement(104, 29 * MS, S, **SLOW)).model(), ID)


def test_kept_limits_are_a_check() -> None:
    model = server({TEXT.rstrip(";"): "400 ms"}, statement(104, 29 * MS, S)).model()
    assert [each.text for each in diagnose(model).checks if each.id == ID] == [
        "0 of 104 SQL statements over their limits, longest 29.0 ms"
    ]


def test_a_statement_that_nobody_ran_is_told_with_those_there_are() -> None:
    builder = server({"SELECT x FROM y": "1 s"}, statement(104, 29 * MS, S))
    [told] = [each for each in header.notes(builder.model()) if "NOTHING MATCHED" in each]
    assert told.startswith("NOTHING MATCHED --slo SELECT x FROM y: none was run; seen: SELECT ")
    [told] = [each for each in header.notes(server({"COMMIT": "1 s"}).model()) if "NOTHING MATCHED" in each]
    assert told.endswith("no server of SQL was seen to run any")
