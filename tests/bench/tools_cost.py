"""Figures of one script of tools/ or dtrace/, and how its header says them."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """Figures of one script, of one machine: times, or instructions where that is an emulated one."""

    start_s: float
    peak_mebibytes: float
    what: str
    ratio: float
    ratio_low: float
    ratio_high: float
    kernel: str
    cpus: int
    bpftrace: str = ""  # the version of what runs it
    bcc: str = ""
    dtrace: str = ""
    added_ns: int | None = None
    added_instructions: int | None = None

    @property
    def added(self) -> tuple[int, str]:
        """What it adds to each event, and the unit of that."""
        if self.added_instructions is not None:
            return self.added_instructions, "instr."
        assert self.added_ns is not None
        return self.added_ns, "ns"

    def text(self) -> str:
        """Say it as the header does."""
        number, unit = self.added
        if unit == "ns":
            start, more, takes = f"{self.start_s:.1f} s", f"{number / 1000:.1f} us", "takes {} times as long"
            where = f"on Linux {self.kernel} and"
        else:
            start, more, takes = f"{self.start_s:.0f} s", f"{number:,} instructions", "executes {} times as many"
            where = f"in an emulated Linux {self.kernel} with"
        spread = f"{self.ratio_low:.2f} to {self.ratio_high:.2f}"
        if self.ratio_low <= 1 <= self.ratio_high:
            of = "" if unit == "ns" else " instructions"
            most = f"at most {max(1, math.ceil(100 * self.ratio_high - 100))} %"
            costs = (
                f"Adds {most} to each {self.what}, which is lost in the noise: that then {takes.format(spread)}{of}."
            )
        else:
            takes = takes.format(f"{self.ratio:.2f}")
            costs = f"Adds {more} to each {self.what}, which then {takes} ({spread})."
        of_tracers = {"bpftrace": self.bpftrace, "bcc": self.bcc, "DTrace": self.dtrace}
        tracer, version = next((name, version) for name, version in of_tracers.items() if version)
        return (
            f"Attaches in {start} and takes {self.peak_mebibytes:.0f} MiB. {costs} Measured with {tracer} {version}"
            f" {where} {self.cpus} CPUs by make bench ARGS={'dtrace' if self.dtrace else 'tools'}."
        )
