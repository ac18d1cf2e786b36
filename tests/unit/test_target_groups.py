"""Control groups, units and containers as targets, and the engines that are asked for a container's name."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from perfdiag.capture import cgroups, container_engines
from perfdiag.capture.target import Wanted, resolve
from perfdiag.common.errors import TargetGone, UsageError


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A control group file system with a unit, a docker container, an instance of it elsewhere, and an empty one."""
    me = f"{os.getpid()}\n"
    root = tmp_path / "cgroup fs"
    for name, members in {
        ".": "",
        "system.slice": "",
        "system.slice/nginx.service": me,
        "system.slice/stopped.service": "",
        f"system.slice/docker-{'ab' * 32}.scope": me,
        f"system.slice/docker-{'ac' * 32}.scope": "",
        f"machine.slice/libpod-{'cd' * 32}.scope": "",
        f"machine.slice/libpod-{'cd' * 32}.scope/container": me,
        f"machine.slice/libpod-conmon-{'cd' * 32}.scope": me,
        "machine.slice/machine-de\\x2dbian.scope": me,
        f"kubepods.slice/burstable/pod1/{'ef' * 32}": me,
        "lxc.payload.web": me,
        "user.slice/user-1.slice/app.service": me,
        "user.slice/user-2.slice/app.service": me,
    }.items():
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "cgroup.procs").write_text(members)
        if name != ".":
            (root / name / "cgroup.events").write_text(f"populated {int(bool(members))}\n")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\ncgroup2 {str(root).replace(' ', chr(92) + '040')} cgroup2 rw 0 0\n")
    monkeypatch.setattr(cgroups, "MOUNTS", mounts)
    monkeypatch.setattr(container_engines, "ids", lambda name: {"ab" * 32} if name == "web-1" else set())
    return root


@pytest.mark.parametrize(
    ("wanted", "group"),
    [
        (Wanted(unit="nginx"), "system.slice/nginx.service"),
        (Wanted(unit="nginx.service"), "system.slice/nginx.service"),
        (Wanted(container="ab" * 32), f"system.slice/docker-{'ab' * 32}.scope"),
        (Wanted(container="abab"), f"system.slice/docker-{'ab' * 32}.scope"),
        (Wanted(container="web-1"), f"system.slice/docker-{'ab' * 32}.scope"),
        (Wanted(container="cdcdcd"), f"machine.slice/libpod-{'cd' * 32}.scope"),
        (Wanted(container="efef"), f"kubepods.slice/burstable/pod1/{'ef' * 32}"),
        (Wanted(container="web"), "lxc.payload.web"),
        (Wanted(container="de-bian"), "machine.slice/machine-de\\x2dbian.scope"),
        (Wanted(cgroup="/system.slice/nginx.service"), "system.slice/nginx.service"),
        (Wanted(cgroup="system.slice/nginx.service/"), "system.slice/nginx.service"),
    ],
)
def test_control_groups(tree: Path, wanted: Wanted, group: str) -> None:
    found = resolve(wanted)
    assert found.pids == (os.getpid(),) and "1 process, those they start and those that join it" in found.description
    assert found.notes[0].endswith(str(tree / group)), found.notes
    directory = tree / group
    assert found.group == cgroups.Group(0, directory.stat().st_ino, directory.parent.stat().st_ino, directory.name), (
        "what the recorder is told"
    )


def test_a_control_group_in_full(tree: Path) -> None:
    assert resolve(Wanted(cgroup=str(tree / "lxc.payload.web"))).pids == (os.getpid(),)


