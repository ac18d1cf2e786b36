"""What may hold the clock down: turbo switched off, a share of the performance allowed, a cap of the power."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.facts.texts import Texts, difference

CPU = "/sys/devices/system/cpu"
POWERCAP = "/sys/class/powercap"


@dataclass(frozen=True)
class PowerZone:
    """A package (or a part of it) whose power the processor keeps below a limit: RAPL."""

    name: str  # "package-0"
    watts: float | None  # over the window
    limit_watts: float | None  # its long-term limit
    enabled: bool | None


@dataclass(frozen=True)
class ClockLimits:
    """Settings that hold for all CPUs; the limits of a policy stand with it."""

    turbo: bool | None  # switched off by hand or by the firmware: False
    allowed_percent: int | None  # of the highest performance: intel_pstate/max_perf_pct
    zones: Sequence[PowerZone]


def read_clock_limits(texts: Texts) -> ClockLimits | None:
    """Read what is recorded of it; None: nothing."""
    no_turbo = texts.number(f"{CPU}/intel_pstate/no_turbo") if f"{CPU}/intel_pstate/no_turbo" in texts else None
    boost = texts.number(f"{CPU}/cpufreq/boost") if f"{CPU}/cpufreq/boost" in texts else None
    turbo = no_turbo == 0 if no_turbo is not None else boost == 1 if boost is not None else None
    allowed = f"{CPU}/intel_pstate/max_perf_pct"
    begin, end = texts.at_ns("begin"), texts.at_ns("end")
    seconds = (end - begin) / 1e9 if begin is not None and end is not None and end > begin else None
    zones = texts.names(rf"{POWERCAP}/(intel-rapl:[0-9]{{1,4}})/name")
    percent = texts.number(allowed) if allowed in texts else None
    if turbo is None and percent is None and not zones:
        return None
    return ClockLimits(
        turbo=turbo,
        allowed_percent=percent,
        zones=[_zone(texts, f"{POWERCAP}/{zone}", seconds) for zone in zones],
    )


def _zone(texts: Texts, place: str, seconds: float | None) -> PowerZone:
    begin, end = (texts.number(f"{place}/energy_uj", phase) for phase in ("begin", "end"))
    used, wraps_at = difference(begin, end), texts.number(f"{place}/max_energy_range_uj")
    if begin is not None and end is not None and end < begin and wraps_at is not None and wraps_at >= begin:
        used = wraps_at - begin + end
    limit, enabled = texts.number(f"{place}/constraint_0_power_limit_uw"), texts.number(f"{place}/enabled")
    return PowerZone(
        name=texts.word(f"{place}/name") or "package",
        watts=used / 1e6 / seconds if used is not None and seconds else None,
        limit_watts=limit / 1e6 if limit else None,
        enabled=None if enabled is None else enabled == 1,
    )
