"""What the kernel prints of the host's memory when nothing is left ("Mem-Info:"), read line by line."""

import re
from dataclasses import replace

from perfdiag.facts.oom.oom_report import PAGE_BYTES, HostMemory, Zone

KIB = 1024
MOST_NAMES = 10_000  # of zones or counts: no kernel has as many
MOST_SIZES = 16  # of free blocks of a zone: the kernel has 11, or 14 with large pages

_COUNTS = re.compile(r" ?[a-z_]+:[0-9]{1,15}(?: +[a-z_]+:[0-9]{1,15})* *")
_COUNT = re.compile(r"([a-z_]+):([0-9]{1,15})")
_ZONE = re.compile(r"Node ([0-9]{1,4}) ([A-Z][A-Za-z0-9]{0,15}) free:([0-9]{1,15})kB (.*)", re.DOTALL)
_MINIMUM = re.compile(r"\bmin:([0-9]{1,15})kB")
_RESERVE = re.compile(r"lowmem_reserve\[\]:((?: [0-9]{1,15})+) *")
_OF_ONE_SIZE = r"[0-9]{1,15}\*[0-9]{1,9}kB ?(?:\([A-Z]{0,8}\) ?)?"
_BLOCKS = re.compile(rf"Node ([0-9]{{1,4}}) ([A-Z][A-Za-z0-9]{{0,15}}): ((?:{_OF_ONE_SIZE})+= [0-9]{{1,15}}kB)")
_BLOCK = re.compile(r"([0-9]{1,15})\*([0-9]{1,9})kB(?: \(([A-Z]*)\))?")
_TOTALS = re.compile(r"([0-9]{1,15}) (total pagecache pages|pages RAM|pages reserved)")
_SWAP = re.compile(r"(Free|Total) swap {1,2}= ([0-9]{1,15})kB")
# Free blocks that only urgent requests may have, or movable pages: of no use to the kernel's own.
_NOT_FOR_ALL = frozenset({"H", "C", "I", "HC", "CI"})


class HostReader:
    """Takes the lines of one report."""

    def __init__(self) -> None:
        self._pages: dict[str, int] = {}
        self._zones: dict[tuple[int, str], Zone] = {}
        self._last: tuple[int, str] | None = None
        self._totals: dict[str, int] = {}
        self._swap: dict[str, int] = {}
        self._page_bytes: int | None = None
        self._of_zones = 0

    @property
    def numbers(self) -> int:
        """How many numbers are kept, about."""
        return len(self._pages) + self._of_zones

    def take(self, line: str) -> None:
        """Take a line if it is one of the host's memory."""
        line = line.rstrip(" ")
        if _COUNTS.fullmatch(line):
            for name, number in _COUNT.findall(line):
                if len(self._pages) < MOST_NAMES:
                    self._pages.setdefault(name, int(number))
        elif match := _TOTALS.fullmatch(line):
            self._totals.setdefault(match[2], int(match[1]))
        elif match := _SWAP.fullmatch(line):
            self._swap.setdefault(match[1], int(match[2]) * KIB)
        else:
            self._take_zone(line)

    def _take_zone(self, line: str) -> None:
        if match := _ZONE.fullmatch(line) if len(self._zones) < MOST_NAMES else None:
            self._last = int(match[1]), match[2]
            minimum = _MINIMUM.search(match[4])
            self._of_zones += 1
            self._zones[self._last] = Zone(
                int(match[1]), match[2], int(match[3]) * KIB, int(minimum[1]) * KIB if minimum else None
            )
        elif match := _RESERVE.fullmatch(line):
            if self._last is not None:
                most = max(int(number) for number in match[1].split(" ") if number)
                self._zones[self._last] = replace(self._zones[self._last], reserved_pages=most)
        elif match := _BLOCKS.fullmatch(line):
            key = int(match[1]), match[2]
            found = _BLOCK.findall(match[3].rpartition("=")[0])[:MOST_SIZES]
            self._of_zones += len(found)
            self._page_bytes = self._page_bytes or int(found[0][1]) * KIB
            if key in self._zones:
                blocks = {int(size) * KIB: 0 if kinds in _NOT_FOR_ALL else int(number) for number, size, kinds in found}
                self._zones[key] = replace(self._zones[key], blocks=blocks)

    @property
    def page_bytes(self) -> int:
        """Size of a page, as the smallest free block tells."""
        return self._page_bytes or PAGE_BYTES

    def host(self) -> HostMemory | None:
        """Return what was taken; None if that is nothing."""
        if not self._pages and not self._totals:
            return None
        return HostMemory(
            pages=self._pages,
            zones=list(self._zones.values()),
            cache_pages=self._totals.get("total pagecache pages"),
            total_pages=self._totals.get("pages RAM"),
            reserved_pages=self._totals.get("pages reserved"),
            swap_free_bytes=self._swap.get("Free"),
            swap_total_bytes=self._swap.get("Total"),
            page_bytes=self.page_bytes,
        )
