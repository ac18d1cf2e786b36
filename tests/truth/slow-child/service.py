"""Every request runs a program and waits for its end: service.py PORT COMMAND..."""

import subprocess
import sys

from server import serve


def run(path: str) -> None:
    """Run the program."""
    subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, check=True)


serve(int(sys.argv[1]), run)
