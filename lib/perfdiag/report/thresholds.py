"""The thresholds that the configuration sets, as the report tells them."""

from perfdiag.common.units import duration, first_of, size
from perfdiag.diagnosis import policy
from perfdiag.report import contract

_SHOWN = 3


def changed() -> list[contract.Threshold]:
    """Return the thresholds in force that are not the defaults."""
    return [
        contract.Threshold(name=each.name, value=each.value, default=each.default, unit=each.unit)
        for each in policy.changed()
    ]


def notes() -> list[str]:
    """Return the note that the rules judged by thresholds of the configuration, if they did."""
    told = [
        f"{each.name} {shown(each.value, each.unit)} instead of {shown(each.default, each.unit)}"
        for each in policy.changed()
    ]
    return [f"THRESHOLDS of the configuration: {first_of(told, _SHOWN)}"] if told else []


def shown(value: float, unit: str) -> str:
    """Return a threshold with its unit: "50 us", "5.0 %", "3 times"."""
    match unit:
        case "ns":
            return duration(value)
        case "s":
            return duration(value * 1e9)
        case "bytes":
            return size(value)
        case "share":
            return f"{100 * value:.3g} %"
        case "count":
            return f"{value:,}"
        case _:
            return f"{value:,g} {unit}"
