"""How many dirty pages each device or mount may have: the settings of its backing device."""

from collections.abc import Mapping
from dataclasses import dataclass

from perfdiag.facts.texts import Texts

DIRECTORY = "/sys/class/bdi"


@dataclass(frozen=True)
class WritebackLimits:
    """Settings of one backing device; None: this kernel has no such setting."""

    device: str  # "MAJOR:MINOR"; of a network file system that of its mount
    max_ratio: int | None  # percent of the host's dirty limit that it may have; 100: all
    strict: bool | None  # its own part counts even where the host is far from its limit


def read_writeback_limits(texts: Texts) -> Mapping[str, WritebackLimits]:
    """Read the settings by device."""
    found = {}
    for device in texts.names(rf"{DIRECTORY}/([0-9]{{1,9}}:[0-9]{{1,9}})/max_ratio"):
        place = f"{DIRECTORY}/{device}"
        strict = texts.number(f"{place}/strict_limit") if f"{place}/strict_limit" in texts else None
        found[device] = WritebackLimits(
            device=device,
            max_ratio=texts.number(f"{place}/max_ratio"),
            strict=None if strict is None else strict == 1,
        )
    return found
