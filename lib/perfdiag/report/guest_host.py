"""What the host of a guest saw of it, apart from the guest's own accounts."""

from collections import defaultdict
from collections.abc import Mapping

from perfdiag.common.text import printable
from perfdiag.common.units import known
from perfdiag.diagnosis import engine
from perfdiag.model.guest import exit_names, seen_by_host
from perfdiag.model.model import HostSide, Model
from perfdiag.model.share_denominator import counted
from perfdiag.recording import schema
from perfdiag.report import contract, header
from perfdiag.report.verdict.sentences import LONGEST_TEXT

MOST_EXITS = 20
MOSTLY = 0.9  # of the longer window


def host_side(model: Model) -> contract.HostSide | None:
    """Return what the host's recording says; None where only one recording is reported."""
    side = model.host_side
    if side is None:
        return None
    virtual = seen_by_host.virtual_cpus(side.model)
    own = set(map(id, virtual))  # there may be thousands: compared one with the other they take minutes
    others = [thread for thread in side.model.threads if id(thread) not in own]
    target = header.target(side.model)
    busy_others = {name: ns for name, ns in seen_by_host.summed(others).items() if counted(name)}
    wall_ns = sum(thread.wall_ns for thread in virtual)
    return contract.HostSide(
        host=header.host(side.model),
        pid=target.pid,
        comm=target.comm,
        window=header.window(side.model),
        overlap_ns=side.overlap_ns,
        virtual_cpus=seen_by_host.number_of_virtual_cpus(side),
        wall_ns=wall_ns,
        accounts=_times(seen_by_host.summed(virtual), wall_ns),
        others=_times(busy_others, sum(thread.wall_ns for thread in others)),
        exits=_exits(side.model)[:MOST_EXITS],
        findings=_findings(side.model),
        notes=_notes(model, side),
    )


def _times(accounts: Mapping[str, int], whole_ns: int) -> list[contract.HostTime]:
    return [
        contract.HostTime(account=printable(name), ns=ns, share=ns / whole_ns if whole_ns else 0.0)
        for name, ns in accounts.items()
    ]


def _exits(model: Model) -> list[contract.Exits]:
    """Return exits by device, or by reason if no device was accessed, and whether the emulator was needed."""
    groups: defaultdict[tuple[str, bool], list[schema.VmExit]] = defaultdict(list)
    for line in model.vm_exits:
        device = exit_names.known_device(line.device) or "PCI devices"
        groups[device if line.device else exit_names.reason(line.vendor, line.code), line.user].append(line)
    found = [
        contract.Exits(
            reason=printable(name),
            emulated=emulated,
            count=sum(line.count for line in lines),
            away_ns=sum(line.sum_ns for line in lines),
            running_ns=sum(line.running_ns for line in lines),
            polled_ns=sum(line.polled_ns for line in lines),
        )
        for (name, emulated), lines in groups.items()
    ]
    return sorted(found, key=lambda each: (-each.away_ns, each.reason, each.emulated))


def _findings(model: Model) -> list[contract.HostFinding]:
    return [
        contract.HostFinding(
            id=found.id,
            severity=found.severity.value,
            share=found.share,
            ns=found.claimed_ns,
            claim=printable(found.claim, LONGEST_TEXT),
        )
        for found in engine.diagnose(model).findings
    ]


def _notes(guest: Model, side: HostSide) -> list[str]:
    found = []
    if not seen_by_host.fits(guest):
        seen = seen_by_host.number_of_virtual_cpus(side)
        own = known(guest.header.host.cpus_online, "CPU")
        found.append(f"IS IT THIS GUEST? {own} here, {seen} there: no finding uses the host's numbers")
    if side.overlap_ns < MOSTLY * max(guest.window_ns, side.model.window_ns):
        found.append("the windows differ: numbers of the host are of its own whole window")
    return found
