"""Which device interrupts CPUs most."""

from dataclasses import dataclass

from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix, percent, plain
from perfdiag.model.model import Model


@dataclass(frozen=True)
class DeviceInterrupts:
    """The interrupts of one device, which has most of all that devices made."""

    name: str  # "ttyS0"
    count: int
    part: float

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries it."""
        text = f"{self.count:,} interrupts by {self.name}, {percent(self.part)} of those by devices"
        return Evidence(text, float(self.count), "count", "/proc/interrupts")

    @property
    def remedy(self) -> Remedy:
        """Return what to look for."""
        return fix(
            f"find what uses {self.name} so much, and let it move more at once, or less; or bind its interrupt to"
            f" another CPU: grep {self.name} /proc/interrupts, then /proc/irq/NUMBER/smp_affinity_list"
        )


def busiest_device(model: Model) -> DeviceInterrupts | None:
    """Return the device with most interrupts, where they are more than packets received; None where several share
    them, or nobody knows."""
    counts = model.facts.device_interrupts
    name = max(counts, key=lambda each: counts[each], default="")
    whole = sum(counts.values())
    if not name or counts[name] < cpu_policy.main_device_share * whole:
        return None
    few = counts[name] * 1e9 < cpu_policy.device_interrupts_per_second * model.window_ns
    if few or counts[name] < model.facts.softirqs.get("NET_RX", 0):
        return None
    return DeviceInterrupts(plain(name), counts[name], counts[name] / whole)
