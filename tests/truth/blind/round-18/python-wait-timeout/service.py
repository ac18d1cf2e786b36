"""service.py PORT never|SECONDS FILE: answers when a picture has been made smaller, by a program that it starts."""

import subprocess
import sys

from server import serve

PATIENCE_S = None if sys.argv[2] == "never" else float(sys.argv[2])


def page(path: str) -> None:
    """Make it smaller."""
    converter = subprocess.Popen(["convert", sys.argv[3], "-resize", "200x200", "jpeg:/dev/null"])
    assert converter.wait(timeout=PATIENCE_S) == 0


serve(int(sys.argv[1]), page)
