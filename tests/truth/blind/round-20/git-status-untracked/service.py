"""Shows which files of a working copy have been changed, as git status says."""

import os
import subprocess
import sys

from server import serve

COMMAND = ["git", "-C", sys.argv[1] + "/shop", "status", "--porcelain", "--branch", "-u", "--null"]


def changes(path: str) -> None:
    """Ask git."""
    said = subprocess.run(COMMAND, check=True, stdout=subprocess.PIPE).stdout
    assert said.startswith(b"## ")


serve(int(os.environ["PORT"]), changes)
