"""PORT FOLDER: stores an upload of 8 MB for each request."""

import itertools
import pathlib
import sys

from server import serve

number = itertools.count()
piece = b"x" * (1 << 18)


def answer(_):
    with (pathlib.Path(sys.argv[2]) / f"upload-{next(number)}").open("wb") as file:
        for _ in range(32):
            file.write(piece)


serve(int(sys.argv[1]), answer)
