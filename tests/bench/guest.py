"""What an NFS call, an exit of a virtual machine and a wake-up of an idle CPU cost more while recorded.

Few hosts have all three at hand: they are made in an emulated machine of the lab.  Its times mean nothing, so
instructions are counted, and what a processor makes of them is not seen.  Ticks that an event meets, with samples, are
taken off.  All programs of the recorder are in it, those at switches and wake-ups too: what an event really costs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from bench import table
from bench.emulated import Load, Machine, boot
from bench.measure import UNTRACED, Context, Rounds, added, alternate, median, ratio, ratio_of_added
from bench.table import Row
from lab.support.guest import impossible, missing
from lab.support.nfs import NfsMount, nfs

SECTION = "9. Instructions added to an event in an emulated guest"
KERNEL = "6.1"
MODULES = "kvm_amd"
EMPTY, PERFDIAG = "empty programs", "perfdiag"
UNIT = "instr."
EXITS = ("outs", "ins", "cpuids", "writes", "halts", "spins")
SECONDS = 300
ROUNDS_OF_SPREAD = 3  # the range of fewer tells nothing


def loads(mount: NfsMount) -> list[Load]:
    """Work for each kind of event: its last word is how often."""
    look = ("sh", "-c", f"i=0; while [ $((i += 1)) -le $0 ]; do [ -e {mount.mountpoint} ]; done")
    exits = ("kvm_guest", *(word for reason in EXITS for word in (f"--{reason}", 0)))
    return [
        Load("NFS call (GETATTR), client and server", look, 100, 800, calls=True),
        Load("KVM exit to the kernel (CPUID)", (*exits, "--cpuids"), 3_000, 23_000),
        Load("KVM exit to user space (port)", (*exits, "--ins"), 3_000, 18_000),
        Load("wake-up of an idle CPU", ("wake", "--every-us", 500, "--count"), 300, 1_800, clocked=True),
    ]


def rows(context: Context) -> Iterator[Row]:
    """Boot, measure everything in turns, and end the machine."""
    why = impossible() or missing(KERNEL)
    if why:
        yield Row(SECTION, "in the lab", None, UNIT, note=f"{why}; make lab-build KERNEL={KERNEL}")
        return
    with contextlib.ExitStack() as stack:
        guest = stack.enter_context(boot(KERNEL))
        guest.run(f"modprobe {MODULES}")
        mount = stack.enter_context(nfs(guest, options="noac"))
        machine = Machine(guest, loads(mount))
        context.say(f"  {guest.release} with {len(machine.hooks)} programs")
        variants = {
            UNTRACED: machine.events(machine.nothing),
            EMPTY: machine.events(machine.empty),
            PERFDIAG: machine.events(machine.perfdiag),
        }
        variants[UNTRACED]()  # the first time everything takes longer
        by_variant = alternate(variants, context.choose(ROUNDS_OF_SPREAD, 7), SECONDS)
    for load in machine.loads:
        found = {name: [counts[load.event] for counts in rounds] for name, rounds in by_variant.items()}
        yield from of_event(load.event, len(machine.hooks), found)


def of_event(event: str, programs: int, found: Rounds) -> Iterator[Row]:
    """The rows of one kind of event; without a ratio where what empty programs add is not above its own spread."""
    floor, count = added(found, EMPTY), len(found[UNTRACED])
    yield table.of(SECTION, event, median(found[UNTRACED]), UNIT, note=f"untraced, {count} rounds")
    yield table.of(SECTION, f"  added by {programs} {EMPTY}", floor, UNIT)
    yield table.of(SECTION, f"  added by {PERFDIAG}", added(found, PERFDIAG), UNIT)
    yield table.of(SECTION, f"  {PERFDIAG} / {UNTRACED}", ratio(found, PERFDIAG, UNTRACED), "x")
    name = f"  added by {PERFDIAG} / added by {EMPTY}"
    if count >= ROUNDS_OF_SPREAD and floor.value > floor.high - floor.low:
        yield table.of(SECTION, name, ratio_of_added(found, PERFDIAG, EMPTY), "x")
    else:
        yield Row(SECTION, name, None, "x", note=f"what {EMPTY} add is not resolved in {count} rounds")


__all__ = ["rows"]
