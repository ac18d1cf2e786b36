"""What is packed depends on the commit alone: a clone elsewhere, by another umask, builds the same bytes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT
from packages.support import DIST


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.mark.timeout(900)
def test_a_clone_elsewhere_builds_the_same_bytes(tmp_path: Path) -> None:
    changed = subprocess.check_output(["git", "-C", ROOT, "status", "--porcelain"], text=True)
    if changed:
        pytest.skip("this checkout differs from its commit: commit first")
    clone = tmp_path / "another/place"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True, umask=0o027)
    shutil.copytree(ROOT / "build/wheels", clone / "build/wheels", ignore=shutil.ignore_patterns(".stamp"))
    words = ["make", "-C", clone, "dist"]
    made = subprocess.run(words, capture_output=True, text=True, umask=0o027, env={"PATH": os.environ["PATH"]})
    assert made.returncode == 0, made.stderr[-2000:]
    assert len(digests(DIST)) == 7
    assert digests(clone / "build/dist") == digests(DIST)
