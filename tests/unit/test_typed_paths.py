"""Paths in commands that are advised: a shell takes each for the path that it is, and a terminal obeys none."""

from __future__ import annotations

import os
import subprocess

import pytest
from perfdiag.common.text import typed_path, whole

PATHS = ["/a/b", "-x", "/a b/$(reboot)", "/it's", "/\x1b[31m/cpu", "/a\\x1b'\n\tb", "/größe\u202e", "/\udcff\u2800"]


@pytest.mark.parametrize("path", PATHS, ids=ascii)
def test_a_shell_takes_it_for_the_path(path: str) -> None:
    shown = typed_path(path)
    assert shown == whole(shown)
    said = subprocess.run(["bash", "-c", os.fsencode(f"printf %s {shown}")], capture_output=True, check=True).stdout
    assert said.removeprefix(b"./") == os.fsencode(path)
