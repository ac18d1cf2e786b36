"""A guest of the lab to measure in: work that makes events of one kind, and tracers that take turns.

Its clock goes on while other processes of the host have the CPU, and their work slows it down: what is measured is the
number of instructions one of its CPUs executes.  The work has that CPU to itself, whatever else runs in the guest, a
recorder too, has the other one.  Ticks, with a recorder's samples, come by the clock, so the slower an event the more
of them: they are counted, and what one takes, found with work that is nothing but time, is taken off.  It is not quite
what one takes in the kernel or in a virtual machine: some 20 of 100 calls of NFS meet a tick, 1 of 100 exits does.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from bench.empty import ATTACH, compiled, hooks_of
from lab.support.guest import ROOT_DISK, Guest
from lab.support.processes import GuestRecorder, Process
from live.support.workload import ROOT

PLUGIN = ROOT / "build" / "bench" / "instructions.so"
COUNT = "instructions"
COUNT_BYTES = 16  # of one CPU: all, and the kernel's
CPU = 1
OBJECT = "empty.bpf.o"
NEVER_MS = 3_600_000  # the recorder measures its programs in its second interval, which has its price

# All processes descend from the first; a timer stays on the CPU that has set it.
SEPARATE = f"""
taskset -pc 0 1
sysctl -q kernel.timer_migration=0
echo {1 << CPU:x} >/sys/devices/virtual/workqueue/cpumask
"""
# Threads of the kernel that serve the work.
GATHER = f"for thread in $(pgrep -x nfsd) $(pgrep jbd2); do taskset -pc {CPU} $thread; done"

# Whoever works is a child of this one, which is what a recorder follows.
FOREMAN = """
mkfifo /run/go /run/over
setsid sh -c 'while read -r job </run/go; do sh "$job" >/run/found 2>&1; echo over >/run/over; done' \
    </dev/null >/dev/null 2>&1 &
echo $!
"""
# The calls of all NFS mounts so far, the timer's interrupts, and the instructions.
MARK = f"""
mark() {{
    echo $(sed -n 's/^rpc \\([0-9]*\\) .*/\\1/p' /proc/net/rpc/nfs 2>/dev/null || echo 0) \\
        $(sed -n 's/^ *LOC:{" *[0-9]*" * CPU} *\\([0-9]*\\) .*/\\1/p' /proc/interrupts) \\
        $(od -A n -t u8 -w{COUNT_BYTES} -j {CPU * COUNT_BYTES} -N {COUNT_BYTES} /lab/{COUNT})
}}
"""

Tracer = Callable[[], AbstractContextManager[object]]
numbers = itertools.count(1)


@dataclass(frozen=True)
class Work:
    """What many events take more than few do: beginning and end are in neither."""

    calls: int
    timers: int  # interrupts
    instructions: int
    in_kernel: int


@dataclass(frozen=True)
class Load:
    """Work that makes `few` events, and then `many`; or does so much that calls of NFS come of, which are counted."""

    event: str
    command: tuple[object, ...]  # to which their number is added
    few: int
    many: int
    calls: bool = False
    pid: int = 0  # of the process that makes them, where a tracer has to know
    clocked: bool = False  # events come by the clock, as ticks do: no more of those in a slow one

    def script(self) -> str:
        """What runs it in the guest, without a call of NFS or an instruction unaccounted for."""
        lines = [f"{shlex.join(map(str, self.command))} {count} >/dev/null" for count in (self.few, self.many)]
        return MARK + "".join(f"mark\ntaskset -c {CPU} {line} || exit\n" for line in lines) + "mark\n"

    def work(self, said: str) -> Work:
        """Return what its script found.  Raises ValueError for what is not the answer of its script."""
        marks = [tuple(map(int, line.split())) for line in said.splitlines()]
        calls, timers, instructions, in_kernel = (c - 2 * b + a for a, b, c in zip(*marks, strict=True))
        return Work(calls, timers, instructions, in_kernel)

    def per_event(self, work: Work, tick: float) -> float:
        """Return the instructions of one event, without those of the ticks it met, `tick` each."""
        ticks = 0 if self.clocked else tick * work.timers
        return (work.instructions - ticks) / (work.calls if self.calls else self.many - self.few)


# A shell that counts has no need of the kernel, which runs for ticks alone.
TICK = Load(
    "tick of the timer",
    ("sh", "-c", "i=0; while [ $((i += 1)) -le $0 ]; do :; done"),
    20_000,
    400_000,
)


def boot(kernel: str, disk: str = ROOT_DISK) -> Guest:
    """Boot a guest whose instructions are counted, and whose second CPU is the work's."""
    guest = Guest(kernel, disk=disk, machine=["-plugin", f"{PLUGIN},count={{folder}}/{COUNT}"])
    try:
        guest.run(SEPARATE)
    except BaseException:
        guest.close()
        raise
    return guest


def end(process: Process) -> None:
    """Let a process detach and end."""
    process.here("kill -s TERM $(cat pid)")
    process.end()


class Machine:
    """A guest with everything that takes turns in it; all modules whose hooks are looked at are loaded already."""

    def __init__(self, guest: Guest, loads: Sequence[Load]) -> None:
        self.guest = guest
        self.loads = [TICK, *loads]
        guest.run(GATHER)
        self.foreman = int(guest.run(FOREMAN))
        for number, load in enumerate(self.loads):
            (guest.folder / f"load-{number}.sh").write_text(load.script())

    @functools.cached_property
    def hooks(self) -> dict[str, str]:
        """Those that the recorder has here; from now on the guest has empty programs for them."""
        with self._recorder() as recorder:
            hooks = hooks_of(recorder.stop().header.probes)
        compiled(self.guest.folder / OBJECT, hooks)
        shutil.copy(ATTACH, self.guest.folder)
        self.guest.run(f"cp /lab/{ATTACH.name} /lab/{OBJECT} /run/bin")
        return hooks

    def _recorder(self) -> GuestRecorder:
        return GuestRecorder(self.guest, [self.foreman], f"bench-{next(numbers)}", interval_ms=NEVER_MS)

    def nothing(self) -> AbstractContextManager[object]:
        """No programs."""
        return nullcontext()

    @contextlib.contextmanager
    def empty(self) -> Iterator[None]:
        """Empty programs on all hooks that the recorder has here."""
        assert self.hooks, "the recorder attaches to none"
        with Process(self.guest, [f"/run/bin/{ATTACH.name}", f"/run/bin/{OBJECT}"], "", "[ -s out ]") as process:
            yield
            end(process)

    @contextlib.contextmanager
    def perfdiag(self) -> Iterator[None]:
        """The recorder, of the processes that work."""
        with self._recorder() as recorder:
            yield
            end(recorder)

    def events(self, tracer: Tracer) -> Callable[[], dict[str, float]]:
        """A variant: attach, work, detach; how many instructions an event of each kind took."""

        def variant() -> dict[str, float]:
            with tracer():
                works = {load: load.work(self._run(number)) for number, load in enumerate(self.loads)}
            tick = works[TICK].in_kernel / works[TICK].timers
            return {TICK.event: tick} | {load.event: load.per_event(works[load], tick) for load in self.loads[1:]}

        return variant

    def _run(self, number: int) -> str:
        return self.guest.run(f"echo /lab/load-{number}.sh >/run/go; read -r over </run/over; cat /run/found")


__all__ = ["Load", "Machine", "boot"]
