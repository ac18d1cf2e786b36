"""Host facts as they are kept: all of the begin and of the end, and of readings in between what is asked for.

Of a file that was read again and again only the newest text counts, but where a rule wants to know how a number went:
of those the readings are kept, and where there are too many, evenly thinned.
"""

import re
from sys import getsizeof

import msgspec

from perfdiag.recording import schema
from perfdiag.recording.schema.limits import FACT_CHARACTERS, LINES, RECORDER

# What facts/ asks Texts.series() for; a test compares.
FOLLOWED = re.compile(
    r"/proc/[0-9]{1,10}/fd|/proc/sys/fs/file-nr|/proc/stat|/sys/devices/system/cpu/cpufreq/policy[0-9]+/scaling_cur_freq"
    r"|/hotspot/[0-9]{1,10}"
)
MOST_FOLLOWED = 256  # 64 processes, 32 policies of the clock, and two
READINGS = 512  # an hour has 720, of which every second one is left
READINGS_BYTES = 4 << 20  # of one file: /proc/stat of a host with hundreds of CPUs


class KeptFacts:
    """Takes facts one by one."""

    def __init__(self) -> None:
        self._facts: list[schema.Fact] = []
        self._bytes = {False: 0, True: 0}  # of the texts and paths at the begin and end, and in between
        self._names: dict[str, str] = {}
        self._newest: dict[tuple[str, bool], schema.Fact] = {}  # by path, and whether it could be read
        self._series: dict[str, _Series] = {}

    def add(self, fact: schema.Fact) -> str:
        """Take a fact; return what there is too much of, "" where all is well."""
        between = fact.phase == "series"
        for name in ("phase", "path"):  # each stands there hundreds of times
            text = getattr(fact, name)
            if text not in self._names:
                self._bytes[between] += getsizeof(text)
            msgspec.structs.force_setattr(fact, name, self._names.setdefault(text, text))
        # Python takes up to four bytes for a character: of what files hold it takes one.
        self._bytes[between] += self._add_reading(fact) if between else self._add(fact)
        return self._excess(between)

    def _excess(self, between: bool) -> str:
        paths, most = 2 * RECORDER["FACTS_PATHS_MAX"], LINES["fact"]
        if self._bytes[between] > FACT_CHARACTERS:
            return f"texts of facts take more than {FACT_CHARACTERS >> 20} MiB"
        if len(self._facts) > most:
            return f"there are more than {most:,} lines of the type 'fact'"
        if len(self._newest) > paths:
            return f"there are more than {paths:,} paths of facts"
        if len(self._series) > MOST_FOLLOWED:
            return f"there are more than {MOST_FOLLOWED:,} paths of facts that are followed"
        return ""

    def _add(self, fact: schema.Fact) -> int:
        self._facts.append(fact)
        return getsizeof(fact.text)

    def _add_reading(self, fact: schema.Fact) -> int:
        """Return how many bytes more are kept."""
        if not FOLLOWED.fullmatch(fact.path):
            key = (fact.path, fact.text is None)
            before = self._newest.get(key)
            self._newest[key] = fact
            return getsizeof(fact.text) - (getsizeof(before.text) if before else 0)
        series = self._series.get(fact.path)
        if series is None:
            series = self._series[fact.path] = _Series()
        return series.add(fact)

    def all(self) -> list[schema.Fact]:
        """Return those that are kept: readings in their order, the others as they came."""
        readings = [fact for series in self._series.values() for fact in series.facts()]
        return [*self._facts, *self._newest.values(), *readings]


class _Series:
    """The readings of one file, and the newest one."""

    def __init__(self) -> None:
        self._kept: list[schema.Fact] = []
        self._step, self._seen, self._bytes = 1, 0, 0
        self._newest: schema.Fact | None = None

    def add(self, fact: schema.Fact) -> int:
        """Return how many bytes more are kept."""
        before = self._bytes
        self._newest = fact
        self._seen += 1
        if self._seen % self._step:
            return 0
        self._kept.append(fact)
        self._bytes += getsizeof(fact.text)
        if len(self._kept) > READINGS or self._bytes > READINGS_BYTES:
            del self._kept[::2]
            self._step *= 2
            self._bytes = sum(getsizeof(each.text) for each in self._kept)
        return self._bytes - before

    def facts(self) -> list[schema.Fact]:
        """Return what is left."""
        last = [] if self._newest is None or (self._kept and self._kept[-1] is self._newest) else [self._newest]
        return [*self._kept, *last]
