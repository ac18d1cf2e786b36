"""The table of servers itself: what it takes for a row, what it calls right, and what it counts."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from incidents.support.incident import IncidentError, cases
from incidents.support.judge import NONE, Result
from live.support.recording import Recording
from truth.support import table
from truth.support.load import LOG, ended, within
from truth.support.row import find, read
from truth.support.table import Held, Percentiles

FOLDERS = find(ROOT / "tests/truth")
MINIMAL = 'story = "s"\ntarget = "t"\n[twin]\n'


def held(first: str = "NET-PEER-SLOW", found: list[str] | None = None, **more: Any) -> Held:
    kind = "twin" if first == NONE else "fault"
    return Held(Result("row", "case", kind, first, [], [first] if found is None else found, []), **more)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_own_rows(folder: Path) -> None:
    """Each is sound, makes something that its twin is not, and stands in the table of the manual."""
    made = cases(folder, read(folder))
    assert len({tuple(sorted(case.settings.items())) for case in made}) == len(made) > 1, "two cases are the same"
    assert f"`{folder.name}`" in (ROOT / "tests/truth/README.md").read_text()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (MINIMAL.replace("[twin]", ""), "twin"),
        (MINIMAL + "unknown = 1\n", "unknown"),
        (f"seconds = 21\n{MINIMAL}", "at most 20"),
        (f"seconds = nan\n{MINIMAL}", "seconds = nan"),
        (f'ports = ["A B"]\n{MINIMAL}', "A B"),
        (f"settings = {{ cache = 1 }}\n{MINIMAL}", "cache"),
        (MINIMAL + '[[near_miss]]\nname = "twin"\n', "stand once"),
    ],
)
def test_what_is_no_row(tmp_path: Path, text: str, why: str) -> None:
    folder = tmp_path / "row"
    folder.mkdir()
    (folder / "row.toml").write_text(text)
    with pytest.raises(IncidentError, match=why):
        read(folder)


def test_percentiles_that_have_to_agree() -> None:
    """What cannot be compared does not agree; a row that compares nothing is right without."""
    seen = Percentiles(1000, 100.0, 200.0)
    assert held(served=seen, reported=Percentiles(1000, 104.0, 195.0), agree=0.05).right
    assert not held(served=seen, reported=Percentiles(1000, 104.0, 220.0), agree=0.05).right
    assert not held(served=seen, agree=0.05).right
    assert held(served=seen).right
    assert held(served=seen, reported=seen, asked=1015, agree=0.05).right
    assert not held(served=seen, reported=seen, asked=1030, agree=0.05).right, "requests were missed"
    assert not held(served=seen, reported=seen, asked=900, agree=0.05).right, "requests were counted twice"
    off = held(served=seen, reported=Percentiles(1000, 104.0, None))
    assert off.apart == pytest.approx(0.04)


def test_what_the_load_has_said() -> None:
    truth = {"requests": 7.0, "p50_ns": 2e6, "p99_ns": 3e6}
    assert table.percentiles(truth) == Percentiles(7, 2e6, 3e6)
    assert table.percentiles(truth, "served_") is None


def test_only_what_was_due_in_the_window_counts(tmp_path: Path) -> None:
    path, log = tmp_path / "recording.jsonl", tmp_path / LOG
    path.write_bytes(gzip.decompress((ROOT / "tests/data/incidents/lock.twin.jsonl.gz").read_bytes()))
    recording = Recording(path)
    begin_ns = recording.header.realtime_ns
    end_ns = begin_ns + recording.footer.at_ns - recording.header.start_ns
    log.write_text(f"{begin_ns - 1} 900 900\n{begin_ns} 5 3\n{end_ns - 1} 7 2\n{end_ns} 900 900\n")
    found = within(log, path)
    assert found == {"requests": 2, "p50_ns": 5, "p99_ns": 5, "served_p50_ns": 2, "served_p99_ns": 2}
    log.write_text(f"{end_ns} 900 900\n")
    with pytest.raises(AssertionError, match="nothing was asked"):
        within(log, path)


def begun(script: str) -> subprocess.Popen[bytes]:
    """Return a load that has set its trap."""
    load = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert load.stderr and load.stderr.readline()
    return load


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo >&2", "had ended"),
        ("trap 'exit 3' INT; echo >&2; while :; do sleep 0.01; done", "status 3"),
        (
            """trap 'echo "{\\"errors\\": 1, \\"requests\\": 9}"; exit' INT; echo >&2; while :; do sleep 0.01; done""",
            "1 answers",
        ),
    ],
)
def test_a_load_that_is_none(tmp_path: Path, script: str, why: str) -> None:
    load = begun(script)
    if "trap" not in script:
        load.wait(10)
    with pytest.raises(AssertionError, match=why):
        ended(load, tmp_path, tmp_path / "recording.jsonl")


def test_the_table() -> None:
    """Every case has its line: what was found, what was expected, and findings that there are not yet."""
    every = [
        held(waited=Percentiles(9, 2e6, 3e6), busy=0.5),
        held(NONE, []),
        held(NONE, ["CPU-CONTENTION"]),
        held("NO-SUCH-FINDING", []),
    ]
    lines = list(table.text(every))
    assert [line[:5] for line in lines[1:5]] == ["right", "right", "WRONG", "WRONG"]
    assert "2.00ms 3.00ms" in lines[1] and "50%" in lines[1]
    assert "expected (none))" in lines[3]
    assert "NO-SUCH-FINDING, which there is not yet" in lines[4]
    assert "right           2 of 4 cases" in lines
    assert "faults          1 of 2 have the right finding first" in lines
    assert "false alarms    1 of 2 healthy twins and near misses" in lines
    content = json.loads(table.document(every, "complete"))
    assert [case["right"] for case in content["cases"]] == [True, True, False, False]


def test_nothing_to_be_made_is_no_success() -> None:
    words = [sys.executable, str(ROOT / "tests/truth/run.py"), "--output", "/nowhere", "--only", "no such row"]
    run = subprocess.run(words, capture_output=True, text=True)
    assert run.returncode != 0 and not run.stdout
