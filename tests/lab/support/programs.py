"""Program of the live tests once more, for a program of tools/ that runs in a guest with the bcc of its Debian."""

from __future__ import annotations

import shlex

from lab.support.guest import Guest
from lab.support.processes import Process
from live.support.bcc import PYTHON, rows
from live.support.bpftrace import BEGUN


class GuestProgram(Process):
    """A program that has attached by the time it is constructed; without a PID it traces the whole guest."""

    def __init__(self, guest: Guest, name: str, *arguments: object, update: bool = False) -> None:
        """`update` is for programs on this host: the example of a header is from there."""
        self.name = name
        command = [PYTHON, "-I", f"/lab/tools/{name}", *arguments]
        super().__init__(guest, command, "", f"grep -qsE {shlex.quote(BEGUN.pattern)} out")

    def stop(self, *, example: bool = False) -> list[dict[str, str]]:
        """Press Ctrl-C, and return the rows of its table by the names of their columns."""
        self.here("kill -s INT $(cat pid)")
        status, said = self.end(), self.here("cat err")
        assert (status, said) == (0, ""), (status, said)
        return rows(self.name, self.here("cat out"))


__all__ = ["GuestProgram"]
