"""The report as people see it: 45 lines of 80 columns whatever the target, and nothing dropped without a word."""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Check, Remedy, RemedyKind, Severity, Silence
from perfdiag.render import json_document, terminal
from perfdiag.render.layout import COLUMNS, LINES
from perfdiag.report import assembly
from rich.cells import cell_len

from conftest import ROOT
from unit.support import Builder
from unit.support.reports import CASES, RUNBOOKS, checks, diagnosis, finding
from unit.support.shown import plain
from unit.support.strategies import builders, diagnoses

GOLDEN = ROOT / "tests/data/golden"


@given(builders(), st.data())
@settings(max_examples=150)
def test_law_at_most_45_lines_of_80_columns(builder: Builder, data: st.DataObject) -> None:
    model = builder.model()
    made = assembly.make(model, data.draw(diagnoses(model)), RUNBOOKS)
    lines = terminal.lines(made)
    assert len(lines) <= LINES
    assert max(cell_len(line.plain) for line in lines) <= COLUMNS
    assert all(cell_len(line.plain) <= COLUMNS for line in terminal.lines(made, full=True))


@given(builders(), st.data())
@settings(max_examples=50)
def test_what_changes_the_verdict_is_always_above_the_fold(builder: Builder, data: st.DataObject) -> None:
    model = builder.model()
    made = assembly.make(model, data.draw(diagnoses(model)), RUNBOOKS)
    text = "\n" + plain(made).split("\n", 2)[2]  # without the lines that a name can begin, which may be "COST  "
    for heading in ("VERDICT  ", "WHERE ", "FINDINGS", "NO FINDING CLAIMS ", "COVERAGE  ", "COST      "):
        assert text.count(f"\n{heading}") == 1, heading
    assert bool(made.not_measured) == ("\nNOT MEASURED" in text)
    if made.coverage.cannot_tell_ns:
        assert "cannot tell" in text
    if not made.coverage.complete:
        assert "CUT SHORT" in text


@pytest.mark.parametrize("name", CASES)
def test_golden_reports(name: str, update: bool) -> None:
    made = CASES[name]()
    shown = {f"{name}.txt": plain(made), f"{name}.full.txt": plain(made, full=True)}
    if name == "flush":
        shown["flush.json"] = json_document.render(made).decode()
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
    text = re.sub(r"\s+", " ", plain(made, full=True))
    for each in made.findings:
        claims = [each.claim, *(e.text for e in each.evidence), *each.limits, *(r.text for r in each.remedy)]
        assert each.id in text
        for words in claims:
            assert re.sub(r"\s+", " ", words).strip()[:60] in text
    for missing in made.not_measured:
        assert missing.reason[:40] in text
    assert all(f" {entry.account} " in text for entry in made.accounts if entry.kind == "latency")
    assert "more: --full" not in text


def test_folded_rows_say_how_much_they_are() -> None:
    made = CASES["crowded"]()
    text = plain(made)
    rows = {m[1]: float(m[2]) for m in re.finditer(r"^  ([a-z_.]+) +#+ +<?(\d+) %", text, re.MULTILINE)}
    fold = re.search(r"^  and (\d+) more: (\d+) %", text, re.MULTILINE)
    assert fold is not None
    accounts = {entry.account for entry in made.accounts if entry.kind == "latency"}
    assert len(rows) + int(fold[1]) == len(accounts)
    assert sum(rows.values()) + float(fold[2]) == pytest.approx(100, abs=len(rows))
    folded = re.search(r"^and (\d+) more: (\d+) %", text, re.MULTILINE)
    shown = re.findall(r"^\d+ FINDING-", text, re.MULTILINE)
    assert folded is not None and len(shown) + int(folded[1]) == len(made.findings)


def test_a_trial_is_never_shown_without_its_undo_nor_cut() -> None:
    model = Builder().thread("a", disk_read="4 s", net_send="3 s").model()
    for words in (10, 40, 60, 100):
        findings = [
            finding(f"F-{account}", {account: 3_000_000_000}, "c " * 200, evidence=["e " * 90] * 9)
            for account in ("disk.read", "net.send")
        ]
        trial = Remedy(RemedyKind.TRY, "tune " * words, "untune " * words, "now")
        made = assembly.make(model, diagnosis(model, *(replace(f, remedies=[trial]) for f in findings)), RUNBOOKS)
        text = plain(made)
        assert len(text.splitlines()) <= LINES
        tries, undone = text.count("  try   "), text.count("  undo  ")
        assert tries == undone and text.count(" tune") == tries * words
        assert text.count("(now: now)") == undone


