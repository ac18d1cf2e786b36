"""PORT MS: asks for one page after the other, each of them once in a while."""

import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "round-1"))
import load

numbers = itertools.count()


def open_client():
    return lambda: load.http(int(sys.argv[1]), f"/a/b/c/{next(numbers) % 400}.html", fresh=True)()()


load.run(open_client, 12, int(sys.argv[2]), 16)
