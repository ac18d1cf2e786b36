"""A checkout in miniature: the real launcher, the real Python, and the fake recorder instead of the real one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfdiag.capture import output_file

from conftest import ROOT
from unit.support.recording import Builder
from unit.support.waiting import until

RECORDING = Builder(window="1 s").thread("worker", cpu_user="300 ms", disk_flush=("500 ms", 10)).bytes()


def begun(path: Path) -> output_file.OutFile:
    """Return the file of a recording that has come about."""
    file = output_file.create(str(path))
    file.begin()
    return file


@dataclass
class House:
    """perfdiag, ready to be run with a plan for its recorder (see fake_recorder.py)."""

    root: Path
    plan: str = "good"
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def build(cls, root: Path) -> House:
        """Lay out build/bin, build/venv and lib below `root`, with the launcher, which looks for the others there."""
        binaries = root / "build/bin"
        binaries.mkdir(parents=True)
        (root / "lib").symlink_to(ROOT / "lib")
        (root / "build/venv").symlink_to(sys.prefix)
        shutil.copy(ROOT / "build/bin/perfdiag", binaries)
        recorder = binaries / "perfdiag-recorder"
        fake = Path(__file__).with_name("fake_recorder.py")
        recorder.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IB "{fake}" "$@"\n')
        recorder.chmod(0o755)
        (root / "recording").write_bytes(RECORDING)
        return cls(root)

    @property
    def program(self) -> str:
        """The launcher."""
        return str(self.root / "build/bin/perfdiag")

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """Start perfdiag; standard streams are pipes unless `options` say otherwise."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "FAKE_PLAN": self.plan,
            "LC_ALL": "C.UTF-8",
            "FAKE_RECORDING": str(self.root / "recording"),
            "FAKE_LOG": str(self.root / "log"),
            **self.environment,
        }
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen([self.program, *arguments], text=True, env=environment, **{**pipes, **options})

    def run(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run perfdiag to its end."""
        with self.start(*arguments, **options) as process:
            out, err = process.communicate(timeout=30)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def log(self) -> dict[str, Any]:
        """What the recorder was told."""
        told: dict[str, Any] = json.loads((self.root / "log").read_text())
        return told

    def until_told(self, order: str) -> None:
        """Wait until the recorder was told."""

        def told() -> bool:
            try:
                return order in self.log()["orders"]
            except (FileNotFoundError, json.JSONDecodeError):
                return False

        until(told, f"the recorder was told to {order}")


__all__ = ["RECORDING", "House", "begun"]
