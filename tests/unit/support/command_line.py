"""perfdiag's command line without its launcher: no privilege, no recorder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from perfdiag import cli

from unit.support.recording import Builder

MAIN = Path(cli.__file__).with_name("__main__.py")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run perfdiag to its end, with nothing in its environment but what is given."""
    return subprocess.run(
        [sys.executable, "-IB", MAIN, *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **environment},
        check=False,
    )


def recording(folder: Path) -> Path:
    """Write a small recording."""
    path = folder / "x.rec"
    path.write_bytes(Builder().thread("a", cpu_user="1 s").bytes())
    return path


__all__ = ["MAIN", "recording", "run"]
