"""SQL-SLOW-QUERY: statements that compute for long."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.sql.statement_of import LONGEST_STATEMENT, in_short
from perfdiag.diagnosis.rule import Severity
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import fine_bucket, served
from unit.support.judging import check, finding, outcomes
from unit.support.reports import made

S, MS = 1_000_000_000, 1_000_000
ID, TEXT = "SQL-SLOW-QUERY", "SELECT * FROM t WHERE email = ?"


def statement(count: int, each_ns: int, cpu_ns: int, **fields: Any) -> schema.Statement:
    """Return statements of one text, each of the same time; the rest of it they waited for a disk."""
    sum_ns = count * each_ns
    parts = [schema.PartSum("cpu.user", cpu_ns), schema.PartSum("disk.read", sum_ns - cpu_ns)]
    given: dict[str, Any] = {
        "server": "postgresql",
        "kind": "run",
        "name": TEXT,
        "cut": False,
        "count": count,
        "sum_ns": sum_ns,
        "accounts": parts,
        "over_slo": 0,
        "over_slo_ns": 0,
        "over_slo_accounts": [],
        "max_ns": each_ns,
        "max_begun_ns": 1,
        "max_pid": 100,
        "max_tid": 100,
        "max_accounts": [],
        "buckets": [(fine_bucket(each_ns), count)],
    }
    return schema.Statement(**(given | fields))


def server(line: schema.Statement) -> Builder:
    return Builder(comm="postgres").thread("postgres", cpu_user="5 s", disk_read="2 s").line(line)


def test_a_statement_that_computes_is_told_without_being_a_fault() -> None:
    model = server(statement(20, 200 * MS, 3 * S)).model()
    found = finding(model, ID)
    assert found.severity is Severity.INFO and found.claims == {"cpu.user": 3 * S}
    assert TEXT in found.evidence[0].text and "EXPLAIN" in found.remedies[0].text
    named = {each.id: each.claimed_ns for each in diagnose(model).findings}
    assert named[ID] == 3 * S, "CPU-BOUND gets what is left"


def test_what_it_computes_is_named_where_nothing_else_computes() -> None:
    """76 % of the samples were inside the planner, and the remedy was an index."""
    stacks = {"user": ["deconstruct_array (postgres)", "array_in (postgres)"], "count": 300}
    builder = server(statement(20, 200 * MS, 3 * S)).stack("cpu", **stacks)  # type: ignore[arg-type]
    found = finding(builder.model(), ID)
    assert "computes in deconstruct_array: 20 times" in found.headline
    assert "why it computes in deconstruct_array (postgres)" in found.remedies[0].text
    other = server(statement(20, 200 * MS, 2 * S)).stack("cpu", **stacks)  # type: ignore[arg-type]
    assert "deconstruct" not in finding(other.model(), ID).headline, "most of the CPU time is for others"


SCAN = [
    "heapgettup (postgres)",
    "heap_getnextslot (postgres)",
    "ExecSeqScan (postgres)",
    "standard_ExecutorRun (postgres)",
]
OPENS = ["_ZN7handler7ha_openEP5TABLEPKcij (mariadbd)", "_Z21open_table_from_shareP3THDP11TABLE_SHARE (mariadbd)"]
SCANS = "_ZN17TableScanIterator6DoReadEv (mysqld)"
LOOP = ["_Z13rr_sequentialP11READ_RECORD (mariadbd)", "_ZN13sp_instr_stmt7executeEP3THDPj (mariadbd)"]


@pytest.mark.parametrize(
    ("by", "user", "words", "remedy"),
    [
        ("postgresql", SCAN, "reads whole tables", "an index"),
        ("postgresql", ["qsort_tuple (postgres)", "tuplesort_performsort (postgres)"], "sorts rows", "in that order"),
        ("postgresql", ["LogicalTapeRead (postgres)", "mergeruns (postgres)"], "in temporary files", "work_mem"),
        ("postgresql", [*SCAN[:2], "ExecScanSubPlan (postgres)"], "runs a subquery", "a join"),
        ("postgresql", ["_ZN4llvm3runEv (libLLVM-14.so.1)", *SCAN[2:]], "compiles its plan (JIT)", "jit = off"),
        ("postgresql", [*SCAN, "standard_planner (postgres)"], "reads whole tables", "an index"),  # left on the stack
        ("mariadb", LOOP, "runs a procedure", "one statement for all rows"),
        ("mariadb", LOOP[:1], "reads whole tables", "an index"),
        ("mariadb", OPENS, "opens tables", "table_open_cache"),  # the remedy was an index
        ("mysql", [SCANS], "reads whole tables", "an index"),
        ("mysql", [SCANS, "_ZN24Item_singlerow_subselect7val_intEv (mysqld)"], "runs a subquery", "a join"),
        ("mysql", [SCANS, "_ZN15SortingIterator6DoSortEv (mysqld)"], "sorts rows", "in that order"),
    ],
)
def test_what_it_computes_in_decides_the_remedy(by: str, user: list[str], words: str, remedy: str) -> None:
    found = finding(server(statement(20, 200 * MS, 3 * S, server=by)).stack("cpu", user=user, count=300).model(), ID)
    assert words in found.headline and remedy in found.remedies[0].text, found


COMPRESSES = ["pglz_compress (postgres)", "toast_compress_datum (postgres)"]


@pytest.mark.parametrize(
    ("name", "user", "remedy", "plan"),
    [
        ("COPY documents FROM STDIN", COMPRESSES, "default_toast_compression = lz4", False),
        ("INSERT INTO documents VALUES (?)", [], "what it does with each row", False),
        ("SELECT id FROM stops ORDER BY id LIMIT ? OFFSET ?", [], "those after the last row", True),
        ("SELECT id FROM stops ORDER BY id LIMIT ?, ?", [], "those after the last row", True),
        ("SELECT id FROM stops WHERE name = ?", [], "an index helps", True),
    ],
)
def test_an_index_is_advised_for_rows_that_are_read_and_thrown_away(
    name: str, user: list[str], remedy: str, plan: bool
) -> None:
    builder = server(statement(20, 200 * MS, 3 * S, name=name)).stack("cpu", user=user, count=300)
    text = finding(builder.model(), ID).remedies[0].text
    assert remedy in text and ("EXPLAIN" in text) is plan, text


def test_the_work_of_few_samples_is_not_named() -> None:
    few = server(statement(20, 200 * MS, 3 * S)).stack("cpu", user=SCAN, count=3).model()
    assert "reads whole tables" not in finding(few, ID).headline


def test_over_the_objective_it_is_a_fault() -> None:
    parts = [schema.PartSum("cpu.user", 2 * S)]
    model = server(statement(20, 90 * MS, S, over_slo=10, over_slo_ns=2 * S, over_slo_accounts=parts)).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and found.claims == {"cpu.user": 2 * S}


def test_fast_statements_and_those_that_wait_are_none() -> None:
    assert check(server(statement(2000, 2 * MS, 3 * S)).model(), ID).number == 2 * MS
    assert check(server(statement(20, 200 * MS, S)).model(), ID).number == 200 * MS


def test_waiting_for_a_cpu_is_waiting_to_compute() -> None:
    """Sessions that compute at once queue for the CPUs: that hid the statement, which took half of its time so."""
    parts = [schema.PartSum("cpu.user", 2 * S), schema.PartSum("runq.busy", 2 * S)]
    found = finding(server(statement(20, 200 * MS, 2 * S, accounts=parts)).model(), ID)
    assert found.claims == {"cpu.user": 2 * S}


def asked(*lines: schema.Statement) -> Builder:
    """Return a server whose requests take 4 s in all, 3 of them in its own code."""
    builder = Builder(comm="postgres").thread("postgres", cpu_user="3 s", cpu_kernel="1 s", rest="net.request")
    for line in (*served(2000, 2 * MS, {"cpu.user": 3 * S, "cpu.kernel": S}), *lines):
        builder.line(line)
    return builder


def test_short_statements_that_are_most_of_what_requests_take_are_told() -> None:
    """Which share decides, not how long one takes; of many texts that share the time none is told."""
    model = asked(statement(1000, 3 * MS, 2800 * MS)).model()
    found = finding(model, ID)
    assert found.severity is Severity.INFO and found.claims == {"cpu.user": 2800 * MS}
    assert found.headline.endswith("1,000 times, 3.00 ms each")
    many = [statement(500, 2 * MS, 700 * MS, name=f"SELECT {text}") for text in "abcd"]
    assert check(asked(*many).model(), ID).number == 2 * MS
    assert check(asked(statement(1500, 2 * MS, S)).model(), ID).number == 2 * MS, "it waits for the disk"


def test_the_verdict_names_the_statement_that_computes() -> None:
    model = asked(statement(1000, 3 * MS, 2800 * MS)).model()
    said = made(model, *diagnose(model).findings).verdict.text
    assert "3.00 ms each" in said and "of request time" in said, said


def test_without_a_text_nothing_is_said() -> None:
    assert not outcomes(server(statement(20, 200 * MS, 3 * S, kind="prepared", name="")).model(), ID)
    assert not outcomes(Builder().thread("a", cpu_user="5 s").model(), ID)


def test_mariadb_has_its_own_way_to_show_a_plan() -> None:
    found = finding(server(statement(20, 200 * MS, 3 * S, server="mariadb")).model(), ID)
    assert "ANALYZE FORMAT=JSON" in found.remedies[0].text


# The statement that a fault falls on


@pytest.mark.parametrize(("ours", "named"), [(1900, True), (900, False)])
def test_a_fault_names_the_statement_that_has_most_of_it(ours: int, named: bool) -> None:
    """Reads of a disk take 2 s: nearly all of it in one statement, or less than half."""
    builder = Builder(comm="postgres").thread("postgres", cpu_user="1 s").line(statement(20, ours * MS // 20, 0))
    builder.row("disk.read", "device:8:0", durations={"50 ms": 40})
    (found,) = [each for each in diagnose(builder.model()).findings if each.id == "DISK-READ-SLOW"]
    assert found.severity is Severity.WARNING and found.headline.endswith(f", mostly in {TEXT}") is named
    assert any("95 % of it in" in each.text for each in found.evidence) is named


def test_a_session_that_sleeps_in_a_wait_for_events_is_in_its_statement() -> None:
    """The thread is in epoll_wait() until its own timeout: of its requests that is the time of a timer."""
    slept = [schema.PartSum("wait.events", 9 * S)]
    builder = Builder(comm="postgres").thread("postgres", cpu_user="500 ms", rest="wait.events")
    builder.line(statement(20, 450 * MS, 0, accounts=slept, name="select pg_sleep(?)"))
    for line in served(20, 475 * MS, {"wait.timer": 9 * S, "cpu.user": 500 * MS}):
        builder.line(line)
    first = diagnose(builder.model()).findings[0]
    assert first.id == "WAIT-TIMER-IN-REQUEST" and first.headline.endswith(", mostly in select pg_sleep(?)"), first
    assert first.remedies[0].text.startswith("see why select pg_sleep(?) sleeps")


def test_a_long_statement_is_shortened_in_the_headline() -> None:
    name = "SELECT " + ", ".join(f"column_{number}" for number in range(12))
    builder = Builder(comm="postgres").thread("postgres", cpu_user="1 s")
    builder.line(statement(20, 100 * MS, 0, name=name)).row("disk.read", "device:8:0", durations={"50 ms": 40})
    (found,) = [each for each in diagnose(builder.model()).findings if each.id == "DISK-READ-SLOW"]
    assert "SELECT column_0" in found.headline and found.headline.endswith(" ... column_11")
    assert len(found.headline) <= 110


@pytest.mark.parametrize(
    ("whole", "short"),
    [
        ("SELECT id, name FROM stops ORDER BY id LIMIT ? OFFSET ?", "SELECT ... FROM stops ORDER ... LIMIT ? OFFSET ?"),
        ("UPDATE accounts SET balance = ? WHERE account_id = ?", "UPDATE accounts ... WHERE account_id = ?"),
        ("DELETE FROM sessions WHERE expires_at < ? AND id > ?", "DELETE FROM sessions WHERE ... < ? AND id > ?"),
        (
            "UPDATE customer_orders SET a = ?, b = ? WHERE customer_id = ? AND order_id = ?",
            "UPDATE customer_orders ... AND order_id = ?",
        ),
        ("INSERT INTO order_lines VALUES (INSERT(MD5(RAND()), ?), ?)", "INSERT INTO order_lines"),
        ("INSERT INTO order_lines (id, article, number) VALUES (?)", "INSERT INTO order_lines"),
        ("COPY documents (body) FROM STDIN", "COPY documents (body) FROM STDIN"),
        ("x" * 49, "x" * 43 + " ..."),
    ],
)
def test_the_end_of_a_statement_is_kept(whole: str, short: str) -> None:
    """ "OFFSET ?", which had the server walk over 900,000 rows, was cut off."""
    assert in_short(whole) == short and len(short) <= LONGEST_STATEMENT


def test_who_has_the_cpus_keeps_all_statements_waiting() -> None:
    parts = [schema.PartSum("runq.busy", 2 * S)]
    builder = (
        Builder(comm="postgres").thread("postgres", cpu_user="1 s").line(statement(20, 100 * MS, 0, accounts=parts))
    )
    builder.row("runq.busy", "task:7:backup", durations={"5 ms": 400})
    (found,) = [each for each in diagnose(builder.model()).findings if each.id == "CPU-CONTENTION"]
    assert found.severity is Severity.WARNING and TEXT not in found.headline


def test_a_library_that_runs_the_statement_is_evidence() -> None:
    """auto_explain timed each row; the functions of the server had no names."""
    user = ["clock_gettime ([vdso])", "0x302788 (postgres)", "0x173c (auto_explain.so)", "PortalRun (postgres)"]
    found = finding(server(statement(20, 200 * MS, 3 * S)).stack("cpu", user=user, count=300).model(), ID)
    assert any(each.text.startswith("auto_explain.so stands on the stacks") for each in found.evidence)
    plain = finding(server(statement(20, 200 * MS, 3 * S)).stack("cpu", user=SCAN, count=300).model(), ID)
    assert not any(".so" in each.text for each in plain.evidence)


INDEXED = [
    "_bt_compare (postgres)",
    "ExecIndexScan (postgres)",
    "ExecNestLoop (postgres)",
    "standard_ExecutorRun (postgres)",
]
HASHED = ["heap_getnextslot (postgres)", "ExecSeqScan (postgres)", "ExecHashJoin (postgres)"]


def test_what_stands_above_the_work_in_the_plan_is_not_the_work() -> None:
    """An executor node is on the stack of all below it: an indexed join was to get an index."""
    indexed = server(statement(20, 200 * MS, 3 * S)).stack("cpu", user=INDEXED, count=300).model()
    assert "compares each row" not in finding(indexed, ID).headline
    hashed = server(statement(20, 200 * MS, 3 * S)).stack("cpu", user=HASHED, count=300).model()
    assert "reads whole tables" in finding(hashed, ID).headline
