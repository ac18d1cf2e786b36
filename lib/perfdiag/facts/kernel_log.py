"""The tail of the kernel log, and the lines that mean trouble."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key
from perfdiag.facts.kernel_log_reporters import tells_trouble
from perfdiag.facts.oom.log_lines import KERNEL, Entry, unescaped
from perfdiag.facts.oom.oom_report import Report
from perfdiag.facts.oom.parser import parse
from perfdiag.facts.texts import Texts

KERNEL_LOG = "/dev/kmsg"
LONGEST = 1024  # letters of a line that are compared: the kernel writes few that are longer
RECORD = re.compile(r"([0-9]{1,10}),([0-9]{1,19}),([0-9]{1,19}),[^;]*;(.*)")
DEVICES = re.compile(
    r"\bdev(?:ice)? ([a-z][a-z0-9!_-]{1,30})[,:) ]|[\[(]([svh]d[a-z]{1,3}[0-9]{0,3})[\])]|"
    r"\b((?:nvme|ata|md|dm-|mmcblk|xvd|vd)[0-9a-z]{1,12})\b"
)
KINDS = {
    "io_errors": r"I/O error|critical (medium|target|space|nexus) error|lost async page write|Buffer I/O",
    "device_errors": r"I/O error|timed? ?out|abort|Sense Key ?: (Medium|Hardware) Error|unrecovered read|"
    r"failed command|exception Emask|DID_(BAD_TARGET|NO_CONNECT|ERROR)|degraded|disk failure|"
    r"I/O to offline|rejecting I/O|link is down|link down|NETDEV WATCHDOG|UncorrectableError|"
    r"Uncorrected error",
    "resets": r"\breset(ting)?\b.*\b(controller|adapter|link|host|device|bus|port)|hard resetting link|"
    r"(controller|adapter|device|bus|host|port|link).{0,40}\breset",
    "filesystem_errors": r"(EXT[234]-fs|XFS|BTRFS|F2FS|JBD2).{0,80}(error|corrupt|abort|shutdown|shut down)|"
    r"[Rr]emounting filesystem read-only|forced readonly",
    "connections_dropped": r"nf_conntrack: table full(?: in netns [0-9]{1,10})?, dropping packet",
    "neighbours_dropped": r"arp_cache: neighbou?r table overflow",
}
# What a line has to say, in whatever form, to be read out as it is.
COMPLAINT = re.compile(
    r"overflow|\bout of [\w-]+|low water|space mode|grace period|too many|limit reached|\bfull\b|"
    r"reject|flooding|not enough|no space|timed? ?out|I/O error|fail|abort|reset|offline|degraded|not responding|"
    r"lockup|stall|corrupt|read-only|link is down|throttl|unstable|dropping|hardware error",
    re.IGNORECASE,
)
NUMBER = re.compile(r"\b(?:0x[0-9a-f]+|[0-9]+)\b")
PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in KINDS.items()}
BOOT_NOISE = re.compile(r"reset(ting)? (to|button)|Power.?on or device reset|error handling|errors=", re.IGNORECASE)


@dataclass(frozen=True)
class LogLine:
    """One record; `text` is hostile."""

    at_ns: int  # the kernel log's own clock since boot: close to CLOCK_MONOTONIC, but it drifts
    level: int  # 0 emergency ... 7 debug
    text: str
    in_window: bool | None  # logged while the recording ran; None: the log was not read at its begin
    device: str | None  # the disk or bus address it names ("sda", "nvme0n1", "ata3")


@dataclass(frozen=True)
class OomReport:
    """What the OOM killer said; small tasks are left out of its table."""

    report: Report
    in_window: bool | None  # as of a line


@dataclass(frozen=True)
class KernelLog:
    """Lines by what they tell; a line can stand in more than one."""

    lines: Sequence[LogLine]
    io_errors: Sequence[LogLine]  # a request failed
    device_errors: Sequence[LogLine]  # timeouts, aborts, media and link errors
    resets: Sequence[LogLine]  # of a device, link or host adapter
    filesystem_errors: Sequence[LogLine]  # also: remounted read-only
    connections_dropped: Sequence[LogLine]  # packets of new connections, for which the firewall's table has no room
    neighbours_dropped: Sequence[LogLine]  # packets to addresses for which the table of neighbours (ARP) has no room
    oom_reports: Sequence[OomReport] = ()  # the oldest first
    incomplete: bool = False  # of the window only the newest lines were kept
    logged: int | None = None  # lines of whatever kind in the window, by their numbers; None: not known

    def complaints(self) -> Sequence[tuple[str, int]]:
        """Return what the kernel complained of in the window, and how often: lines that differ in numbers once."""
        said = [line for line in self.lines if line.in_window is True and _complains(line.text)]
        groups = groups_by_key((NUMBER.sub("", line.text), line) for line in said)
        return [(lines[0].text, len(lines)) for lines in groups.values()]


def read_kernel_log(texts: Texts) -> KernelLog | None:
    """Join what was read at the begin and the end; None when neither could be."""
    begin, end = (texts.text(KERNEL_LOG, phase) for phase in ("begin", "end"))
    if begin is None and end is None:
        return None
    before, after = _records(begin), _records(end)
    records = {**before, **after}
    last = max(before, default=-1) if begin is not None else None
    said = {number: each for number, each in sorted(records.items()) if each[0] >> 3 == KERNEL}
    lines = [
        LogLine(us * 1000, level, text, None if last is None else sequence > last, _device(text))
        for sequence, (level, us, text) in said.items()
    ]
    found = {name: [line for line in lines if _tells(line.text, name)] for name in PATTERNS}
    entries = [Entry(unescaped(text), us * 1000, None, "", sequence) for sequence, (_, us, text) in said.items()]
    reports = [
        OomReport(report, None if last is None or report.sequence is None else report.sequence > last)
        for report in parse(entries)
    ]
    oldest = min(after, default=0)
    logged = max(after) - last if before and after and last is not None else None
    incomplete = texts.is_cut_off(KERNEL_LOG, "end") and (last is None or oldest > last)
    return KernelLog(lines=lines, **found, oom_reports=reports, incomplete=incomplete, logged=logged)


def _tells(text: str, kind: str) -> bool:
    """Return whether a line tells trouble of that kind."""
    return tells_trouble(text, PATTERNS[kind], LONGEST) and not BOOT_NOISE.search(text)


def _complains(text: str) -> bool:
    return tells_trouble(text, COMPLAINT, LONGEST) and not BOOT_NOISE.search(text)


def _records(text: str | None) -> dict[int, tuple[int, int, str]]:
    matches = (RECORD.fullmatch(line) for line in (text or "").split("\n"))
    return {int(match[2]): (int(match[1]), int(match[3]), match[4]) for match in matches if match}


def _device(text: str) -> str | None:
    match = DEVICES.search(text)
    return next((group for group in match.groups() if group), None) if match else None
