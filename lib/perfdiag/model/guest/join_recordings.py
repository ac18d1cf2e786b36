"""Two recordings of the same time, a guest's own and its host's of the emulator that runs it, become one model.

Which is which their content tells.  What cannot be joined is refused with the reason: a report that joined strangers
would name a wrong cause in good faith.
"""

from dataclasses import dataclass, replace

from perfdiag.common.errors import RecordingError
from perfdiag.common.text import printable
from perfdiag.common.units import count, duration
from perfdiag.model.coverage.coverage import EMULATORS, HOST_SIDE
from perfdiag.model.guest import seen_by_host
from perfdiag.model.model import HostSide, Model

_RECORD_HOST = "on the host: perfdiag record -o FILE --pid PID of the guest's emulator (qemu)"
_RECORD_GUEST = "in the guest, at the same time: perfdiag record -o FILE --pid PID of what is slow there"


@dataclass(frozen=True)
class Source:
    """A recording that has been read, and what to call it."""

    name: str
    model: Model


def join(one: Source, other: Source) -> Model:
    """Return the guest's model with its host's beside it.  Raises RecordingError where they do not belong together."""
    host, guest = _told_apart(one, other)
    _check_host(host)
    _check_guest(guest)
    side = HostSide(host.model, _overlap_ns(host, guest))
    # What the host alone knows is known now; what its own recording lacks of it is not.
    missing = [item for item in guest.model.not_measured if item.feature != HOST_SIDE]
    missing += [
        replace(item, what=f"on its host: {item.what}", feature=HOST_SIDE)
        for item in host.model.not_measured
        if item.feature == "vm_device"
    ]
    return replace(guest.model, host_side=side, not_measured=missing)


def _told_apart(one: Source, other: Source) -> tuple[Source, Source]:
    """Return the host's recording and the guest's: the host's is the one that has virtual CPUs."""
    running = [source for source in (one, other) if seen_by_host.virtual_cpus(source.model)]
    if len(running) == 2:
        raise RecordingError("both recordings are of programs that run guests: one must be from inside", _RECORD_GUEST)
    if running:
        return running[0], other if running[0] is one else one
    for source in (one, other):
        comms = [target.comm for target in source.model.header.targets]
        if any(comm.startswith(EMULATORS) for comm in comms):
            raise RecordingError(
                f"{printable(source.name)}: no virtual CPU was seen in it: {_why(source)}", _RECORD_HOST
            )
    raise RecordingError(
        "neither recording is of a program that runs a guest: two of a kind cannot be joined", _RECORD_HOST
    )


def _why(source: Source) -> str:
    reasons = [item.reason for item in source.model.not_measured if item.feature == "vm"]
    return printable(reasons[0]) if reasons else "KVM told of no entry into a guest"


def _check_host(source: Source) -> None:
    pids = sorted({thread.pid for thread in seen_by_host.virtual_cpus(source.model) if thread.pid})
    pid = pids[0] if pids else "PID"
    if source.model.host is not None:
        raise RecordingError(
            f"{printable(source.name)} is of the whole host: the emulator of this guest must be recorded alone",
            f"on the host: perfdiag record -o FILE --pid {pid}",
        )
    if len(pids) > 1:
        raise RecordingError(
            f"{printable(source.name)} is of {count(len(pids))} programs that run guests: which one is this guest's?",
            f"record that one alone: perfdiag record -o FILE --pid {pid}",
        )


def _check_guest(source: Source) -> None:
    machine = source.model.facts.hypervisor
    if machine is None or machine.name == "none":
        said = f"it says {printable(machine.recognised_by)}" if machine else "it does not say what it runs on"
        raise RecordingError(f"{printable(source.name)} was not recorded inside a guest: {said}", _RECORD_GUEST)


def _overlap_ns(host: Source, guest: Source) -> int:
    begins = [source.model.header.realtime_ns for source in (host, guest)]
    ends = [begin + source.model.window_ns for begin, source in zip(begins, (host, guest), strict=True)]
    overlap_ns = min(ends) - max(begins)
    if overlap_ns <= 0:
        first = "the host's" if ends[0] < ends[1] else "the guest's"
        raise RecordingError(
            f"the recordings are of different times: {first} ended {duration(-overlap_ns)} before the other began,"
            " by their own wall clocks",
            "record both at once; if you did, their clocks differ: compare date -u on both",
        )
    return overlap_ns
