"""incident.toml, typed: how a fault is made, and what must be said of it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, Protocol

import msgspec
from perfdiag.diagnosis.rules import RULES

Setting = int | str
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OWN_NAMES = ("folder", "here", "mount", "pid")  # set for the scripts
DELAYS = ("NFS_FLUSH_MS", "NFS_WRITE_MS")  # of the server's disk
MOST_SECONDS = 100  # the machine ends every script after 120


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


class Described(Protocol):
    """What cases are made of: an incident, or a row of another table of faults."""

    @property
    def twin(self) -> Twin: ...
    @property
    def fault(self) -> list[Fault]: ...
    @property
    def near_miss(self) -> list[NearMiss]: ...
    @property
    def settings(self) -> dict[str, Setting]: ...


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
    except (OSError, ValueError, RecursionError) as error:  # a ValueError is whatever is no TOML, or no incident
        raise IncidentError(f"{path}: {error}") from error
    made = cases(folder, incident)
    names = [case.name for case in made]
    wrong = [name for name in [folder.name, *names] if not NAME.fullmatch(name)]
    if wrong or len(names) != len(set(names)) or not incident.fault:
        raise IncidentError(
            f"{path}: at least one [[fault]], and names made of a-z, 0-9 and - that each stand once: {names}"
        )
    if reason := _unfit(incident, made) or _foreign(folder):
        raise IncidentError(f"{path}: {reason}")
    return incident


def _unfit(incident: Incident, made: Sequence[Case]) -> str:
    """Return which value cannot be meant, "" where all can."""
    if not 0 <= incident.seconds <= MOST_SECONDS:
        return f"seconds = {incident.seconds}: from 0 to {MOST_SECONDS}"
    unknown = {id for case in made for id in (case.first, *case.then) if id} - set(RULES)
    if unknown:
        return f"no such finding: {', '.join(sorted(unknown))}"
    for name, value in ((name, value) for case in made for name, value in case.settings.items()):
        if not SETTING.fullmatch(name) or name in OWN_NAMES:
            return f"setting {name!r}: a name of a shell variable, but none of {', '.join(OWN_NAMES)}"
        if isinstance(value, int) and abs(value) >= 1 << 63:
            return f"setting {name} is too large"
        if name in DELAYS and not (isinstance(value, int) and value >= 0):
            return f"setting {name} = {value!r}: a number of milliseconds"
    return ""


def _foreign(folder: Path) -> str:
    """Return what in a folder is neither a file nor a directory of its own, "" where nothing is: all of it is copied
    into the machine, and what a link names may have no end."""
    for path in (Path(where) / name for where, *entries in os.walk(folder) for name in chain(*entries)):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            return f"{path.relative_to(folder)} is neither a file nor a directory"
    return ""


def cases(folder: Path, incident: Described) -> list[Case]:
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


__all__ = [
    "DELAYS",
    "NAME",
    "OWN_NAMES",
    "SETTING",
    "Case",
    "Described",
    "Fault",
    "Incident",
    "IncidentError",
    "NearMiss",
    "Setting",
    "Twin",
    "cases",
    "find",
    "read",
]
