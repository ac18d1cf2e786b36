"""What can be measured on this host, what cannot, why, and the remedy.

Programs in the kernel are judged by a recorder that really loaded and attached them (its header says so); facts of the
host by opening their files.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from glob import iglob

import msgspec

from perfdiag.facts.host_facts import Facts
from perfdiag.model.coverage import coverage, recorder_gaps
from perfdiag.model.model import NotMeasured
from perfdiag.recording import schema
from perfdiag.recording.recording import Recording


@dataclass(frozen=True)
class Source:
    """A fact of the host: what it shows, the files it is in (patterns, any will do), what would make it readable."""

    tells: str
    patterns: tuple[str, ...]
    fix: str


@dataclass(frozen=True)
class Answer:
    """One thing to be measured: possible (reason None), or why not and the remedy."""

    tells: str
    source: str
    reason: str | None = None
    fix: str = ""


SOURCES = (
    Source(
        "the clock that CPUs really ran at", ("/dev/cpu/0/msr",), "modprobe msr; in a guest: run perfdiag on its host"
    ),
    Source(
        "clock limits and governor",
        ("/sys/devices/system/cpu/cpufreq/policy*/scaling_cur_freq",),
        "guests usually have none: run perfdiag on the host",
    ),
    Source(
        "idle states and their exit times",
        ("/sys/devices/system/cpu/cpu*/cpuidle/state*/name",),
        "guests usually have none: run perfdiag on the host",
    ),
    Source("the clock source", ("/sys/devices/system/clocksource/clocksource0/current_clocksource",), "mount /sys"),
    Source("pressure of CPU, memory and I/O", ("/proc/pressure/cpu",), "boot with psi=1 (CONFIG_PSI)"),
    Source(
        "limits and throttling of control groups",
        ("/sys/fs/cgroup/cgroup.controllers", "/sys/fs/cgroup/*/cpu.stat"),
        "mount the control group file system",
    ),
    Source("disks and their counters", ("/proc/diskstats",), "mount /proc"),
    Source("drivers of disks and network cards", ("/sys/class/block/*", "/sys/class/net/*/device"), "mount /sys"),
    Source("reclaim, swap and compaction counters", ("/proc/vmstat",), "mount /proc"),
    Source("names of kernel functions", ("/proc/kallsyms",), "a kernel with CONFIG_KALLSYMS"),
    Source(
        "device errors and OOM kills of the past",
        ("/dev/kmsg",),
        "in a container: give it /dev/kmsg and CAP_SYSLOG, or run perfdiag on the host",
    ),
)


def programs(header: schema.Header) -> list[Answer]:
    """Return, by feature, what the recorder's programs can measure, and what it lacks privileges for. A feature with
    one missing program is missing."""
    header = msgspec.structs.replace(header, targets=[])  # of the host: no target makes a feature matter less
    nothing = [msgspec.structs.replace(probe, attached=False) for probe in header.probes]
    telling = {item.feature: item for item in _missing(msgspec.structs.replace(header, probes=nothing))}
    missing = {item.feature: item for item in _missing(header)}
    answers = []
    for feature in dict.fromkeys(probe.feature for probe in header.probes):
        names = ", ".join(probe.name for probe in header.probes if probe.feature == feature)
        if item := missing.get(feature):
            answers.append(Answer(item.what, names, item.reason, item.fix))
        else:
            answers.append(Answer(telling[feature].what, names))
    return answers + [
        Answer(item.what, "capabilities", item.reason, item.fix) for item in recorder_gaps.privileges(header)
    ]


def host(sources: Sequence[Source] = SOURCES) -> list[Answer]:
    """Return which facts of this host can be read by this user, now."""
    return [_ask(source) for source in sources]


def _missing(header: schema.Header) -> Iterable[NotMeasured]:
    return coverage.not_measured(Recording(header), Facts.parse([]))


def _ask(source: Source) -> Answer:
    reason, fix = f"there is no {source.patterns[0]}", source.fix
    for pattern in source.patterns:
        for path in iglob(pattern):
            try:
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
            except OSError as error:
                reason = f"{path}: {error.strerror}"
                if isinstance(error, PermissionError) and os.geteuid():
                    fix = "run it as root: sudo perfdiag check"
                continue
            return Answer(source.tells, path)
    return Answer(source.tells, source.patterns[0], reason, fix)
