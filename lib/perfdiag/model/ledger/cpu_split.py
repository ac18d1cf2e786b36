"""CPU time is exact, its split into user and kernel is sampled: by ticks or CPU stacks, whichever has more of them."""

from collections import defaultdict
from math import sqrt

from perfdiag.common.confidence import STANDARD_ERRORS
from perfdiag.recording import schema
from perfdiag.recording.recording import Recording


class CpuSplit:
    """User shares by thread; threads without a tick of their own get the share of their process, then of all."""

    def __init__(self, recording: Recording) -> None:
        self._tick_ns = recording.header.host.tick_ns or 10_000_000
        self._processes: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        for line in recording.books():
            _add(self._processes[getattr(line, "pid", 0)], self._ticks(line))
        stacks: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        for stack in recording.stacks:
            # Of a process: equal stacks of its threads are one line.  Ticks in a guest are none of the emulator's own.
            if stack.kind == "cpu" and stack.account.startswith("cpu."):
                _add(stacks[stack.pid], (0, stack.count) if stack.kernel else (stack.count, 0))
        for pid, samples in stacks.items():
            if sum(samples) > sum(self._processes[pid]):
                self._processes[pid] = samples
        self._all = [0, 0]
        for samples in self._processes.values():
            _add(self._all, (samples[0], samples[1]))

    def of(self, line: schema.Thread | schema.Exited | schema.Process) -> tuple[float, float | None]:
        """Return the user share and the half width of its 95 % interval; (1.0, 1.0): not known at all."""
        if not any(s.account == "cpu.user" and s.sum_ns for s in line.accounts):
            return 1.0, None
        if getattr(line, "kernel", False):
            return 0.0, 0.0  # a kernel thread has no user part
        for user, kernel in (self._ticks(line), self._processes[getattr(line, "pid", 0)], self._all):
            if user + kernel:
                return user / (user + kernel), half_width(user, user + kernel)
        return 1.0, 1.0

    def _ticks(self, line: schema.Thread | schema.Exited | schema.Process) -> tuple[int, int]:
        return round(line.user_ns / self._tick_ns), round(line.kernel_ns / self._tick_ns)


def _add(pool: list[int], samples: tuple[int, int]) -> None:
    pool[0] += samples[0]
    pool[1] += samples[1]


def half_width(hits: int, samples: int) -> float:
    """Return half the width of Wilson's 95 % interval of hits/samples: never zero, at most one half."""
    if not samples:
        return 1.0
    share, square = hits / samples, STANDARD_ERRORS * STANDARD_ERRORS
    return (
        STANDARD_ERRORS
        / (1 + square / samples)
        * sqrt(share * (1 - share) / samples + square / (4 * samples * samples))
    )
