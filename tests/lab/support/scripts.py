"""Script of the live tests once more, for a script of tools/ that runs in a guest: with either version of bpftrace."""

from __future__ import annotations

import shlex

from lab.support.guest import Guest
from lab.support.processes import Process
from live.support.bpftrace import BEGUN, INTERPRETER, Seen, check

# Version 0.17 does not hear a signal that comes while it prints.
INTERRUPT = """
kill -s INT $(cat pid)
for second in 1 2 3 4 5 6 7 8 9 10; do
    [ ! -s status ] || exit 0
    sleep 1
done
kill -s INT $(cat pid)
"""


# The tree of the newest Debian, as the host shares it, and what a tracer needs there.
ENTER_SID = """
mkdir -p /run/sid
mountpoint -q /run/sid || {
    mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=loose,ro sid /run/sid
    for part in proc sys dev; do mount --rbind /$part /run/sid/$part; done
    mount --bind /lab/tools /run/sid/mnt
    mount -t tmpfs tmpfs /run/sid/tmp
}
"""
COMMANDS = {
    "packaged": [*INTERPRETER, "/lab/tools/{}.bt"],
    "newest": ["chroot", "/run/sid", *INTERPRETER, "/mnt/{}.bt"],
}


class GuestScript(Process):
    """A script that has attached by the time it is constructed; without a PID it traces the whole guest."""

    def __init__(
        self, guest: Guest, name: str, *arguments: object, version: str = "packaged", update: bool = False
    ) -> None:
        self.name, self.arguments, self.update = name, arguments, update
        if version == "newest":
            guest.run(ENTER_SID)
        super().__init__(
            guest,
            [*(word.format(name) for word in COMMANDS[version]), *arguments],
            "",
            f"grep -qsE {shlex.quote(BEGUN.pattern)} out",
        )

    def stop(self, *, example: bool = False) -> Seen:
        """Press Ctrl-C, and return what it printed."""
        self.here(INTERRUPT)
        return self.wait(example=example)

    def wait(self, *, example: bool = False) -> Seen:
        """Wait for its end, and return what it printed."""
        assert self.end() == 0, self.here("cat err")
        text = self.here("cat out")
        seen = check(self.name, text, self.here("cat err"))
        if example and self.update:
            seen.make_example(self.name, *self.arguments)
        return seen


__all__ = ["GuestScript"]