@pytest.mark.parametrize(
    ("wanted", "error", "said"),
    [
        (Wanted(unit="apache"), TargetGone, "unit apache: nothing with that name runs here"),
        (Wanted(unit="stopped"), TargetGone, "unit stopped: nothing with that name runs here"),
        (Wanted(unit="app"), UsageError, "unit app matches 2 control groups"),
        (Wanted(container="acac"), TargetGone, "nothing with that name runs here"),
        (Wanted(container="no\x1b"), TargetGone, "no\\\\x1b: nothing with that name"),
        (Wanted(cgroup="/system.slice/stopped.service"), TargetGone, "has no processes"),
        (Wanted(cgroup="/nowhere"), TargetGone, "no such control group"),
        (Wanted(cgroup="/system.slice/../../.."), UsageError, "no processes|whole host|no such"),
        (Wanted(cgroup="/tmp"), TargetGone, "no such control group"),
        (Wanted(cgroup="/" + "x" * 300), TargetGone, "no such control group"),
    ],
)
def test_control_groups_that_cannot_be_meant(tree: Path, wanted: Wanted, error: type[Exception], said: str) -> None:
    (tree / "cgroup.procs").write_text(f"{os.getpid()}\n")
    with pytest.raises(error, match=said) as caught:
        resolve(wanted)
    assert caught.value.hint  # type: ignore[attr-defined]


@pytest.fixture
def nest(tree: Path) -> Iterator[Path]:
    """Return a group deeper in others than Python calls itself: anybody may make one below a group of their own."""
    made = [tree / "user.slice" / ("d/" * depth) for depth in range(1, 1200)]
    for each in made:
        each.mkdir()
    yield made[-1]
    (made[-1] / "cgroup.procs").unlink(missing_ok=True)
    for each in reversed(made):  # what removes whole trees calls itself, too
        each.rmdir()


def test_a_nest_of_groups_hides_nothing(tree: Path, nest: Path) -> None:
    (nest / "cgroup.procs").write_text(f"{os.getpid()}\n")
    assert "nginx.service" in cgroups.units()
    assert resolve(Wanted(unit="nginx")).pids and os.getpid() in cgroups.processes(tree / "user.slice")
    with pytest.raises(TargetGone):
        resolve(Wanted(unit="apache"))


def test_the_whole_host_is_no_target(tree: Path) -> None:
    (tree / "cgroup.procs").write_text(f"{os.getpid()}\n")
    with pytest.raises(UsageError, match="the whole host"):
        resolve(Wanted(cgroup="/"))


def test_too_many_processes(tree: Path) -> None:
    (tree / "lxc.payload.web/cgroup.procs").write_text("".join(f"{pid}\n" for pid in range(1, 5000)))
    with pytest.raises(UsageError, match="4999 processes, more than the 4096"):
        resolve(Wanted(container="web"))


@pytest.fixture
def delegated(tree: Path) -> Path:
    """A subtree where others than root may make control groups."""
    folder = tree / "user.slice/user-1.slice"
    folder.chmod(0o777)
    return folder


def populated(group: Path) -> Path:
    group.mkdir()
    (group / "cgroup.procs").write_text(f"{os.getpid()}\n")
    return group


@pytest.mark.parametrize("name", ["machine-mine.scope", "lxc.payload.mine"])
def test_a_name_that_a_user_gave_is_no_container(delegated: Path, name: str) -> None:
    group = populated(delegated / name)
    with pytest.raises(UsageError, match="container mine: no container engine knows it, and a user can") as caught:
        resolve(Wanted(container="mine"))
    assert caught.value.hint == f"choose one:\n  --cgroup '{group}'"
    delegated.chmod(0o755)
    assert resolve(Wanted(container="mine")).notes[0] == f"using {group}"


def test_a_name_that_a_user_gave_too_is_ambiguous(delegated: Path) -> None:
    populated(delegated / "machine-web.scope")
    with pytest.raises(UsageError, match="a user can have made") as caught:
        resolve(Wanted(container="web"))
    assert str(caught.value.hint).count("--cgroup") == 2


def test_a_hint_can_be_pasted(delegated: Path) -> None:
    """What a user named is one word of it."""
    other = populated(delegated / "it's;touch proof;")
    populated(other / "nginx.service")
    with pytest.raises(UsageError, match="matches 2 control groups") as caught:
        resolve(Wanted(unit="nginx"))
    found = [shlex.split(line) for line in str(caught.value.hint).splitlines()[1:]]
    assert ["--cgroup", str(other / "nginx.service")] in found and {len(words) for words in found} == {2}


