"""incident.toml, typed: how a fault is made, and what must be said of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import msgspec

Setting = int | str
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


class IncidentError(Exception):
    """A folder that is no incident, and why."""


class Twin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The same work without the fault: nothing above info may be found."""

    settings: dict[str, Setting] = {}


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One strength of the fault, or a combination."""

    name: str
    first: str  # the finding that must stand first
    says: str = ""  # what the claim of the first one must contain
    then: list[str] = []  # findings that must follow it, in this order; others may stand between them
    status: int = 0  # with which the target ends; if not 0, it says no numbers
    settings: dict[str, Setting] = {}
    share: str = ""  # what of the time the fault takes, of 1: an expression
    accounts: dict[str, str] = {}  # accounts that must dominate, each with its part of the time: an expression


class NearMiss(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What looks like the fault and is none: nothing above info may be found."""

    name: str
    settings: dict[str, Setting] = {}


class Incident(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file incident.toml.  Scripts are run by sh in the lab with all settings in their environment."""

    story: str  # what happened to somebody
    target: str  # command of the target: says a line when it is ready, begins at a byte, says its truth at its end
    twin: Twin
    fault: list[Fault]
    number: int = 0  # of the story, where it is one of the list that the project started from
    near_miss: list[NearMiss] = []
    settings: dict[str, Setting] = {}  # of all cases, unless these say otherwise
    where: Literal["lab"] = "lab"
    nfs: bool = False  # an NFS mount at $mount, of a server whose disk is as slow as NFS_FLUSH_MS and NFS_WRITE_MS say
    up: str = ""  # makes what the target needs
    enter: str = ""  # prepared the target, whose process is $pid: into a control group, say
    beside: list[str] = []  # commands that run at the same time, begun when the recorder has attached
    down: str = ""  # undoes what `up` did
    options: list[Literal["--only", "--stacks"]] = []  # of the recorder
    seconds: float = 0  # end of the recording; 0: when the target has ended
    spoils: bool = False  # the machine is another one afterwards: made last


class Case(msgspec.Struct, frozen=True):
    """One thing to be made and judged."""

    incident: str
    folder: Path
    name: str
    kind: Literal["twin", "near miss", "fault"]
    settings: dict[str, Setting]
    first: str = ""
    says: str = ""
    then: list[str] = []
    status: int = 0
    share: str = ""
    accounts: dict[str, str] = {}

    @property
    def title(self) -> str:
        """For people and for names of files."""
        return f"{self.incident}/{self.name}"


def read(folder: Path) -> Incident:
    """Read the incident of a folder.  Raises IncidentError."""
    path = folder / "incident.toml"
    try:
        incident = msgspec.toml.decode(path.read_bytes(), type=Incident)
    except (OSError, msgspec.DecodeError) as error:
        raise IncidentError(f"{path}: {error}") from error
    names = [case.name for case in cases(folder, incident)]
    wrong = [name for name in [folder.name, *names] if not NAME.fullmatch(name)]
    if wrong or len(names) != len(set(names)) or not incident.fault:
        raise IncidentError(
            f"{path}: at least one [[fault]], and names made of a-z, 0-9 and - that each stand once: {names}"
        )
    return incident


def cases(folder: Path, incident: Incident) -> list[Case]:
    """Return what is made of an incident, the twin first: shares of the others are held against its speed."""
    made = [Case(folder.name, folder, "twin", "twin", {**incident.settings, **incident.twin.settings})]
    made += [
        Case(folder.name, folder, near.name, "near miss", {**incident.settings, **near.settings})
        for near in incident.near_miss
    ]
    made += [
        Case(
            folder.name,
            folder,
            fault.name,
            "fault",
            {**incident.settings, **fault.settings},
            fault.first,
            fault.says,
            fault.then,
            fault.status,
            fault.share,
            fault.accounts,
        )
        for fault in incident.fault
    ]
    return made


def find(directory: Path) -> list[Path]:
    """Return the folders of all incidents below a directory, or the directory itself if it is one, by name."""
    if (directory / "incident.toml").exists():
        return [directory]
    return sorted(path.parent for path in directory.glob("*/incident.toml"))


__all__ = ["Case", "Fault", "Incident", "IncidentError", "NearMiss", "Setting", "Twin", "cases", "find", "read"]
