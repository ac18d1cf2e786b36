"""Run the scripts of tools/ with both versions of bpftrace, and read what they print.

Mounts what they need, but only where nobody else sees it: in the mount namespace that tests and benchmarks make.
"""

from __future__ import annotations

import functools
import glob
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from perfdiag.documents import script_header

from live.support.host import run
from live.support.tracing import Tracing
from live.support.workload import PATIENCE_SECONDS, ROOT

TOOLS = ROOT / "tools"
SID = ROOT / "build" / "lab" / "sid"
VERSIONS = ("packaged", "newest")  # that of this Debian, that of sid
TRACING = Path("/sys/kernel/tracing")

# bpftrace 0.17 says so where nothing may lock more memory; newer ones tell here what it tells on standard output.
HARMLESS = re.compile(r"^(.*couldn't set RLIMIT_MEMLOCK.*|Attached \d+ probes?)(\n|\Z)", re.MULTILINE)
UNHEARD_SECONDS = 10
MOST_SHOWN = 110  # characters of a line in an example
BEGUN = re.compile(r'^(Tracing |{"type":"header")', re.MULTILINE)  # what a script says once it has attached
INTERPRETER = ("bpftrace", "--no-warnings")  # as in the first line of every script


@dataclass(frozen=True)
class Stats:
    """A value of stats()."""

    count: int
    average: int
    total: int


Histogram = dict[str, int]  # "[4K, 8K)": how many
Value = int | str | Stats | Histogram
Key = tuple[str, ...]
_STATS = re.compile(r"\D*count\D+(\d+),\D+(\d+),\D+(\d+)\D*")
_MAP = re.compile(r"^@(\w*)(?:\[([^@]*?)\])?: ?(.*?) *$", re.MULTILINE)
_BUCKET = re.compile(r"^(\[.+?[)\]]|\(\.\.\..*?\)) +(\d+) \|", re.MULTILINE)


def shown(text: str) -> list[str]:
    """Return what an example in a header shows of what was printed: no line is longer than a header's."""
    return [line if len(line) <= MOST_SHOWN else f"{line[:MOST_SHOWN]}..." for line in text.splitlines()]


@dataclass
class Seen:
    """What a script has printed: its maps by name and key."""

    text: str
    maps: dict[str, dict[Key, Value]] = field(default_factory=dict)

    def of(self, name: str, *key: str) -> Value:
        """Return the value of a key, or of a map that has but one."""
        assert name in self.maps, f"no {name} in what it printed:\n{self.text}"
        values = self.maps[name]
        if not key:
            assert len(values) == 1, f"{name} has {len(values)} keys:\n{self.text}"
            return next(iter(values.values()))
        found = [value for one, value in values.items() if one[: len(key)] == key]
        assert len(found) == 1, f"{name} has {len(found)} values for {key}:\n{self.text}"
        return found[0]

    def stats(self, name: str, *key: str) -> Stats:
        """Return a value of stats()."""
        value = self.of(name, *key)
        assert isinstance(value, Stats), value
        return value

    def number(self, name: str, *key: str) -> int:
        """Return a number: of count(), sum(), max()."""
        value = self.of(name, *key)
        assert isinstance(value, int), value
        return value

    def histogram(self, name: str, *key: str) -> Histogram:
        """Return a histogram, by bucket."""
        value = self.of(name, *key)
        assert isinstance(value, dict), value
        return value

    def make_example(self, name: str, *arguments: object) -> None:
        """Make this run the example in the header of a script."""
        words = " ".join([f"{name}.bt", *spelled(name, *arguments)])
        script_header.replace_example(TOOLS / f"{name}.bt", words, shown(self.text))

    @property
    def unseen(self) -> int:
        """How many events it has seen only the end of."""
        return self.sums("@unseen").get("", 0)

    def sums(self, name: str) -> dict[str, int]:
        """Return the numbers of a map by the first part of their keys."""
        return {key[0]: value for key, value in self.maps.get(name, {}).items() if isinstance(value, int)}


def read(text: str) -> Seen:
    """Parse what a script printed; names are printed raw, so that a key may go on in the next line."""
    seen = Seen(text)
    rows = list(_MAP.finditer(text))
    for row, end in zip(rows, [*(row.start() for row in rows[1:]), len(text)], strict=False):
        name, keys, rest = row.groups()
        values = seen.maps.setdefault(f"@{name}", {})
        key = tuple((keys or "").split(", "))
        assert key not in values, f"two rows @{name}[{keys}]: the same to a reader, but not to bpftrace\n{text}"
        buckets = {low_high: int(count) for low_high, count in _BUCKET.findall(text[row.end() : end])}
        values[key] = _value(rest) if rest else buckets
    return seen


def _value(text: str) -> Value:
    if match := _STATS.fullmatch(text):
        return Stats(*map(int, match.groups()))
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def check(name: str, text: str, messages: str) -> Seen:
    """Read the output of a run that ended well: only maps that its header describes, and no complaint."""
    assert not HARMLESS.sub("", messages), messages
    seen = read(text)
    described = {re.sub(r"\[.*", "", title) for title, _ in script_header.parse(TOOLS / f"{name}.bt").fields}
    assert set(seen.maps) <= described, f"maps that are for its own use, or not described:\n{text}"
    return seen


