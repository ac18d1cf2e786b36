"""What the host's recording adds to a guest's findings: exits, and waits for a CPU."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.rule import Claim, Evidence
from perfdiag.diagnosis.significance import duration, percent, plain
from perfdiag.model.guest import seen_by_host
from perfdiag.model.guest.seen_by_host import OTHER, DeviceTime
from perfdiag.model.model import Model

# Where a clock source or driver reaches its device; what has no fixed place in a PC is among the nameless ones.
_CLOCKS: Mapping[str, tuple[str, ...]] = {
    "acpi_pm": ("ACPI timer", "ACPI", OTHER),
    "hpet": ("timer (HPET)", OTHER),
    "pit": ("timer (PIT)",),
}
_DRIVERS: Mapping[str, tuple[str, ...]] = {"ata_piix": ("IDE disk", OTHER), "ata_generic": ("IDE disk", OTHER)}
_ANY_CARD = (OTHER,)


@dataclass(frozen=True)
class Bound:
    """The upper bound of a guest's loss to a device; no bound without the host's recording."""

    what: str
    time: DeviceTime | None

    def limited(self, claims: Mapping[Claim, int]) -> dict[Claim, int]:
        """Return claims, together no more than the host saw its exits take."""
        whole = sum(claims.values())
        if self.time is None or whole <= self.time.most_ns:
            return dict(claims)
        limited = {claim: ns * self.time.most_ns // whole for claim, ns in claims.items()}
        return {claim: ns for claim, ns in limited.items() if ns}

    @property
    def evidence(self) -> list[Evidence]:
        """The exits seen by the host, for all of the guest's processes."""
        if self.time is None:
            return []
        text = f"{self._seen()}; with unseen exits at most {duration(self.time.most_ns)}"
        return [Evidence(text, float(self.time.away_ns), "ns", "kvm_exit, kvm_entry on its host")]

    def contradicts(self, sampled_ns: int) -> str:
        """Return the contradiction between host and samples, "" if there is none."""
        if self.time is None or sampled_ns <= self.time.most_ns:
            return ""
        return f"samples alone give {duration(sampled_ns)}, and {self._seen()}"

    def _seen(self) -> str:
        assert self.time is not None
        return (
            f"the host saw {duration(self.time.away_ns)} in {self.time.exits:,} exits of the guest for {self.what}"
            f" ({duration(self.time.window_ns)} recorded)"
        )


def of_clock(model: Model, current: str) -> Bound:
    """Return what a clock source took."""
    names = _CLOCKS.get(current)
    return Bound(f"its device ({plain(current)})", seen_by_host.device_time(model, names) if names else None)


def of_driver(model: Model, driver: str) -> Bound:
    """Return what the devices of an emulated driver took."""
    names = _DRIVERS.get(driver, _ANY_CARD)
    what = " and ".join("PCI devices" if name == OTHER else f"its {name}" for name in names)
    return Bound(what, seen_by_host.device_time(model, names))


@dataclass(frozen=True)
class Queued:
    """How long a guest's virtual CPUs waited for a CPU."""

    part: float  # of their time not halted
    evidence: Sequence[Evidence]


def queued(model: Model) -> Queued | None:
    """Return what the host knows of it; None without a joined recording."""
    side = model.host_side
    if side is None or not seen_by_host.fits(model):
        return None
    ns, wanted_ns = seen_by_host.queued_ns(side), seen_by_host.wanted_ns(side)
    if not wanted_ns:
        return None
    part = ns / wanted_ns
    text = f"on the host: virtual CPUs waited {duration(ns)} for a CPU, {percent(part)} of their unhalted time"
    behind = next(iter(side.model.rows_of("runq.busy")), None)
    if behind and behind.object:
        text += f", mostly behind {plain(behind.object)}"
    return Queued(part, [Evidence(text, float(ns), "ns", "run queue of its host")])
