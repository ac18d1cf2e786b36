"""Virtual CPUs of the target: whether it runs guests, and its exits by reason."""

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.diagnosis.rule import Check, Claim, Silence
from perfdiag.diagnosis.significance import duration, worth
from perfdiag.model.guest import exit_names
from perfdiag.model.model import Model
from perfdiag.recording import schema
from perfdiag.recording.distribution import Distribution

BUSY = ("vm.guest", "vm.exit")


@dataclass(frozen=True)
class Exits:
    """A group of exits of the target's virtual CPUs."""

    lines: tuple[schema.VmExit, ...]

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(line.count for line in self.lines)

    @property
    def running_ns(self) -> int:
        """Their time on a CPU: part of vm.exit."""
        return sum(line.running_ns for line in self.lines)

    @property
    def around_ns(self) -> int:
        """From each exit until its guest went on, less the time that the guest was idle."""
        return sum(line.sum_ns for line in self.lines)

    @property
    def distribution(self) -> Distribution:
        """How long they took, as `around_ns`."""
        merged = Distribution(0, 0, 0)
        for line in self.lines:
            merged = merged.merged(Distribution(line.count, line.sum_ns, line.max_ns, dict(line.buckets)))
        return merged

    @property
    def claims(self) -> dict[Claim, int]:
        """Return what of vm.exit they took, by reason."""
        found: dict[Claim, int] = sums_by_key(
            (("vm.exit", f"vmexit:{line.vendor}:{line.code}"), line.running_ns) for line in self.lines
        )
        return {key: ns for key, ns in found.items() if ns}


def reason(line: schema.VmExit) -> str:
    """Return the name of an exit's reason."""
    return exit_names.reason(line.vendor, line.code)


def limited(model: Model, claims: dict[Claim, int]) -> dict[Claim, int]:
    """Return claims, of each row no more than it holds: a thread that just ended may be in one sum only."""
    rows = sums_by_key(((row.account, row.key), row.distribution.sum_ns) for row in model.rows_of("vm.exit"))
    whole = model.ns("vm.exit")
    kept = {key: min(ns, rows.get(key, 0) if isinstance(key, tuple) else whole, whole) for key, ns in claims.items()}
    return {key: ns for key, ns in kept.items() if ns > 0}


def runs_guests(model: Model) -> bool:
    """Return whether the target has virtual CPUs, or is a program that would."""
    return bool(model.ns("vm.") or model.vm_exits or not model.measured("vm"))


def none_ran(model: Model, id: str, what: str) -> Iterable[Check]:
    """Return the check of a host without virtual CPUs; nothing for processes."""
    if model.host is not None:
        yield Check(id, f"{what}: no virtual CPU was seen", 0.0, "share")


def unknown(model: Model, id: str, what: str, *features: str, reasons: bool = True) -> Silence | None:
    """Return the silence of a rule whose exits were not recorded."""
    for item in model.not_measured:
        if item.feature in ("vm", *features):
            return Silence(id, f"{what} unknown: {item.reason}", item.fix)
    if reasons and (missing_ns := reasonless_ns(model)):
        told = f"{what} unknown: {duration(missing_ns)} in vm.exit has no recorded reason"
        return Silence(id, told, "record again and let it end (Ctrl-C)")
    if model.ns("vm.exit") and not model.vm_exits:
        return Silence(id, f"{what} unknown: the recording was cut off", "record again and let it end (Ctrl-C)")
    return None


def reasonless_ns(model: Model) -> int:
    """Return the time in vm.exit without a reason, 0 if it is small.

    An exit is counted when its guest goes on: one that lasts beyond the window's end is in no line.
    """
    ns = model.ns("vm.exit")
    missing_ns = ns - sum(line.running_ns for line in model.vm_exits)
    felt = model.measured("vm") and bool(model.vm_exits) and worth(model, missing_ns)
    return missing_ns if felt and 2 * missing_ns >= ns else 0


def per_second(model: Model, count: int) -> float:
    """Return how often a second, over the window."""
    return count * 1e9 / model.window_ns if model.window_ns else 0.0


def grouped(lines: Iterable[tuple[str, schema.VmExit]]) -> dict[str, Exits]:
    """Return exits by a name, the one with most time on a CPU first."""
    groups = groups_by_key((name, line) for name, line in lines)
    found = {name: Exits(tuple(members)) for name, members in groups.items()}
    return dict(sorted(found.items(), key=lambda item: (-item[1].running_ns, item[0])))
