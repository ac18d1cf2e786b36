"""Runs a job in a login shell for each request, as a runner of builds does."""

import os
import subprocess
import sys

from server import serve

ENVIRONMENT = {**os.environ, "HOME": sys.argv[1] + "/home"}


def run(path: str) -> None:
    """Run a job: it counts the lines of a file."""
    command = ["bash", "--login", "-c", "wc -l <~/data"]
    assert int(subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.PIPE).stdout) == 1000


serve(int(os.environ["PORT"]), run)
