"""Figures of one script of tools/, and how its header says them."""

from __future__ import annotations

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
    bpftrace: str
    kernel: str
    cpus: int
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
        spread = f"({self.ratio_low:.2f} to {self.ratio_high:.2f})"
        number, unit = self.added
        if unit == "ns":
            start, more = f"{self.start_s:.1f} s", f"{number / 1000:.1f} us"
            takes, where = f"takes {self.ratio:.2f} times as long {spread}", f"on Linux {self.kernel} and"
        else:
            start, more = f"{self.start_s:.0f} s", f"{number:,} instructions"
            takes = f"executes {self.ratio:.2f} times as many {spread}"
            where = f"in an emulated Linux {self.kernel} with"
        return (
            f"Attaches in {start} and takes {self.peak_mebibytes:.0f} MiB. Adds {more} to each {self.what}, which then"
            f" {takes}. Measured with bpftrace {self.bpftrace} {where} {self.cpus} CPUs by make bench ARGS=tools."
        )
