"""A process whose functions are to be named."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running(program: Path) -> Iterator[tuple[int, list[str]]]:
    """Run a victim; yield its process number and the addresses of its three functions."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.pid, process.stdout.readline().split()
        process.communicate()


__all__ = ["running"]
