"""Control groups: by path, by systemd unit, by container. Only the cgroup file systems are walked."""

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from perfdiag.common.directories import walk
from perfdiag.common.errors import TargetGone, UsageError
from perfdiag.common.text import printable, typed_path
from perfdiag.facts.texts import unescaped

MOUNTS = Path("/proc/self/mounts")
OWN_GROUPS = Path("/proc/self/cgroup")
NAME_BYTES = 127  # the recorder takes no longer names
DEPTH = 31  # nor follows it groups further down
UNIT_SUFFIXES = (".service", ".scope", ".slice", ".socket", ".mount", ".swap")
# docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope, docker/ID, kubepods/.../ID; no conmon-ID
CONTAINER_ID = re.compile(r"(?:(?:docker|libpod|crio|cri-containerd|nerdctl)-)?([0-9a-f]{64})(?:\.scope)?")
CONTAINER_NAME = re.compile(r"(?:lxc\.payload\.|machine-)(.+?)(?:\.scope)?")  # LXC and systemd-nspawn


@dataclass(frozen=True)
class Group:
    """A control group as the kernel knows it: ids are unique within a hierarchy."""

    hierarchy: int
    id: int
    parent_id: int
    name: str


def mounts() -> list[Path]:
    """Return where control groups are mounted: version 2 first, then systemd's own tree, then the controllers."""
    return list(_mounts())


def _mounts() -> dict[Path, frozenset[str]]:
    """Return the mount options of each, in that order; of version 2 none."""
    found: list[tuple[int, Path, frozenset[str]]] = []
    # Bytes, because reading text turns a carriage return, which a name may hold, into the end of a line.
    for line in os.fsdecode(MOUNTS.read_bytes()).split("\n"):
        fields = line.split(" ")
        if len(fields) >= 4 and fields[2] in ("cgroup", "cgroup2"):
            rank = 0 if fields[2] == "cgroup2" else 1 if "name=systemd" in fields[3] else 2
            options = fields[3].split(",") if rank else []
            found.append((rank, Path(unescaped(fields[1])), frozenset(options)))
    return {directory: options for _rank, directory, options in sorted(found, key=lambda item: item[0])}


def identify(group: Path) -> Group | None:
    """Return how the kernel identifies a control group; None if its hierarchy is unknown or it is too deep in it."""
    trees = _mounts()
    tree = max((tree for tree in trees if group.is_relative_to(tree)), key=lambda tree: len(tree.parts))
    name, parent_id = group.name, group.parent.stat().st_ino
    if group == tree or len(os.fsencode(name)) > NAME_BYTES:
        name, parent_id = "", 0  # not to be known again if it is made anew
    if len(group.relative_to(tree).parts) > DEPTH:
        return None
    for line in os.fsdecode(OWN_GROUPS.read_bytes()).split("\n"):
        number, _, rest = line.partition(":")
        controllers = frozenset(filter(None, rest.partition(":")[0].split(",")))
        if number and bool(controllers) == bool(trees[tree]) and controllers <= trees[tree]:
            return Group(int(number), group.stat().st_ino, parent_id, name)
    return None


def by_path(text: str) -> Path:
    """Return the directory of a control group given in full or as in /proc/PID/cgroup. Raises TargetGone if there is
    none, also for a path outside the cgroup file systems, which is never touched: it could be a dead mount."""
    path = PurePosixPath(os.path.normpath("/" + text.lstrip("/")))
    trees = mounts()
    # the longest first: on a hybrid host one tree may be mounted inside the directory of another
    inside = [tree for tree in sorted(trees, key=lambda tree: -len(tree.parts)) if path.is_relative_to(tree)]
    candidates = [Path(path)] if inside else [tree / path.relative_to("/") for tree in trees]
    for candidate in candidates:
        if os.path.exists(candidate / "cgroup.procs"):  # Path.exists() raises for a name that is too long
            return candidate
    below = printable(str(trees[0])) if trees else "/sys/fs/cgroup"
    raise TargetGone(
        f"--cgroup {printable(text)}: no such control group",
        f"give a directory below {below}, or the path in /proc/PID/cgroup after the second colon",
    )


def by_unit(name: str) -> Path:
    """Return the control group of a systemd unit (".service" is added, as in systemctl). systemd itself is not asked:
    on a host in trouble it may not answer."""
    unit = name if name.endswith(UNIT_SUFFIXES) else name + ".service"
    found = list(_find(lambda directory: directory.removeprefix("_") == unit or directory == unit))
    hint = "see whether it runs: systemctl status; without systemd, name the process: --pid, --name or --port"
    return _one(found, f"--unit {printable(name)}", hint)


