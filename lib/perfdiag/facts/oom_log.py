"""A kernel log, of this host or saved: what it says of OOM kills, and whose log it is."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from perfdiag.common.text import printable
from perfdiag.facts.kernel_log_clock import Clocks, is_suspend
from perfdiag.facts.oom.log_lines import LONGEST_LINE, Entry, entries
from perfdiag.facts.oom.parser import Told, read
from perfdiag.recording.bounded_lines import beginnings

KMSG = "/dev/kmsg"
UTF8_BYTES = 4  # of a character, at most


@dataclass(frozen=True)
class Log:
    """What a kernel log says of OOM kills, and whose log it is."""

    source: str  # as shown
    own: bool  # this host's, of this boot
    overwritten: bool  # records were lost while it was read
    told: Told
    first: Entry | None  # None: no line of it is one of a kernel log
    last_suspend_ns: int | None  # by the log's clock

    @property
    def from_boot(self) -> bool:
        """Whether its first line is the first of this boot."""
        return self.own and self.first is not None and self.first.sequence == 0


def log_of(source: str, said: Iterable[Entry], *, own: bool, overwritten: bool = False) -> Log:
    """Read the entries of a log to their end, keeping no more than what is said of kills."""
    first: list[Entry] = []
    suspends: list[int] = []

    def noted() -> Iterator[Entry]:
        for entry in said:
            first[1:] = []
            first.append(entry)
            if entry.clock_ns is not None and is_suspend(entry):
                suspends[:] = [max([entry.clock_ns, *suspends])]
            yield entry

    told = read(noted())
    return Log(source, own, overwritten, told, first[0] if first else None, suspends[0] if suspends else None)


def own_log(records: Iterable[str], overwritten: bool, clocks: Clocks) -> Log:
    """Return the kernel's own buffer as a log."""
    lines = (line for record in records for line in record.split("\n") if line)
    return log_of(KMSG, entries(lines, clocks.realtime_ns), own=True, overwritten=overwritten)


def saved_log(stream: IO[bytes], name: str, clocks: Clocks) -> Log:
    """Return a file as a log: of dmesg, journalctl -k, a syslog daemon or /dev/kmsg, of whatever host and boot.

    Raises OSError, and PerfdiagError where the file is packed or no file of lines.
    """
    lines = beginnings(stream, UTF8_BYTES * LONGEST_LINE, printable(name))
    texts = (line.decode("utf-8", "backslashreplace") for line in lines)
    return log_of(printable(name), entries(texts, clocks.realtime_ns), own=False)
