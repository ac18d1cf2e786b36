"""Shows the end of a log of 60 MB: all of it is read ("whole"), or its last block."""

import os
import sys
from collections.abc import Callable

from server import serve

PATH = os.path.join(sys.argv[1], "app.log")
LINES = 20


def whole() -> list[bytes]:
    """Return the last lines of all lines."""
    with open(PATH, "rb") as log:
        return log.readlines()[-LINES:]


def block() -> list[bytes]:
    """Return the last lines of the last block."""
    with open(PATH, "rb") as log:
        log.seek(-min(65536, os.path.getsize(PATH)), os.SEEK_END)
        return log.readlines()[-LINES:]


read: Callable[[], list[bytes]] = {"whole": whole, "block": block}[os.environ["HOW"]]


def page(path: str) -> None:
    """Answer."""
    assert len(read()) == LINES


serve(int(os.environ["PORT"]), page)