def by_container(name: str) -> Path:
    """Return the control group of a container given by id (or its beginning) or by name.

    For a name the command line of installed container engines is asked first, with a deadline.  The name of
    a directory counts only where root alone can have made it: users name those of a subtree that is theirs.
    """
    from perfdiag.capture import container_engines  # only needed here, and it takes time to import

    what = f"--container {printable(name)}"
    hint = "give the container's id: see docker ps, podman ps or crictl ps"
    by_id: list[Path] = []
    if re.fullmatch(r"[0-9a-f]{4,64}", name):
        by_id = list(_find(lambda directory: _container_id(directory).startswith(name)))
    if any(map(_is_made_by_root, by_id)):
        return _one(by_id, what, hint)
    ids = container_engines.ids(name)
    known = list(_find(lambda directory: _container_id(directory) in ids)) if ids else []
    if known:
        return _one([group for group in known if _is_made_by_root(group)] or known, what, hint)
    if by_id:
        return _one(by_id, what, hint)
    named = list(_find(lambda directory: _container_name(directory) == name))
    if named and not all(map(_is_made_by_root, named)):
        raise UsageError(
            f"{what}: no container engine knows it, and a user can have made a control group with that name",
            _choice(named),
        )
    return _one(named, what, hint)


def units() -> list[str]:
    """Return the systemd units that have a control group."""
    return sorted({name for name in _directories() if name.endswith(UNIT_SUFFIXES)})


def container_names() -> list[str]:
    """Return the names of containers that stand in the names of their control groups."""
    return sorted({name for name in map(_container_name, _directories()) if name})


def _directories() -> Iterator[str]:
    """Yield the names of all control groups of the first hierarchy."""
    for tree in mounts()[:1]:
        for _directory, names in walk(str(tree)):
            yield from names


def processes(group: Path) -> list[int]:
    """Return the pids in a control group and all below it."""
    found: set[int] = set()
    for directory, _names in walk(str(group)):
        try:
            found |= {int(line) for line in Path(directory, "cgroup.procs").read_text().split("\n") if line}
        except OSError:
            continue  # gone meanwhile, or a threaded group: its processes stand in the group above it
    return sorted(found - {0})


def is_threaded(group: Path) -> bool:
    """Return True for a group of version 2 that holds threads of processes of the group above it."""
    try:
        return Path(group, "cgroup.type").read_text() == "threaded\n"
    except OSError:
        return False


def whole_host(group: Path) -> bool:
    """Return True for the real root, which cannot be a target (the root that a container sees is an ordinary group)."""
    return group in mounts() and not (group / "cgroup.events").exists()


def _find(wanted: Callable[[str], bool]) -> Iterator[Path]:
    """Yield the topmost directories with a wanted name, of the first hierarchy where such a one has processes."""
    for tree in mounts():
        found = False
        for directory, names in walk(str(tree)):
            for name in [name for name in names if wanted(name)]:
                names.remove(name)
                if processes(group := Path(directory, name)):
                    found = True
                    yield group
        if found:
            return


def _one(found: list[Path], what: str, hint: str) -> Path:
    """Return the only control group found; raise if there is none or several."""
    if not found:
        raise TargetGone(f"{what}: nothing with that name runs here", hint)
    if len(found) > 1:
        raise UsageError(f"{what} matches {len(found)} control groups", _choice(found))
    return found[0]


def _choice(found: list[Path]) -> str:
    """Return what to type instead."""
    return "choose one:\n" + "\n".join(f"  --cgroup {typed_path(str(path))}" for path in found[:10])


def _is_made_by_root(group: Path) -> bool:
    """Return whether nobody else may make directories where this one is, nor above it; False if it is gone."""
    tree = max((tree for tree in mounts() if group.is_relative_to(tree)), key=lambda tree: len(tree.parts))
    try:
        owners = {0, tree.stat().st_uid}
        above = [each.stat() for each in group.parents if each.is_relative_to(tree)]
    except OSError:
        return False
    return all(each.st_uid in owners and not each.st_mode & (stat.S_IWGRP | stat.S_IWOTH) for each in above)


def _container_id(directory: str) -> str:
    match = CONTAINER_ID.fullmatch(directory)
    return match[1] if match else ""


def _container_name(directory: str) -> str:
    match = CONTAINER_NAME.fullmatch(directory)
    return match[1].replace("\\x2d", "-") if match else ""
