"""A tool of bcc or of libbpf-tools that runs in an emulated guest: when it traces, what it takes, what it prints."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench.witness_answers import refusal
from lab.support.guest import Guest
from lab.support.processes import Process

# bcc looks for headers beside the modules, which the host of the guest has.
HEADERS = "mount -t overlay overlay -o lowerdir=/usr/lib/headers:/lib/modules /lib/modules"
PATIENCE_SECONDS = 400  # bcc compiles its programs in the guest: a minute on a quiet host
STEPS = 250  # of a fifth of a second: one job may not take as long as bcc's compiler
# What is started in the background ignores Ctrl-C, and what prints into a file keeps it to itself for long.
HEARD = ("env", "--default-signal=INT", "PYTHONUNBUFFERED=1", "stdbuf", "-oL")
PEAK = "sed -n 's/^VmHWM:\\s*\\([0-9]*\\) kB/\\1/p' /proc/$(cat pid)/status"
# Tools of libbpf-tools do not all say that they trace: they do when they hold programs, and sleep.
SLEEPS = "ls -l /proc/$(cat pid)/fd | grep -q -e bpf_link -e perf_event && grep -q '^State:.S' /proc/$(cat pid)/status"
WAIT = """
for step in $(seq {steps}); do
    [ ! -e status ] || {{ cat err out; exit {ended}; }}
    {{ {ready}; }} && exit
    sleep 0.2
done
exit {later}
"""
ENDED, LATER = 3, 4
INTERRUPT = """
kill -s INT $(cat pid)
for tenth in $(seq 600); do [ ! -s status ] || exit 0; sleep 0.1; done
kill -s KILL $(cat pid)
"""


class Refused(Exception):
    """A tool does not run here: why, in its own words."""


class Tool(Process):
    """A tool that traces by the time it is constructed; `says` is what it prints then, if it prints anything."""

    def __init__(self, guest: Guest, words: Sequence[object], says: str) -> None:
        begin = time.monotonic()
        super().__init__(guest, [*HEARD, f"/usr/sbin/{words[0]}", *words[1:]], "", "[ -s pid ]")
        try:
            self._await(f"grep -qsE '{says}' out" if says else SLEEPS, begin + PATIENCE_SECONDS)
        except BaseException:
            self.close()
            raise
        self.start_s = time.monotonic() - begin

    def _await(self, ready: str, end: float) -> None:
        script = f"cd {self.folder}\n" + WAIT.format(steps=STEPS, ready=ready, ended=ENDED, later=LATER)
        while time.monotonic() < end:
            status, said = self.guest.try_run(script)
            if status == 0:
                return
            if status == ENDED:
                raise Refused(refusal(said))
        raise Refused(f"it does not trace after {PATIENCE_SECONDS} s")

    def printed(self) -> str:
        """Return what it has printed so far."""
        return self.here("cat out") + "\n"

    def stop(self) -> str:
        """Press Ctrl-C, and return what it printed."""
        self.here(INTERRUPT)
        self.end()
        return self.printed()


def peak_mebibytes(process: Process) -> float:
    """Return the most memory that a process has had so far."""
    return int(process.here(PEAK)) / 1024


__all__ = ["HEADERS", "Refused", "Tool", "peak_mebibytes"]