@pytest.mark.parametrize("functions", [0, 1, 4])
def test_the_first_finding_keeps_its_remedy_however_much_objectives_have_to_say(functions: int) -> None:
    made = CASES["proxy"]()
    words = "answer from a cache what was asked for before, and ask for the rest while the first is under way " * 3
    first = made.findings[0]
    sampled = [msgspec.structs.replace(first.evidence[0], text="f " * 70, probe="stack samples")] * functions
    remedy = [msgspec.structs.replace(first.remedy[0], text=words.strip())]
    first = msgspec.structs.replace(first, claim="c " * 120, evidence=[*sampled, *first.evidence], remedy=remedy)
    text = plain(msgspec.structs.replace(made, findings=[first, *made.findings[1:]]))
    assert len(text.splitlines()) <= LINES
    assert words.strip() in re.sub(r"\s+", " ", text)


def test_the_second_finding_keeps_its_remedy_rather_than_what_is_fine() -> None:
    made = CASES["crowded"]()
    short = [msgspec.structs.replace(each, claim="A claim.") for each in made.findings]
    text = plain(msgspec.structs.replace(made, findings=short))
    assert all(f"turn {each.id} on" in text for each in made.findings[:2])
    assert "\nCHECKED AND FINE  5: --full\n" in text


def test_a_second_remedy_is_shown_before_a_third_piece_of_evidence() -> None:
    model = Builder().thread("a", disk_read="4 s").model()
    found = finding("DISK-READ-SLOW", {"disk.read": 4_000_000_000}, evidence=["e " * 70] * 3)
    text = plain(assembly.make(model, diagnosis(model, found, checks=checks(60)), RUNBOOKS))
    assert "  fix   repair DISK-READ-SLOW\n" in text


def test_objects_that_are_nothing_of_an_account_do_not_stand_for_it() -> None:
    builder = Builder().thread("a").row("runq.busy", "", "8 s").row("runq.busy", "task:7:init", "8 ms")
    model = builder.model()
    assert "init" not in plain(assembly.make(model, diagnosis(model), RUNBOOKS))
    model = builder.row("runq.busy", "task:8:backup", "100 ms").model()
    assert "backup (8) 100 ms" in plain(assembly.make(model, diagnosis(model), RUNBOOKS))


def verdict_of(text: str, width: int = COLUMNS, full: bool = False) -> str:
    made = CASES["flush"]()
    parts = [f"{part}." for part in text.rstrip(".").split(". ")]
    made = msgspec.structs.replace(made, verdict=msgspec.structs.replace(made.verdict, text=text, sentences=parts))
    shown = re.sub(r"\s+", " ", plain(made, width=width, full=full).partition("\nVERDICT  ")[2].partition("\n\n")[0])
    return shown.strip()


@pytest.mark.parametrize("width", [60, 80])
def test_a_verdict_gives_up_whole_sentences(width: int) -> None:
    sentence = "Some words that say what is slow, and how much a fix returns."
    text = " ".join([sentence] * 6)
    shown = verdict_of(text, width)
    number = shown.count(sentence)
    assert shown == " ".join([sentence] * number) and 2 <= number < 6
    assert verdict_of(text, full=True) == text


def test_a_single_sentence_that_does_not_fit_is_cut() -> None:
    assert verdict_of("word " * 100).endswith("...")


def test_idle_accounts_are_told_apart() -> None:
    """Sleeping by its own choice in one thread beside waiting for work in another."""
    model = Builder().thread("a", rest="net.accept").thread("b", net_receive="30 ms", rest="wait.timer").model()
    text = plain(assembly.make(model, diagnosis(model), RUNBOOKS))
    assert "(idle apart: 20.0 s)" in text and "\n  idle apart: net.accept 10.0 s, wait.timer 9.97 s\n" in text
    model = Builder().thread("a", rest="net.accept").model()
    text = plain(assembly.make(model, diagnosis(model), RUNBOOKS))
    assert "(idle apart: 10.0 s, net.accept)" in text and "\n  idle apart" not in text


