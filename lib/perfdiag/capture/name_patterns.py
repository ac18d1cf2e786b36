"""The regular expression of --name, which may take very long even for a short name.

A child that has given up root and the launcher's niceness does the matching, with little time.
"""

import os
import re
import resource
import socket
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress

from perfdiag.common import deadline, privileges
from perfdiag.common.errors import PerfdiagError, UsageError
from perfdiag.common.text import printable

CPU_LIMIT_S = 1
DEADLINE_S = 10.0  # on a host in trouble that much time on a CPU takes longer
SIMPLER = "a plain name works; do not repeat a repetition, such as (a*)*"


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a compiled pattern. Raises UsageError for a text that is none, or that is nested too deeply."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of what a later Python may read otherwise: for programmers
            return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise UsageError(
            f"--name {printable(pattern)}: not a regular expression: {why}",
            "a plain name works; escape special characters with a backslash",
        ) from error


def matching(pattern: str, names: Sequence[str]) -> frozenset[str]:
    """Return the names that match the pattern. Raises UsageError if that takes too long."""
    search, told = compiled(pattern).search, b""

    def match(answers: socket.socket) -> None:
        _take_little()
        found = bytes(bool(search(name)) for name in names)
        for start in range(0, len(found), deadline.MESSAGE_BYTES):
            answers.send(found[start : start + deadline.MESSAGE_BYTES])

    end = time.monotonic() + DEADLINE_S
    with deadline.child(match) as receive, suppress(TimeoutError):
        while len(told) < len(names) and (more := receive(end)[0]):
            told += more
    if len(told) < len(names):
        raise UsageError(
            f"--name {printable(pattern)}: this regular expression takes more than {CPU_LIMIT_S} s to match", SIMPLER
        )
    return frozenset(name for name, found in zip(names, told, strict=True) if found)


def _take_little() -> None:
    """Give up the launcher's privileges, and let the kernel end this process after so much CPU time."""
    if niceness := os.environ.get("PERFDIAG_NICENESS"):
        os.setpriority(os.PRIO_PROCESS, 0, int(niceness))  # while root may: it can be less than what this began with
    with suppress(PerfdiagError):  # where root cannot be given up: whoever records says so
        privileges.drop()
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))