@functools.cache
def mount_tracing() -> None:
    """Mount what tracers need."""
    ours, parents = (os.readlink(f"/proc/{pid}/ns/mnt") for pid in ("self", os.getppid()))
    assert ours != parents, "mounts would be seen by others: this process has no mount namespace of its own"
    if not (TRACING / "events").exists():
        run("mount", "-t", "tracefs", "tracefs", TRACING)


@functools.cache
def _mount_for_newest() -> None:
    mount_tracing()
    for path in ("/proc", "/sys", "/dev"):
        run("mount", "--rbind", path, f"{SID}{path}")
    run("mount", "--bind", TOOLS, SID / "mnt")


def lacking(version: str) -> str | None:
    """Return why a version of bpftrace is not there, or None."""
    if version == "packaged":
        return None if shutil.which("bpftrace") else "no bpftrace: see packages.txt"
    if (SID.parent / "sid.missing").exists():
        return f"the newest bpftrace: {(SID.parent / 'sid.missing').read_text().strip()}"
    return None if (SID.parent / "sid.packages").exists() else "the newest bpftrace: not built: make lab-build"


def foreign(name: str) -> list[str]:
    """Return what a script needs and the kernel of this host does not have: it is for a guest then.

    That are tracepoints, kprobes, and files below /sys.
    """
    mount_tracing()
    text = (TOOLS / f"{name}.bt").read_text()
    wanted = re.findall(r"^tracepoint:(\w+):([\w*]+)", text, re.MULTILINE)
    lacks = [f"{group}:{event}" for group, event in wanted if not any((TRACING / "events" / group).glob(event))]
    if not (TRACING / "kprobe_events").exists():
        lacks += re.findall(r"^kprobe:\w+", text, re.MULTILINE)
    files = [path.replace("%d", "*") for path in re.findall(r'\bcat\("(/sys/[^"]+)"', text)]
    return lacks + [path for path in files if not glob.glob(path)]


def only_of(name: str) -> str | None:
    """Return whose probes a script needs inside of the process, where not every process will do."""
    probes = re.search(r"^(?:usdt|uprobe):[^:]*:(\w+)", (TOOLS / f"{name}.bt").read_text(), re.MULTILINE)
    return probes[1] if probes else None


def spelled(name: str, *arguments: object) -> list[str]:
    """Return arguments, of which the first is a process, as the script wants them."""
    option = (
        ["-p"] if arguments and script_header.parse(TOOLS / f"{name}.bt").synopsis.startswith(f"{name}.bt -p") else []
    )
    return [*option, *map(str, arguments)]


def command(version: str, name: str, *arguments: object) -> list[str]:
    """Return the command that runs a script with a version of bpftrace."""
    words = spelled(name, *arguments)
    if version == "packaged":
        mount_tracing()
        return [*INTERPRETER, str(TOOLS / f"{name}.bt"), *words]
    _mount_for_newest()
    return ["chroot", str(SID), *INTERPRETER, f"/mnt/{name}.bt", *words]


def refused(version: str, name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script to its end; what every run here says is taken from its messages."""
    words = command(version, name, *arguments)
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    done.stderr = HARMLESS.sub("", done.stderr)
    return done


class Script(Tracing):
    """A script that has attached by the time it is constructed; a context manager that leaves nothing behind."""

    def __init__(self, name: str, *arguments: object, version: str = "packaged", update: bool = False) -> None:
        """With `update`, what it prints becomes the example of its header where a test says so."""
        self.name, self.arguments, self.version, self.update = name, arguments, version, update
        super().__init__(f"{name}.bt", command(version, name, *arguments), BEGUN.search)

    def stop(self, *, example: bool = False) -> Seen:
        """Press Ctrl-C, and return what it printed."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(UNHEARD_SECONDS)
        except subprocess.TimeoutExpired:  # version 0.17 does not hear what comes while it prints
            self.process.send_signal(signal.SIGINT)
        return self.wait(example=example)

    def wait(self, *, example: bool = False) -> Seen:
        """Wait for its end, and return what it printed."""
        assert self.process.wait(PATIENCE_SECONDS) == 0, self.messages()
        text = self.output()
        seen = check(self.name, text, self.messages())
        if example and self.update and self.version == "packaged":
            seen.make_example(self.name, *self.arguments)
        return seen


__all__ = [
    "BEGUN",
    "HARMLESS",
    "INTERPRETER",
    "SID",
    "TOOLS",
    "VERSIONS",
    "Script",
    "Seen",
    "check",
    "command",
    "foreign",
    "lacking",
    "mount_tracing",
    "only_of",
    "read",
    "refused",
    "spelled",
]


def instead_of_bpftrace(program: Path, script: str) -> list[str]:
    """Return what runs a command where bpftrace is another program."""
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return ["unshare", "-m", "sh", "-c", f'mount --bind {program} /usr/bin/bpftrace && exec "$@"', "sh"]
