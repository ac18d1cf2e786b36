"""row.toml, typed: which server runs, who asks it for what, and what must be said of it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from incidents.support.incident import (
    NAME,
    OWN_NAMES,
    SETTING,
    Case,
    Fault,
    IncidentError,
    NearMiss,
    Setting,
    Twin,
    cases,
)

MOST_SECONDS = 20
OTHER_NAMES = (*OWN_NAMES, "cache", "disk", "load_ms", "seconds")  # set for the scripts
DELAYS = ("READ_US", "WRITE_US", "FLUSH_US")  # of the disk


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file row.toml.  Scripts are run by sh on this host with all settings in their environment."""

    story: str
    target: str  # command of the server that is recorded, with its descendants
    twin: Twin
    fault: list[Fault] = []  # a row may be about a healthy server alone
    near_miss: list[NearMiss] = []
    settings: dict[str, Setting] = {}
    needs: list[str] = []  # programs without which the row cannot be made
    ports: list[str] = []  # names for free ports besides PORT; all are listened on before the load begins
    seconds: float = 6  # of the recording
    slo: str = ""  # the objective of all requests, which ranks what those have met that missed it
    warm_seconds: float = 1  # of load before the recording: the first requests are of another kind
    disk: bool = False  # an ext4 at $disk, as slow as READ_US, WRITE_US and FLUSH_US say
    listens: bool = True  # on PORT
    namespaces: bool = False  # a network, and mounts, of its own
    up: str = ""  # makes what the servers need
    beside: list[str] = []  # commands of whom the target asks
    ready: str = ""  # script: waits for more than the ports
    load: str = ""  # command that asks for $load_ms; may print its truth as JSON in its last line
    requests: str = "^GET"  # regular expression: what the requests are called in the report
    agree: float = 0  # how far percentiles of that may be from what the load saw, of 1; 0: not compared

    @property
    def every_port(self) -> list[str]:
        """Names of all ports."""
        return [*(["PORT"] if self.listens else []), *self.ports]


def read(folder: Path) -> Row:
    """Read the row of a folder.  Raises IncidentError."""
    path = folder / "row.toml"
    try:
        row = msgspec.toml.decode(path.read_bytes(), type=Row)
    except (OSError, ValueError) as error:
        raise IncidentError(f"{path}: {error}") from error
    made = cases(folder, row)
    names = [case.name for case in made]
    settings = {name for case in made for name in case.settings} | set(row.every_port)
    wrong = [name for name in [folder.name, *names] if not NAME.fullmatch(name)]
    wrong += [name for name in settings if not SETTING.fullmatch(name) or name in OTHER_NAMES]
    if wrong or len(names) != len(set(names)):
        raise IncidentError(f"{path}: names of a-z, 0-9 and - that each stand once, and settings: {wrong or names}")
    if not 0 < row.seconds <= MOST_SECONDS:
        raise IncidentError(f"{path}: seconds = {row.seconds}: more than 0, at most {MOST_SECONDS}")
    return row


def find(directory: Path) -> list[Path]:
    """Return the folders of all rows, by name."""
    return sorted(path.parent for path in directory.glob("*/row.toml"))


__all__ = ["DELAYS", "Case", "Row", "find", "read"]