def test_what_is_large_is_not_called_fine() -> None:
    model = Builder().thread("a", cpu_user="1 s").model()
    checks = [
        Check("CPU-IDLE-EXIT-LATENCY", "waking idle CPUs 31 % of busy time, from deep states 0 %", 0.31, "share"),
        Check(
            "LOCK-CONTENTION",
            "locks 0 % of busy time; 77 % of thread time parked without proof",
            0.0,
            "share",
            large=True,
        ),
        Check("DISK-READ-SLOW", "reads 4 % of busy time", 0.04, "share"),
        Check("CPU-FREQUENCY-LOW", "delivered clock 99 % of the rated one", 0.99, "share", large=False),
        Check("CPU-SINGLE-THREAD", "busiest thread 100% runs 12 % of the time", 0.04, "share"),
        Check("DISK-MEMBER-SLOW", "a disk named 99 % takes 1.2 times its peers' time", 1.2, "ratio"),
    ]
    made = assembly.make(model, diagnosis(model, checks=checks), RUNBOOKS)
    assert [check.fine for check in made.checked] == [False, False, True, True, True, True]
    for full in (False, True):
        _, _, rest = plain(made, full=full).partition("\nNOT SMALL, BUT NO FAULT SHOWN")
        large, _, fine = rest.partition("\nCHECKED AND FINE")
        assert "31 %" in large and "77 %" in large and "4 %" not in large
        assert "reads 4 %" in fine and "delivered clock" in fine and "31 %" not in fine


def test_functions_stand_before_what_was_not_measured() -> None:
    model = Builder().thread("a", cpu_user="9 s", disk_read="100 ms").thread("pool", rest="wait.parked").model()
    functions = "sha512_block (node) 70 % +-4 % of 420 CPU samples"
    found = finding("CPU-BOUND", {"cpu.user": 9 * 10**9}, "It computes.", severity=Severity.INFO, functions=functions,
                    evidence=["words " * 20] * 5)  # fmt: skip
    silences = [Silence(f"S-{index}", "words " * 30, "more " * 30) for index in range(5)]
    made = assembly.make(model, diagnosis(model, found, checks=checks(30), silences=silences), RUNBOOKS)
    assert "\n  sha512_block (node) 70 %" in plain(made)


@pytest.mark.parametrize("name", CASES)
def test_help_is_always_there(name: str) -> None:
    assert plain(CASES[name]()).splitlines()[-1].startswith("HELP ")


def test_own_threads_are_one_competitor() -> None:
    builder = Builder().thread("sh")
    for pid in range(20):
        builder.row("runq.busy", f"own:{500 + pid}:sh", "100 ms", count=9)
    model = builder.row("runq.busy", "task:9:recorder", "300 ms", count=3).model()
    text = plain(assembly.make(model, diagnosis(model), RUNBOOKS))
    assert re.search(r"runq\.busy .*  own threads 2.00 s\n", text)


def test_threads_alike_wait_in_one_line() -> None:
    builder = Builder().thread("main", cpu_user="1 s")
    for _ in range(5):
        builder.thread("pool", rest="wait.parked", open=("wait.parked", "futex:0x10", "10 s"))
    model = builder.model()
    text = plain(assembly.make(model, diagnosis(model), RUNBOOKS))
    assert "\n  pool (101, 102, 103 and 2 more) are parked on a futex" in text


def test_next_to_no_work_is_not_shown() -> None:
    def shown(amount: int, full: bool = False) -> bool:
        before, after = (f"rchar: {n}\nwchar: 0\nread_bytes: 0\nwrite_bytes: 0\n" for n in (0, amount))
        builder = Builder().thread("a", cpu_user="1 s").fact("/proc/100/io", before, after)
        model = builder.fact("/proc/100/status", "Name:\ta\n").model()
        return "\nWORK " in plain(assembly.make(model, diagnosis(model), RUNBOOKS), full=full)

    assert not shown(30) and shown(30, full=True) and shown(10240)