def test_engines_are_asked_before_names_of_directories_are_read(tree: Path, delegated: Path) -> None:
    for name in ("machine-web\\x2d1.scope", f"docker-{'ab' * 32}.scope"):
        populated(delegated / name)
    real = tree / f"system.slice/docker-{'ab' * 32}.scope"
    assert resolve(Wanted(container="web-1")).notes[0] == f"using {real}"


def test_a_container_that_a_user_runs_is_found_by_its_id(delegated: Path) -> None:
    group = populated(delegated / f"libpod-{'1d' * 32}.scope")
    assert resolve(Wanted(container="1d1d")).notes[0] == f"using {group}"


def engine(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_only_the_command_line_of_an_engine_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    for name, answer in {"docker": "ab" * 32, "podman": "not an id", "crictl": "cd" * 32}.items():
        engine(tmp_path, name, f'echo "{name} $*" >>{log}\necho "{answer}"')
    monkeypatch.setattr(container_engines, "PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(container_engines, "DEADLINE_S", 30)
    assert container_engines.ids("web") == {"ab" * 32, "cd" * 32}
    asked = [
        "docker inspect --type container --format {{.Id}} web",
        "podman inspect --type container --format {{.Id}} web",
        "crictl ps --quiet --no-trunc --name ^web$",
    ]
    assert log.read_text().splitlines() == asked
    for hostile in ("--help", "a b", "$(id)", "", "a;b"):
        assert container_engines.ids(hostile) == set()
    assert log.read_text().splitlines() == asked


def test_an_engine_that_does_not_answer_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("docker", "podman", "crictl"):
        engine(tmp_path, name, "exec sleep 600")  # beyond the time limit of a test
    monkeypatch.setattr(container_engines, "PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(container_engines, "DEADLINE_S", 0.1)
    assert container_engines.ids("web") == set()


def test_joiners_are_not_followed_with_only(tree: Path) -> None:
    found = resolve(Wanted(unit="nginx", only=True))
    assert found.group is None and "is not seen" in found.notes[1] and "start" not in found.description


@pytest.mark.parametrize(
    ("own", "hierarchy"),
    [
        ("9:name=systemd:/\n4:cpu,cpuacct:/a:b\n0::/\n", {"cpu,cpuacct": 4, "systemd": 9, "unified": 0}),
        ("7:pids:/\n", {"cpu,cpuacct": None, "systemd": None, "unified": None}),
    ],
)
def test_the_hierarchy_of_a_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, hierarchy: dict[str, int | None]
) -> None:
    """Ids are unique within a hierarchy only; its number stands where its controllers do."""
    (tmp_path / "mounts").write_text(
        f"cgroup {tmp_path}/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\n"
        f"cgroup {tmp_path}/systemd cgroup rw,xattr,name=systemd 0 0\n"
        f"cgroup2 {tmp_path}/unified cgroup2 rw,nsdelegate 0 0\n"
    )
    (tmp_path / "own").write_text(own)
    monkeypatch.setattr(cgroups, "MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr(cgroups, "OWN_GROUPS", tmp_path / "own")
    for name, number in hierarchy.items():
        group = tmp_path / name / "a.slice"
        group.mkdir(parents=True)
        known = cgroups.identify(group)
        assert (known.hierarchy if known else None) == number, name
        root = cgroups.identify(group.parent)
        assert root is None or root.parent_id == 0, "the root of a hierarchy is never made anew"


def test_a_threaded_group_is_told_from_an_empty_one(tree: Path) -> None:
    (tree / "system.slice/stopped.service/cgroup.type").write_text("threaded\n")
    with pytest.raises(UsageError, match="holds threads, not processes"):
        resolve(Wanted(cgroup="/system.slice/stopped.service"))


def test_perfdiag_in_the_group_it_measures_says_so(tree: Path) -> None:
    assert any("perfdiag runs in it" in note for note in resolve(Wanted(unit="nginx")).notes)
    (tree / "system.slice/nginx.service/cgroup.procs").write_text(f"{os.getppid()}\n")
    assert not any("perfdiag runs in it" in note for note in resolve(Wanted(unit="nginx")).notes)
