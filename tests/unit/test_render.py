"""The report as people see it: 24 lines where that is possible, never more than 40, nothing dropped silently."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Check, Severity, Silence
from perfdiag.diagnosis.rules import RULES
from perfdiag.recording.accounts import BY_NAME
from perfdiag.render import json_document as document
from perfdiag.render import ruledout, terminal
from perfdiag.render.layout import COLUMNS, LINES, MOST_LINES, WIDEST
from perfdiag.report import assembly as report
from perfdiag.report import relevance
from rich.cells import cell_len

from conftest import ROOT
from unit.support import Builder
from unit.support.reports import CASES, RUNBOOKS, checks, diagnosis, finding, recorded
from unit.support.shown import folded, plain
from unit.support.strategies import builders, diagnoses

DATA = ROOT / "tests/data"
GOLDEN = DATA / "golden"
RUNS_OUT = 1_000_000_000


@given(builders(), st.data(), st.sampled_from([COLUMNS, WIDEST]))
@settings(max_examples=150)
def test_law_at_most_40_lines_of_80_or_132_columns(builder: Builder, data: st.DataObject, columns: int) -> None:
    model = builder.model()
    made = report.make(model, data.draw(diagnoses(model)), RUNBOOKS)
    lines = terminal.lines(made, columns)
    assert len(lines) <= MOST_LINES
    assert max(cell_len(line.plain) for line in lines) <= columns
    assert all(cell_len(line.plain) <= columns for line in terminal.lines(made, columns, full=True))


@given(builders(), st.data())
@settings(max_examples=25)
def test_law_what_changes_a_reader_s_mind_is_always_there(builder: Builder, data: st.DataObject) -> None:
    model = builder.model()
    made = report.make(model, data.draw(diagnoses(model)), RUNBOOKS)
    text = plain(made)
    assert text.split("\n", 1)[0].endswith(made.verdict.status.upper())
    label = r"(?:^|(?<=\(--full\)  ))(PROBLEM|NO PROBLEM|CANNOT TELL|IDLE|TRUST) "  # TRUST may share a line
    labels = re.findall(label, text.split("\n", 1)[1], re.MULTILINE)
    assert labels.count("TRUST") == 1 and len(labels) == 2
    if not made.coverage.complete:
        assert "CUT SHORT" in text and labels[0] == "TRUST"
    if made.verdict.status in ("critical", "warning"):
        _, _, below = text.partition(f"\n{labels[0] if labels[0] != 'TRUST' else labels[1]} ")
        named = folded(below.partition("\n\n")[0])
        for each in made.findings:
            if each.severity != "info":
                assert (
                    each.id in named or each.headline.rstrip(".") in named or re.search(r"\d+ (more )?finding", named)
                )


@pytest.mark.parametrize("name", CASES)
def test_golden_reports(name: str, update: bool) -> None:
    made = CASES[name]()
    shown = {
        f"{name}.txt": plain(made),
        f"{name}.full.txt": plain(made, full=True),
        f"{name}.wide.txt": plain(made, width=WIDEST),
    }
    if name == "flush":
        shown["flush.json"] = document.render(made).decode()
    for file, text in shown.items():
        path = GOLDEN / file
        if update:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, "read the difference; if it is meant: pytest --update"


def test_golden_files_have_a_case() -> None:
    assert {path.name.partition(".")[0] for path in GOLDEN.iterdir()} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_full_report_holds_everything(name: str) -> None:
    made = CASES[name]()
    text = folded(plain(made, full=True))
    for each in made.findings:
        claims = [each.claim, *(e.text for e in each.evidence), *each.limits, *(r.text for r in each.remedy)]
        assert each.id in text
        for words in claims:
            assert folded(words)[:60].rstrip(".") in text
    for missing in made.not_measured:
        assert missing.reason[:40] in text
    assert all(check.id in text for check in made.checked)
    assert all(f" {entry.account} " in text for entry in made.accounts if entry.kind == "latency")
    assert "more: --full" not in text


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_said_once(name: str) -> None:
    made = CASES[name]()
    text = folded(plain(made)).casefold()
    for each in made.findings:
        if each.severity != "info" and len(each.headline) > 30:
            assert text.count(each.headline.rstrip(".").casefold()) <= 1


def test_nothing_wrong_is_five_lines_and_idle_four() -> None:
    model = Builder().thread("a", cpu_user="4 s").model()
    calm = plain(report.make(model, diagnosis(model, checks=checks(4)), RUNBOOKS)).splitlines()
    assert len(calm) <= 5 and calm[0].endswith(" OK") and calm[2].startswith("NO PROBLEM ")
    model = Builder().thread("a", rest="net.accept").model()
    idle = plain(report.make(model, diagnosis(model), RUNBOOKS)).splitlines()
    assert len(idle) <= 4 and idle[0].endswith(" IDLE") and idle[2].startswith("IDLE ")
    assert not re.search(r"(?<![\d.])0 (%|ns)", "\n".join([*calm, *idle]))


@pytest.mark.parametrize(
    ("severity", "word"), [(Severity.CRITICAL, "CRITICAL"), (Severity.WARNING, "WARNING"), (Severity.INFO, "OK")]
)
def test_the_first_line_ends_in_how_bad_it_is(severity: Severity, word: str) -> None:
    model = Builder().thread("a", disk_read="4 s").model()
    found = replace(finding("DISK-READ-SLOW", {"disk.read": 4 * 10**9}, "Reads are slow."), severity=severity)
    made = report.make(model, diagnosis(model, found), RUNBOOKS)
    assert made.verdict.status == word.lower() and plain(made).splitlines()[0].endswith(f" {word}")


@pytest.mark.parametrize(
    ("cpu_user", "kept", "word"), [("9 s", False, "BUSY"), ("4 s", False, "OK"), ("9 s", True, "OK")]
)
def test_who_computes_for_long_is_busy_and_not_without_a_problem(cpu_user: str, kept: bool, word: str) -> None:
    """Nobody knows whether that computation should take so long, but for who set an objective that was kept."""
    model = Builder().thread("a", cpu_user=cpu_user).model()
    computes = finding("CPU-BOUND", {"cpu.user": model.ns("cpu.user")}, "It runs its code.")
    objective = [Check("SLO-BREACH", "all kept it", 0.0, "share")] if kept else []
    found = diagnosis(model, replace(computes, severity=Severity.INFO), checks=objective)
    lines = plain(report.make(model, found, RUNBOOKS)).splitlines()
    assert lines[0].endswith(f" {word}") and lines[2].startswith(f"{'BUSY' if word == 'BUSY' else 'NO PROBLEM'}  ")
    assert any(line.startswith("BUSY TIME ") for line in lines) is (word == "BUSY")


def test_every_fault_is_named_or_counted_right_below() -> None:
    accounts = ("disk.read", "disk.write", "net.send", "ipc.pipe", "memory.reclaim", "lock.kernel", "remote.fs")
    model = Builder().thread("a", **{name.replace(".", "_"): "1 s" for name in accounts}).model()
    found = [finding(f"F-{name}", {name: RUNS_OUT}, f"{name} is slow " * 9 + ".") for name in accounts]
    for several in range(1, len(found) + 1):
        made = report.make(model, diagnosis(model, *found[:several]), RUNBOOKS)
        lines = plain(made).splitlines()
        start = next(number for number, line in enumerate(lines) if line.startswith("PROBLEM "))
        end = next(number for number, line in enumerate(lines) if line.startswith("FIX "))
        assert end - start <= 3
        said = folded("\n".join(lines[start:end]))
        missing = [each for each in made.findings if each.id not in said and each.headline.rstrip(".") not in said]
        assert not missing or f"{len(missing)} more finding" in said


def test_folded_rows_say_how_much_they_are() -> None:
    made = CASES["crowded"]()
    text = plain(made)
    rows = re.findall(r"^  [A-Za-z].{20,40} +>?<?(\d+) % +[\d.]+ \S+(   [a-z_.]+.*)?$", text, re.MULTILINE)
    assert len(rows) > 3 and rows[-1][1] == "", "the last one is everything else"
    assert sum(float(part) for part, _ in rows) == pytest.approx(100, abs=len(rows))
    fold = re.search(r"^and (\d+) more, (\d+) %", text, re.MULTILINE)
    shown = re.findall(r"^\d+ FINDING-", text, re.MULTILINE)
    assert fold is not None and len(shown) + int(fold[1]) == len(made.findings)


def test_a_fault_stands_before_everything_that_is_fine() -> None:
    """However little room there is, what is folded first is no fault."""
    made = CASES["crowded"]()
    text = plain(made)
    assert all(re.search(rf"^\d {each.id} ", text, re.MULTILINE) for each in made.findings[:2])
    assert not re.search(r"CHECK-\d", text) and "60 checks" in text


def test_objects_that_are_nothing_of_an_account_do_not_stand_for_it() -> None:
    builder = Builder().thread("a").row("runq.busy", "", "8 s").row("runq.busy", "task:7:init", "8 ms")
    found = finding("CPU-CONTENTION", {"runq.busy": 8_000_000_000})
    model = builder.model()
    assert "init" not in plain(report.make(model, diagnosis(model, found), RUNBOOKS), width=WIDEST)
    model = builder.row("runq.busy", "task:8:backup", "100 ms").model()
    assert "backup (8) 100 ms" in plain(report.make(model, diagnosis(model, found), RUNBOOKS), width=WIDEST)


def problem_of(sentences: list[str], width: int = COLUMNS, full: bool = False, tells: Sequence[str] = ()) -> str:
    made = CASES["flush"]()
    verdict = msgspec.structs.replace(made.verdict, sentences=sentences, tells=list(tells))
    made = msgspec.structs.replace(made, verdict=verdict, findings=[])
    return folded(plain(made, width=width, full=full).partition("\nPROBLEM  ")[2].partition("\n\n")[0])


@pytest.mark.parametrize("width", [60, 80])
def test_a_problem_gives_up_whole_sentences(width: int) -> None:
    sentence = "Some words that say what is slow, and how much a fix returns."
    shown = problem_of([sentence] * 6, width)
    number = shown.count(sentence)
    assert shown == " ".join([sentence] * number) and 2 <= number < 6
    assert problem_of([sentence] * 6, full=True) == " ".join([sentence] * 6)


def test_a_single_sentence_that_does_not_fit_is_cut() -> None:
    assert problem_of(["word " * 100]).endswith("...")


def test_what_would_tell_has_a_line_of_its_own() -> None:
    shown = problem_of(["Something is slow."], tells=["gdb -p 7"])
    assert shown == "Something is slow. TO TELL gdb -p 7"


def test_idle_and_unknown_time_stand_apart() -> None:
    """Sleeping on a timer in one thread beside waiting for work in another."""
    builder = Builder().thread("a", rest="net.accept").thread("b", net_receive="3 s", rest="wait.timer")
    model = builder.thread("c", rest="wait.parked").model()
    made = report.make(model, diagnosis(model, finding("NET-PEER-SLOW", {"net.receive": 3 * 10**9})), RUNBOOKS)
    text = plain(made)
    assert "\nBUSY TIME  3.00 s, all threads" in text
    assert "(idle 17.0 s; blocked or idle, unknown: 10.0 s)" in text
    assert "net.accept" not in text and "wait.timer" not in text
    full = folded(plain(made, full=True))
    assert "10.0 s (net.accept)" in full and "7.00 s (wait.timer)" in full


def test_what_is_large_is_not_ruled_out() -> None:
    model = Builder().thread("a", cpu_user="1 s").model()
    large, unsaid = (
        Check("CPU-IDLE-EXIT-LATENCY", "waking idle CPUs 31 %", 0.31, "share"),
        Check("X", "x", 0.0, "share"),
    )
    locks = Check("LOCK-CONTENTION", "locks 0 %; 77 % of thread time parked", 0.0, "share", large=True)
    fine = [
        Check("DISK-READ-SLOW", "reads 4 %", 0.04, "share"),
        Check("CPU-FREQUENCY-LOW", "99 %", 0.99, "share", False),
    ]
    steal = Check("CPU-STOLEN", "steal 0 %", 0.0, "share")
    silence = Silence("CPU-STOLEN", "not told apart", "ask its host")
    made = report.make(
        model, diagnosis(model, checks=[large, unsaid, locks, *fine, steal], silences=[silence]), RUNBOOKS
    )
    assert [check.fine for check in made.checked] == [False, True, False, True, True, True]
    assert ruledout.ruled_out(made) == ["disk reads", "low clock"], "what nobody could judge is not ruled out either"
    _, _, rest = plain(made, full=True).partition("\nLARGE, BUT NO FAULT")
    large_ones, _, others = rest.partition("\nRULED OUT")
    assert "31 %" in large_ones and "77 %" in large_ones and "reads 4 %" not in large_ones
    assert "reads 4 %" in others and "31 %" not in others


def test_subjects_are_made_of_rules() -> None:
    assert {id for _, ids in ruledout.SUBJECTS for id in ids} <= set(RULES)


def test_only_what_matters_to_this_report_is_not_measured() -> None:
    builder = Builder().thread("a", disk_read="4 s").thread("b", cpu_user="400 ms")
    model = builder.without("operations").without("block").without("tcp").model()
    made = report.make(model, diagnosis(model), RUNBOOKS)
    matters = {item.what: item.matters for item in made.not_measured}
    assert matters["queue and service time of disks"]
    assert not matters["time per operation, refused descriptors"], "that is asked for, or not"
    assert not matters["retransmissions and windows per connection"], "nothing of this report is network"
    _, _, full = plain(made, full=True).partition("\nNOT MEASURED")
    assert all(item.reason in folded(full) for item in made.not_measured)


def test_parts_that_can_be_missing_are_known() -> None:
    assert all(account in BY_NAME for accounts in relevance.TELLS_OF.values() for account in accounts)


def test_own_threads_are_one_competitor() -> None:
    builder = Builder().thread("sh")
    for pid in range(20):
        builder.row("runq.busy", f"own:{500 + pid}:sh", "100 ms", count=9)
    model = builder.row("runq.busy", "task:9:recorder", "300 ms", count=3).model()
    text = plain(report.make(model, diagnosis(model), RUNBOOKS), full=True, width=WIDEST)
    assert re.search(r"runq\.busy .*  own threads 2.00 s", text)


def test_threads_alike_wait_in_one_line() -> None:
    builder = Builder().thread("main", cpu_user="1 s")
    for _ in range(5):
        builder.thread("pool", rest="lock.file", open=("lock.file", "inode:1:2", "10 s"))
    model = builder.model()
    found = finding("LOCK-CONTENTION", {"lock.file": 10**10})
    text = plain(report.make(model, diagnosis(model, found), RUNBOOKS))
    assert "\n  pool (101, 102, 103 and 2 more): waiting for a file lock (lock.file" in text


def test_work_stands_in_the_full_report_alone() -> None:
    before, after = (f"rchar: {n}\nwchar: 0\nread_bytes: 0\nwrite_bytes: 0\n" for n in (0, 10240))
    builder = Builder().thread("a", cpu_user="1 s").fact("/proc/100/io", before, after)
    model = builder.fact("/proc/100/status", "Name:\ta\n").model()
    made = report.make(model, diagnosis(model), RUNBOOKS)
    assert "\nWORK " in plain(made, full=True) and "\nWORK " not in plain(made)


def test_the_command_stands_in_the_full_report() -> None:
    for asked, shown in (("--port 80\x1b", "--port '80\\x1b'"), ("", "--pid 100")):
        model = Builder(asked=asked).thread("a", cpu_user="1 s").model()
        assert f"perfdiag latency {shown}\n" in plain(report.make(model, diagnosis(model), RUNBOOKS), full=True)


def test_an_hour_of_text_in_one_field_stays_bounded() -> None:
    made = CASES["flush"]()
    long = msgspec.structs.replace(made, verdict=msgspec.structs.replace(made.verdict, sentences=["word " * 10_000]))
    assert len(terminal.lines(long)) <= MOST_LINES


def test_real_rules_fit_too() -> None:
    builder = (
        Builder()
        .thread("db", cpu_user="2 s", runq_busy=("900 ms", 900), memory_reclaim="300 ms")
        .row("disk.flush", "device:254:0", durations={"9 ms": 400})
        .row("lock.kernel", "function:down_write", "500 ms")
        .row("net.receive", "peer:10.0.0.1:80", "1 s", count=10)
        .without("tcp")
        .lost(ring_buffer=400)
    )
    model = builder.model()
    assert len(terminal.lines(report.make(model, diagnose(model), RUNBOOKS))) <= MOST_LINES


def test_one_real_cause_fits_a_terminal() -> None:
    made = recorded("lock.held-20ms", ROOT / "tests/data/incidents")
    assert len(made.findings) >= 1 and len(plain(made).splitlines()) <= LINES


@pytest.mark.parametrize("columns", [40, 50, 60, 66])
@pytest.mark.parametrize("name", ["causes", "flush", "profile", "crowded"])
def test_headings_and_severities_survive_a_narrow_terminal(name: str, columns: int) -> None:
    made = CASES[name]()
    lines = [line.plain for line in terminal.lines(made, columns, full=True)]
    assert max(map(cell_len, lines)) <= columns
    text = folded(" ".join(lines))
    assert lines[0].endswith(made.verdict.status.upper())
    assert "memory 11.0 MiB" in text and f"({made.target.pid}" in text
    assert any(line.startswith("BUSY TIME ") for line in lines)
    for number, each in enumerate(made.findings, 1):
        severity = " no fault,?" if each.severity == "info" else ",?"
        found = rf"{number} {re.escape(each.id)}\b.{{,40}}{severity} {each.confidence} confidence"
        assert re.search(found, text), each.id


def test_neighbours_of_one_name_are_one_and_no_pid_is_cut() -> None:
    def where(builder: Builder) -> str:
        made = report.make(builder.model(), diagnosis(builder.model()), RUNBOOKS)
        shown = plain(made, full=True, width=112).splitlines()
        return next(line for line in shown if line.startswith("  waiting for a CPU"))

    one = Builder().thread("a").row("runq.busy", "task:1755555:qemu-system-x86_64", "1 s").row("runq.busy", "", "3 s")
    assert where(one).rstrip().endswith("(1755555) 1.00 s") and "qemu-" in where(one)
    two = one.row("runq.busy", "task:7:qemu-system-x86_64", "1 s")
    assert "2 x qemu-system-x86_64 2.00 s" in where(two)


def test_an_error_as_large_as_its_number_is_said_to_be() -> None:
    made = CASES["flush"]()
    first = made.findings[0]
    shown = []
    for error in (5.0, 10.0):
        each = msgspec.structs.replace(first.evidence[0], text="measured", value=10.0, unit="ns", error=error)
        found = msgspec.structs.replace(first, evidence=[each])
        shown.append(plain(msgspec.structs.replace(made, findings=[found]), full=True))
    assert "measured (+-5 ns)" in shown[0] and "measured (+-10 ns: too coarse to rely on)" in shown[1]
