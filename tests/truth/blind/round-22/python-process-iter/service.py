"""Says whether the worker runs."""

import os
import sys

import psutil
from server import serve


def running(path: str) -> None:
    """Look for the worker."""
    if os.environ["LOOK"] == "all":
        found = [each for each in psutil.process_iter(["cmdline", "status"]) if "neighbours.py" in str(each.info)]
        assert found
    else:
        with open("worker.pid") as file:
            assert psutil.pid_exists(int(file.read()))


serve(int(sys.argv[1]), running)
