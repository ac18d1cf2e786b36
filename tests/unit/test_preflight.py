"""perfdiag check: why a fact of the host cannot be read, and what would help this user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from perfdiag.capture.preflight import Source, host


def source(path: Path) -> Source:
    return Source("a fact", (str(path),), "in a container: give it the file")


def test_what_can_be_read_needs_no_help(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    [answer] = host([source(tmp_path / "x")])
    assert answer.reason is None and answer.source == str(tmp_path / "x")


def test_what_is_not_there_needs_what_would_make_it(tmp_path: Path) -> None:
    [answer] = host([source(tmp_path / "x")])
    assert answer.reason == f"there is no {tmp_path}/x" and answer.fix == "in a container: give it the file"


@pytest.mark.parametrize(
    ("user", "fix"), [(65534, "run it as root: sudo perfdiag check"), (0, "in a container: give it")]
)
def test_who_is_not_root_is_told_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, fix: str) -> None:
    (tmp_path / "x").touch()

    def refuse(path: str, flags: int) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    [answer] = host([source(tmp_path / "x")])
    assert answer.reason == f"{tmp_path}/x: Permission denied" and answer.fix.startswith(fix)
