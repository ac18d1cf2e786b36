"""Where a report goes: standard output or a file of the caller's own; its colours; what else is said."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from unit.support.command_line import recording, run


@pytest.mark.parametrize("flag", ["-o", "--output"])
def test_a_report_goes_into_a_file_of_the_callers_own(tmp_path: Path, flag: str) -> None:
    to = tmp_path / "report"
    told = run("report", str(recording(tmp_path)), flag, str(to))
    assert (told.returncode, told.stdout) == (0, "") and str(to) in told.stderr
    assert to.read_text() == run("report", str(tmp_path / "x.rec")).stdout != ""
    assert stat.S_IMODE(to.stat().st_mode) == 0o600
    told = run("report", str(tmp_path / "x.rec"), "--json", "--quiet", flag, str(to))
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "")
    assert json.loads(to.read_text())["verdict"], "the old content is gone"


def test_a_dash_is_standard_output(tmp_path: Path) -> None:
    path = str(recording(tmp_path))
    assert run("report", path, "-o", "-").stdout == run("report", path).stdout


def test_no_link_and_no_recording_is_written_over(tmp_path: Path) -> None:
    path, link = recording(tmp_path), tmp_path / "link"
    before = path.read_bytes()
    link.symlink_to(tmp_path / "elsewhere")
    linked = run("report", str(path), "-o", str(link))
    assert linked.returncode == 1 and "it is a link" in linked.stderr and not (tmp_path / "elsewhere").exists()
    same = run("report", str(path), "-o", str(path))
    assert same.returncode == 2 and "the recording itself" in same.stderr
    assert path.read_bytes() == before


def test_a_report_that_is_not_made_leaves_no_file_and_spares_an_old_one(tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("nonsense")
    (tmp_path / "old").write_text("old")
    for name in ("new", "old"):
        assert run("report", str(tmp_path / "broken"), "-o", str(tmp_path / name)).returncode == 1
    assert not (tmp_path / "new").exists() and (tmp_path / "old").read_text() == "old"


def test_a_full_file_system_is_told(tmp_path: Path) -> None:
    told = run("report", str(recording(tmp_path)), "-o", "/dev/full")
    assert told.returncode == 1 and "is not an ordinary file" in told.stderr


@pytest.mark.parametrize(
    ("flags", "environment", "coloured"),
    [
        ([], {}, False),
        (["--color", "always"], {}, True),
        (["--color=always"], {"NO_COLOR": "1"}, True),
        (["--color", "always"], {"TERM": "dumb"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--color", "auto"], {"FORCE_COLOR": "1", "TERM": "xterm-256color"}, True),
    ],
)
def test_colour(tmp_path: Path, flags: list[str], environment: dict[str, str], coloured: bool) -> None:
    told = run("report", str(recording(tmp_path)), *flags, **environment)
    assert told.returncode == 0 and ("\x1b[" in told.stdout) is coloured
    told = run("report", str(tmp_path / "x.rec"), "-o", str(tmp_path / "report"), *flags, **environment)
    written = (tmp_path / "report").read_text()
    assert ("\x1b[" in written) is ("always" in " ".join(flags)), "a file is coloured where that was asked for alone"