def test_the_command_stands_in_the_head() -> None:
    for asked, shown in (("--port 80\x1b", "--port 80\\x1b"), ("", "--pid 100")):
        model = Builder(asked=asked).thread("a", cpu_user="1 s").model()
        assert plain(assembly.make(model, diagnosis(model), RUNBOOKS)).startswith(f"perfdiag latency {shown} ")


def test_an_hour_of_text_in_one_field_stays_bounded() -> None:
    made = CASES["flush"]()
    long = msgspec.structs.replace(made, verdict=msgspec.structs.replace(made.verdict, text="word " * 10_000))
    assert len(terminal.lines(long)) <= LINES


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
    assert len(terminal.lines(assembly.make(model, diagnose(model), RUNBOOKS))) <= LINES


@pytest.mark.parametrize("columns", [40, 50, 60, 66])
@pytest.mark.parametrize("name", ["causes", "flush", "profile", "crowded"])
def test_headings_and_severities_survive_a_narrow_terminal(name: str, columns: int) -> None:
    made = CASES[name]()
    lines = [line.plain for line in terminal.lines(made, columns, full=True)]
    assert max(map(cell_len, lines)) <= columns
    text = re.sub(r"\s+", " ", " ".join(lines))
    assert any(line.startswith("FINDINGS") for line in lines)
    assert "memory 11.0 MiB" in text and f"(pid {made.target.pid}" in text
    assert any(line.startswith("WHERE ") for line in lines)
    for number, each in enumerate(made.findings, 1):
        severity = "no fault" if each.severity == "info" else each.severity
        assert re.search(rf"{number} {re.escape(each.id)} .{{,30}}{severity},? confidence {each.confidence}", text), (
            each.id
        )


def test_facts_above_faults_in_time_are_explained_by_the_heading() -> None:
    model = Builder().thread("a", disk_read="4 s", net_send="3 s").model()
    small = finding("F-SMALL", {"net.send": 1_000_000_000}, "Small.")
    fact = replace(finding("F-FACT", {"disk.read": 4_000_000_000}, "A fact."), severity=Severity.INFO)
    assert "FINDINGS " in plain(assembly.make(model, diagnosis(model, small, fact), RUNBOOKS))
    assert "  faults first; share = " in plain(assembly.make(model, diagnosis(model, small, fact), RUNBOOKS))
    larger = finding("F-LARGER", {"disk.read": 4_000_000_000}, "Large.")
    assert "faults first" not in plain(assembly.make(model, diagnosis(model, small, larger), RUNBOOKS))


def test_neighbours_of_one_name_are_one_and_no_pid_is_cut() -> None:
    def where(builder: Builder) -> str:
        made = assembly.make(builder.model(), diagnosis(builder.model()), RUNBOOKS)
        return next(line for line in plain(made).splitlines() if line.startswith("  runq.busy"))

    one = Builder().thread("a").row("runq.busy", "task:1755555:qemu-system-x86_64", "1 s").row("runq.busy", "", "3 s")
    assert where(one).rstrip().endswith("(1755555) 1.00 s") and "qemu-" in where(one)
    two = one.row("runq.busy", "task:7:qemu-system-x86_64", "1 s")
    assert "2 x qemu-system-x86_64 2.00 s" in where(two)


def test_the_cost_of_a_short_window_is_a_time() -> None:
    def cost(window: str) -> str:
        model = Builder(window=window).thread("a", cpu_user="50 ms").cost("400 ms").model()
        return plain(assembly.make(model, diagnosis(model), RUNBOOKS)).partition("COST ")[2]

    assert "recorder 400 ms of CPU time, to start and end" in cost("100 ms") and "of one CPU" not in cost("100 ms")
    assert "recorder 40.0 % of one CPU" in cost("1 s")


def test_an_error_as_large_as_its_number_is_said_to_be() -> None:
    made = CASES["flush"]()
    first = made.findings[0]
    shown = []
    for error in (5.0, 10.0):
        each = msgspec.structs.replace(first.evidence[0], text="measured", value=10.0, unit="ns", error=error)
        found = msgspec.structs.replace(first, evidence=[each])
        shown.append(plain(msgspec.structs.replace(made, findings=[found]), full=True))
    assert "measured (+-5 ns)" in shown[0] and "measured (+-10 ns: too coarse to count on)" in shown[1]
