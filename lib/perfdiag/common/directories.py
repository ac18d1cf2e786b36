"""The directories of a tree."""

import os
from collections.abc import Iterator


def walk(tree: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each directory from the top with the sorted names of those in it; who takes a name out is not led into it.

    One that is gone meanwhile, is closed to us, or has a longer path than the kernel takes has no names.  No symbolic
    link is followed.  os.walk() calls itself for each level in Python 3.11, and anybody may nest a thousand control
    groups in one of their own.
    """
    waiting = [tree]
    while waiting:
        directory = waiting.pop()
        try:
            with os.scandir(directory) as entries:
                names = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
        except OSError:
            names = []
        yield directory, names
        waiting += [f"{directory}/{name}" for name in reversed(names)]
