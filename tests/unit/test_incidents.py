"""The benchmark of diagnoses itself: what it takes for an incident, what it calls right, and what it counts."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from perfdiag.diagnosis.rules import RULES

from conftest import ROOT
from incidents.support import table
from incidents.support.expressions import ExpressionError, evaluate
from incidents.support.fixtures import LARGEST_BYTES, kept, report_of, shrink
from incidents.support.incident import Case, IncidentError, cases, find, read
from incidents.support.judge import NONE, Result, correct, failed, judge
from unit.support import Builder
from unit.support.oom import records
from unit.support.reports import finding
from unit.support.reports import made as reported
from unit.support.threads import START_NS

DATA = ROOT / "tests/data/incidents"
FOLDERS = find(ROOT / "tests/incidents")
MINIMAL = 'story = "s"\ntarget = "t"\n[twin]\n[[fault]]\nname = "f"\nfirst = "DISK-FLUSH-SLOW"\n'


EVERY = {each.title: each for folder in FOLDERS for each in cases(folder, read(folder))}


def case(**more: Any) -> Case:
    return Case(**{"incident": "i", "folder": Path("i"), "name": "c", "kind": "fault", "settings": {}, **more})


def result(**more: Any) -> Result:
    return Result(
        **{
            "incident": "i",
            "case": "c",
            "kind": "fault",
            "first": "A",
            "then": [],
            "found": ["A"],
            "informed": [],
            **more,
        }
    )


HEALTHY = result(kind="twin", first=NONE, found=[])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_own_incidents(folder: Path) -> None:
    """Each is sound, expects findings that there are, and makes a fault that its twin does not have."""
    incident = read(folder)
    made = cases(folder, incident)
    wanted = {finding for each in made for finding in [each.first, *each.then] if finding}
    assert wanted <= set(RULES), wanted - set(RULES)
    twin = made[0]
    assert [each.name for each in made if each is not twin and each.settings == twin.settings] == [], "made as the twin"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("story = 1", "str"),
        (MINIMAL.replace("DISK-FLUSH-SLOW", "x") + "unknown = 1\n", "unknown"),
        (MINIMAL.split("[[fault]]")[0], "fault"),
        (MINIMAL.replace('"f"', '"twin"'), "stand once"),
        (MINIMAL.replace('"f"', '"../f"'), "a-z"),
        ("story = ", "incident.toml"),
        ("story = '\udcff'", "incident.toml"),  # not UTF-8
        (f"a = {'[' * 20_000}", "recursion"),
        (f"a = {'9' * 5000}\n" + MINIMAL, "incident.toml"),
        ("seconds = nan\n" + MINIMAL, "seconds = nan"),
        ("seconds = inf\n" + MINIMAL, "seconds = inf"),
        ("seconds = -5\n" + MINIMAL, "seconds = -5"),
        (MINIMAL.replace("DISK-FLUSH-SLOW", "X"), "no such finding: X"),
        (MINIMAL + 'then = ["DISK-SLO"]\n', "no such finding: DISK-SLO"),
        ('settings = { NFS_FLUSH_MS = "abc" }\n' + MINIMAL, "NFS_FLUSH_MS = 'abc'"),
        ("settings = { NFS_WRITE_MS = -1 }\n" + MINIMAL, "NFS_WRITE_MS = -1"),
        ('settings = { "a;reboot" = 1 }\n' + MINIMAL, "a;reboot"),
        ('settings = { folder = "/" }\n' + MINIMAL, "'folder'"),
        (f"settings = {{ A = {10**30} }}\n" + MINIMAL, "A is too large"),
    ],
)
def test_no_incident(text: str, why: str, tmp_path: Path) -> None:
    folder = tmp_path / "slow"
    folder.mkdir()
    (folder / "incident.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(IncidentError, match=why):
        read(folder)


def test_a_folder_with_a_link_is_no_incident(tmp_path: Path) -> None:
    """All of it is copied into the machine: a link to /dev/zero would have no end."""
    folder = tmp_path / "slow"
    (folder / "data").mkdir(parents=True)
    (folder / "incident.toml").write_text(MINIMAL)
    (folder / "data/file").write_text("")
    read(folder)
    (folder / "data/zero").symlink_to("/dev/zero")
    with pytest.raises(IncidentError, match="data/zero is neither a file nor a directory"):
        read(folder)
    (folder / "data/zero").unlink()
    os.mkfifo(folder / "pipe")
    with pytest.raises(IncidentError, match="pipe"):
        read(folder)


def test_settings_of_a_case(tmp_path: Path) -> None:
    folder = tmp_path / "slow"
    folder.mkdir()
    more = '[[near_miss]]\nname = "n"\nsettings = { B = 3 }\n'
    (folder / "incident.toml").write_text("settings = { A = 1, B = 2 }\n" + MINIMAL + more)
    assert find(tmp_path) == [folder] and find(folder) == [folder]
    assert [(each.title, each.kind, each.settings) for each in cases(folder, read(folder))] == [
        ("slow/twin", "twin", {"A": 1, "B": 2}),
        ("slow/n", "near miss", {"A": 1, "B": 3}),
        ("slow/f", "fault", {"A": 1, "B": 2}),
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1 - a / b", 0.75), ("max(a, -b, 0.5) * 2", 2.0), ("a + b * 1e6", 4e6 + 1)],
)
def test_expressions(text: str, value: float) -> None:
    assert evaluate(text, {"a": 1, "b": 4}) == value


@pytest.mark.parametrize(
    "text",
    [
        *("c", "a / 0", "a.b", "__import__('os')", "a if b else a", "'a'", "1 +", "min()", "a ** b", "", "1\0"),
        *("inf", "inf - inf", "1e999 - 1e999", "large", "1" + "0" * 400, "-" * 5000 + "1", "9" * 5000),
        *("(" * 300 + "1" + ")" * 300, "+".join(["1"] * 100_000)),
    ],
)
def test_no_expressions(text: str) -> None:
    """What is no finite number is said to be none: a share of NaN would be as near as any to what was injected."""
    with pytest.raises(ExpressionError):
        evaluate(text, {"a": 1, "b": 4, "inf": float("inf"), "large": 10**400})


@pytest.mark.parametrize(
    ("made", "first_right", "right"),
    [
        (result(), True, True),
        (result(found=["A", "B"]), True, True),
        (result(found=["B", "A"]), False, False),
        (result(found=[]), False, False),
        (result(then=["B", "C"], found=["A", "x", "B", "C"]), True, True),
        (result(then=["B", "C"], found=["A", "C", "B"]), True, False),
        (result(then=["A"], found=["A"]), True, False),
        (result(says=False), True, False),
        (result(failure="no guest"), False, False),
        (HEALTHY, True, True),
        (result(kind="near miss", first=NONE, found=["A"]), False, False),
        (result(kind="twin", first=NONE, found=[], failure="no guest"), False, False),
    ],
)
def test_what_is_right(made: Result, first_right: bool, right: bool) -> None:
    assert (made.first_right, made.right) == (first_right, right)
    assert correct([HEALTHY, made]) is right
    assert made.false_alarm is (made.kind != "fault" and bool(made.found))


def test_nothing_made_is_not_correct() -> None:
    assert not correct([])


def test_shares_are_held_against_what_was_injected() -> None:
    """Two seconds, of which the flushes take 1.6 by the report; what the target says decides what is near enough."""
    model = Builder(window="2 s").thread("worker", cpu_user="400 ms", disk_flush=("1600 ms", 40)).model()
    report = reported(model)
    wanted = case(first="DISK-FLUSH-SLOW", accounts={"disk.flush": "count * FLUSH_MS * 1e6 / elapsed_ns"})
    wanted = msgspec.structs.replace(wanted, settings={"FLUSH_MS": 40, "MODE": "fsync"})
    near = judge(wanted, report, {"count": 40, "elapsed_ns": 2e9}, {})
    (share,) = near.shares
    assert share.injected == pytest.approx(0.8) and share.measured == pytest.approx(0.8) and not near.far_off
    assert judge(wanted, report, {"count": 20, "elapsed_ns": 2e9}, {}).far_off
    with pytest.raises(ExpressionError, match="count"):
        judge(wanted, report, {"elapsed_ns": 2e9}, {})


def test_what_the_twin_said_is_known_by_its_name() -> None:
    model = Builder(window="2 s").thread("worker", cpu_user="400 ms", wait_timer="1 s").model()
    report = reported(model, finding("CPU-BOUND", {"cpu.user": 300_000_000}))
    wanted = case(first="CPU-BOUND", share="1 - twin_elapsed_ns / elapsed_ns")
    (share,) = judge(wanted, report, {"elapsed_ns": 4e9}, {"elapsed_ns": 1e9}).shares
    assert (share.of, share.injected, share.measured) == ("CPU-BOUND", 0.75, 0.75)


def test_the_first_finding_must_say_what_is_asked_for() -> None:
    """The name of a finding may be right, and the cause that it tells wrong."""
    model = Builder(window="2 s").thread("worker", cpu_user="400 ms", wait_timer="1 s").model()
    report = reported(model, finding("CPU-BOUND", {"cpu.user": 300_000_000}))
    claim = report.findings[0].claim
    assert judge(case(first="CPU-BOUND", says=claim[2:-2]), report, {}, {}).right
    other = judge(case(first="CPU-BOUND", says=f"not {claim}"), report, {}, {})
    assert other.first_right and not other.right and "another claim" in table.line(other)


def test_the_table_counts() -> None:
    results = [
        HEALTHY,
        result(kind="near miss", first=NONE, found=["B"]),
        result(found=["A", "B"]),
        result(found=["B"]),
        failed(case(first="A"), "no guest"),
    ]
    figures = table.figures(results)
    assert {name: figures[name] for name in ("faults", "first_right", "healthy", "false_alarms", "failed")} == {
        "faults": 3,
        "first_right": 1,
        "healthy": 2,
        "false_alarms": 1,
        "failed": 1,
    }
    matrix = list(table.matrix(results))
    assert matrix[1:5] == ["   1 A", "   2 B", "   3 (none)", "   4 (no report)"]
    assert [line.split() for line in matrix[6:]] == [["A", "1", "1", ".", "1"], ["(none)", ".", "1", "1", "."]]
    text = "\n".join(table.text(results))
    assert "1 of 3 faults (33%)" in text and "1 of 2 healthy" in text and "no guest" in text
    document = json.loads(table.document(results, "6.1", "6.1.0", "complete"))
    assert document["correct"] is False and [each["right"] for each in document["results"]] == [1, 0, 1, 0, 0]


def test_an_interrupted_run_is_not_correct() -> None:
    assert json.loads(table.document([HEALTHY], "6.1", "6.1.0", "complete"))["correct"]
    assert not json.loads(table.document([HEALTHY], "6.1", "6.1.0", "interrupted"))["correct"]


@pytest.mark.parametrize(("title", "path"), list(kept(DATA)), ids=[title for title, _ in kept(DATA)])
def test_what_was_recorded_of_an_incident_is_still_diagnosed(title: str, path: Path) -> None:
    """The recordings come from runs of the benchmark whose diagnosis was right; `--keep` writes them anew."""
    wanted = msgspec.structs.replace(EVERY[title], share="", accounts={})
    assert path.stat().st_size <= LARGEST_BYTES
    told = report_of(gzip.decompress(path.read_bytes()))
    assert told.coverage.contradictions == []
    made = judge(wanted, told, {}, {})
    assert made.right, f"expected {[made.first, *made.then]}, found {made.found}"


def test_recordings_of_faults_and_of_healthy_twins_are_kept() -> None:
    kinds = {EVERY[title].kind for title, _ in kept(DATA)}
    assert kinds == {"fault", "twin", "near miss"}


def test_a_shrunk_recording_says_the_same() -> None:
    builder = Builder(window="2 s").thread("worker", cpu_user="400 ms", disk_flush=("1600 ms", 40))
    builder.fact("/dev/kmsg", "6,1,1,-;hello\n")
    recording = builder.bytes()
    small = gzip.decompress(shrink(recording))
    assert b"kmsg" in recording and b"kmsg" not in small
    assert report_of(small).findings == report_of(recording).findings


def test_what_the_kernel_said_is_kept_where_a_finding_is_made_of_it() -> None:
    killed = records("6.1/host", START_NS + 3_000_000_000, 1000)
    recording = Builder().thread(cpu_user="1 s").fact("/dev/kmsg", "", killed).bytes()
    small = gzip.decompress(shrink(recording))
    assert b"kmsg" in small and report_of(small).findings == report_of(recording).findings
