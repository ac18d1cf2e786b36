"""What scripts cost that few hosts can run, for their events or for DTrace: measured in an emulated machine of the lab.

Its times mean little, so instructions of its CPU are counted: emulated says how, and what that does not see.  The time
until a script traces is that of this slow machine, its memory that of any.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from bench.emulated import CPU, Load, Machine, boot
from bench.guest import EXITS, KERNEL
from bench.measure import UNTRACED, Context, Rounds, added, alternate, median, ratio
from bench.tools_cost import Cost
from lab.support.dtrace import DTraceScript
from lab.support.guest import CPUS, DTRACE_DISK, DTRACE_KERNEL, ROOT_DISK, Guest, impossible, missing
from lab.support.nfs import nfs
from lab.support.scripts import GuestScript

TRACED = "traced"
SECONDS = 120  # counts hardly vary


@contextlib.contextmanager
def vmexit(guest: Guest) -> Iterator[Load]:
    guest.run("modprobe kvm_amd")
    quiet = (word for reason in EXITS for word in (f"--{reason}", 0))
    yield Load("KVM exit to the kernel (CPUID)", ("kvm_guest", *quiet, "--cpuids"), 3_000, 23_000)


@contextlib.contextmanager
def cpufreqlow(guest: Guest) -> Iterator[Load]:
    guest.run(f"modprobe acpi_cpufreq; modprobe cpufreq_userspace; echo userspace >{CLOCK}/scaling_governor")
    change = " ".join(f"echo {khz} >{CLOCK}/scaling_setspeed;" for khz in (1_200_000, 2_400_000))
    yield Load("change of a clock to half and back", ("sh", "-c", REPEAT.format(change)), 200, 1_200)


@contextlib.contextmanager
def cstate(guest: Guest) -> Iterator[Load]:
    yield Load("wake-up of an idle CPU", ("wake", "--every-us", 500, "--count"), 300, 1_800, clocked=True)


@contextlib.contextmanager
def throttled(guest: Guest) -> Iterator[Load]:
    yield Load("round trip between two processes on a CPU", ("pingpong", "--cpu", CPU, "--count"), 1_000, 11_000)


@contextlib.contextmanager
def oomwhy(guest: Guest) -> Iterator[Load]:
    guest.run(f"mkdir {GROUP}; echo 4M >{GROUP}/memory.max; echo 0 >{GROUP}/memory.swap.max || true")
    killed = f"sh -c 'echo 0 >{GROUP}/cgroup.procs; exec devour --mebibytes 8' 2>&1;"
    yield Load("kill by the OOM killer", ("sh", "-c", REPEAT.format(killed) + "true"), 5, 55)


CLOCK = f"/sys/devices/system/cpu/cpufreq/policy{CPU}"
GROUP = "/sys/fs/cgroup/small"
REPEAT = "i=0; while [ $((i += 1)) -le $0 ]; do {} done; "


@contextlib.contextmanager
def nfsfsync(guest: Guest) -> Iterator[Load]:
    with nfs(guest) as mount:
        options = ("--mode", "fsync", "--bytes", 65_536, "--append", 0, "--file", mount.mountpoint / "data")
        yield Load("fsync(2) of 64 KiB on NFS", ("flush", *options, "--count"), 20, 220)


# For each script what prepares a guest, and yields the load that the script slows down most.
GUEST_LOADS: dict[str, Callable[[Guest], AbstractContextManager[Load]]] = {
    "nfsfsync": nfsfsync,
    "cpufreqlow": cpufreqlow,
    "cstate": cstate,
    "oomwhy": oomwhy,
    "throttled": throttled,
    "vmexit": vmexit,
}


@dataclass(frozen=True)
class Tracer:
    """What runs scripts of one kind, and the guest that has it."""

    name: str  # of its version in a Cost
    script: type[GuestScript | DTraceScript]
    ask_version: str
    kernel: str
    disk: str


BPFTRACE = Tracer("bpftrace", GuestScript, "bpftrace --version", KERNEL, ROOT_DISK)
DTRACE = Tracer("dtrace", DTraceScript, "dtrace -V", DTRACE_KERNEL, DTRACE_DISK)


def measure_in_guest(
    context: Context, tracer: Tracer, name: str, prepared: Callable[[Guest], AbstractContextManager[Load]]
) -> Cost:
    """Boot, and let the load run beside the script and without it in turn.  It traces the whole guest where it can."""
    why = impossible() or missing(tracer.kernel, tracer.disk)
    if why:
        raise RuntimeError(f"{why}; make lab-build KERNEL={tracer.kernel}")
    with contextlib.ExitStack() as stack:
        guest = stack.enter_context(boot(tracer.kernel, tracer.disk))
        load = stack.enter_context(prepared(guest))
        machine = Machine(guest, [load])
        starts: list[float] = []
        peaks: list[int] = []

        @contextlib.contextmanager
        def traced() -> Iterator[None]:
            begin = time.monotonic()
            with tracer.script(guest, name, *filter(None, [load.pid])) as script:
                starts.append(time.monotonic() - begin)
                yield
                peaks.append(int(script.here("sed -n 's/^VmHWM:\\s*\\([0-9]*\\) kB/\\1/p' /proc/$(cat pid)/status")))
                script.stop()

        variants = {UNTRACED: machine.events(machine.nothing), TRACED: machine.events(traced)}
        variants[UNTRACED]()  # the first time everything takes longer
        counts = alternate(variants, context.choose(2, 3), SECONDS)
        version = re.search(r"\d[\w.]*", guest.run(tracer.ask_version))
    found: Rounds = {variant: [each[load.event] for each in rounds] for variant, rounds in counts.items()}
    slower = ratio(found, TRACED, UNTRACED)
    return Cost(
        start_s=round(median(starts).value, 1),
        peak_mebibytes=round(max(peaks) / 1024, 1),
        what=load.event,
        added_instructions=round(added(found, TRACED).value),
        ratio=round(slower.value, 3),
        ratio_low=round(slower.low, 3),
        ratio_high=round(slower.high, 3),
        kernel=guest.release,
        cpus=CPUS,
        **{tracer.name: version[0] if version else "of an unknown version"},
    )


__all__ = ["BPFTRACE", "DTRACE", "GUEST_LOADS", "REPEAT", "Tracer", "measure_in_guest"]
