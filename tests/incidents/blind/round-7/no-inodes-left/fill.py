"""Keeps sessions of long ago: as many files as there is room for, each of some bytes."""

import contextlib
import itertools

with contextlib.suppress(OSError):
    for number in itertools.count():
        with open(f"mounted/old-{number}", "wb", buffering=0) as file:
            file.write(b"session")
