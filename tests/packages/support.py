"""What tests do in a clean root."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from conftest import ROOT

DIST = ROOT / "build/dist"
OTHERS = ("bpftrace", "bpfcc-tools", "libbpf-tools", "systemtap", "systemtap-common", "systemtap-runtime")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
# What package managers, their caches and logs leave everywhere, and what the host lends.
NOT_OURS = (
    "proc",
    "sys",
    "dev",
    "tmp",
    "var/lib/dpkg",
    "var/lib/rpm",
    "root/.rpmdb",
    "var/lib/apt",
    "var/cache",
    "var/log",
)


@dataclass(frozen=True)
class Root:
    """A system below a directory."""

    suite: str
    path: Path

    def run(self, *words: object, status: int = 0) -> str:
        """Run a command in it; fail if it ends with another status, or prints a traceback."""
        ran = subprocess.run(
            ["chroot", self.path, *map(str, words)],
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
            timeout=200,
        )
        assert ran.returncode == status, f"{words}: {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        assert "Traceback" not in ran.stderr
        return ran.stdout + ran.stderr

    def install(self, directory: Path = DIST) -> None:
        """Install both packages with dpkg."""
        names = []
        for path in sorted(directory.glob("*.deb")):
            shutil.copy(path, self.path / "tmp")
            names.append(f"/tmp/{path.name}")
        assert len(names) == 2
        self.run("dpkg", "--install", *names)

    def files(self) -> set[str]:
        """Everything in it, directories too, that a package can have put there."""
        found = set()
        for folder, folders, names in os.walk(self.path):
            below = os.path.relpath(folder, self.path)
            folders[:] = [name for name in folders if os.path.normpath(f"{below}/{name}") not in NOT_OURS]
            found |= {os.path.normpath(f"{below}/{name}") for name in [*folders, *names]}
        return found
