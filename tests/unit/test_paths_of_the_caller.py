"""A path that the caller named is opened with his rights: who may start perfdiag as root has no more files by it."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from perfdiag.capture import container_engines, file_writer, output_file
from perfdiag.common import config, privileges
from perfdiag.common.errors import PerfdiagError

from unit.support.behind_sudo import ENVIRONMENT, GROUP, OTHER_GROUP, USER, in_group
from unit.support.house import RECORDING, House
from unit.support.waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can have a user behind sudo")

LIBRARY = "ld.so.preload"  # whatever stands in such a file of root's runs as root
AT_FDCWD, RENAME_EXCHANGE = -100, 2


@pytest.fixture
def behind_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Iterator[None]:
    yield
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def direct(system: Path, home: Path) -> Path:
    return system / LIBRARY


def through_a_directory(system: Path, home: Path) -> Path:
    (home / "there").symlink_to(system)
    return home / "there" / LIBRARY


def through_a_link(system: Path, home: Path) -> Path:
    (home / "x.rec").symlink_to(system / LIBRARY)
    return home / "x.rec"


def through_a_link_to_a_closed_directory(system: Path, home: Path) -> Path:
    (home / "there").symlink_to(system / ".")
    system.chmod(0o700)
    return home / "there" / LIBRARY


WAYS = [direct, through_a_directory, through_a_link, through_a_link_to_a_closed_directory]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("behind_sudo")
def test_nothing_is_made_where_the_user_may_make_nothing(
    system: Path, home: Path, way: Callable[[Path, Path], Path]
) -> None:
    with pytest.raises(PerfdiagError, match="cannot write ") as caught:
        output_file.create(str(way(system, home)))
    assert caught.value.hint and not list(system.iterdir())


def test_root_itself_may_write_where_it_likes(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    file = output_file.create(str(system / "x.rec"))
    file.begin()
    os.write(file.fd, RECORDING)
    assert file.check() == len(RECORDING) and (system / "x.rec").stat().st_uid == 0


@pytest.mark.parametrize("command", ["record -o", "latency --record", "host --record"])
@pytest.mark.parametrize("way", WAYS)
def test_no_command_makes_a_file_of_roots(
    house: House,
    sleeper: subprocess.Popen[bytes],
    system: Path,
    home: Path,
    command: str,
    way: Callable[[Path, Path], Path],
) -> None:
    house.environment = ENVIRONMENT
    target = [] if command.startswith("host") else ["--pid", str(sleeper.pid)]
    run = house.run(*command.split(), str(way(system, home)), "--duration", "0.1", *target)
    assert run.returncode == 1 and run.stderr.startswith("error: cannot write "), run.stderr
    assert "\nHINT: " in run.stderr and not list(system.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o666])
@pytest.mark.usefixtures("behind_sudo")
def test_a_file_of_roots_stays_through_a_hard_link(system: Path, home: Path, mode: int) -> None:
    precious = system / LIBRARY
    precious.write_text("precious")
    precious.chmod(mode)
    (home / "x.rec").hardlink_to(precious)
    for path in (home / "x.rec", precious):
        with pytest.raises(PerfdiagError):
            output_file.create(str(path))
    status = precious.stat()
    assert precious.read_text() == "precious" and (status.st_mode & 0o777, status.st_uid) == (mode, 0)


@pytest.mark.usefixtures("behind_sudo")
def test_a_directory_that_is_exchanged_all_the_time(system: Path, home: Path) -> None:
    """Whichever of the two is met: the file is made by the user, so that none is made in root's."""
    (home / "own").mkdir()
    os.chown(home / "own", USER, GROUP)
    (home / "link").symlink_to(system)
    over, made, refused = threading.Event(), 0, 0
    exchanging = threading.Thread(target=exchange, args=(home / "own", home / "link", over))
    exchanging.start()
    try:
        for number in range(300):
            try:
                file = output_file.create(str(home / "own" / f"{number}.rec"))
            except PerfdiagError:
                refused += 1
            else:
                made += 1
                file.discard()
            if made and refused > 20:
                break
    finally:
        over.set()
        exchanging.join()
    assert made and refused and not list(system.iterdir())


def exchange(one: Path, other: Path, over: threading.Event) -> None:
    libc = ctypes.CDLL(None)
    while not over.wait(0.001):
        assert libc.renameat2(AT_FDCWD, bytes(one), AT_FDCWD, bytes(other), RENAME_EXCHANGE) == 0


def emptied(file: output_file.OutFile) -> None:
    """End a recording of which nothing came."""
    with pytest.raises(PerfdiagError, match="nothing was written"):
        file.check()


@pytest.mark.parametrize("end", [output_file.OutFile.discard, emptied])
@pytest.mark.usefixtures("behind_sudo")
def test_a_file_is_taken_back_with_the_users_rights(home: Path, end: Callable[[output_file.OutFile], None]) -> None:
    """Who may no longer remove it in its directory, which may have come to be another's, does not remove it by root."""
    kept, gone = home / "kept", home / "gone"
    for path in (kept, gone):
        path.mkdir()
        os.chown(path, USER, GROUP)
    files = [output_file.create(str(path / "x.rec")) for path in (kept, gone)]
    os.chown(kept, 0, 0)
    for file in files:
        end(file)
    until(lambda: not list(gone.iterdir()), "its own file is taken back")
    assert [path.name for path in kept.iterdir()] == ["x.rec"]


@pytest.mark.usefixtures("behind_sudo")
def test_his_groups_let_the_user_write(open_folder: Path) -> None:
    shared = open_folder / "shared"
    shared.mkdir(mode=0o770)
    os.chown(shared, 0, OTHER_GROUP)
    shared.chmod(0o770)
    with pytest.raises(PerfdiagError, match="Permission denied"):
        output_file.create(str(shared / "x.rec"))
    with in_group(open_folder):
        output_file.create(str(shared / "x.rec")).discard()


@pytest.mark.usefixtures("behind_sudo")
def test_his_groups_keep_the_user_out(open_folder: Path) -> None:
    """Mode 0707 is for all but a group."""
    closed = open_folder / "closed"
    closed.mkdir()
    os.chown(closed, 0, OTHER_GROUP)
    closed.chmod(0o707)
    with in_group(open_folder), pytest.raises(PerfdiagError, match="Permission denied"):
        output_file.create(str(closed / "x.rec"))
    assert not list(closed.iterdir())


def test_the_keeper_has_given_up_root_before_it_opens_anything(
    home: Path, behind_sudo: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown(path: str) -> tuple[int, int, bool]:
        raise PerfdiagError(f"{os.getresuid()} {os.getresgid()}")

    monkeypatch.setattr(file_writer, "_open", shown)
    with pytest.raises(PerfdiagError) as caught:
        output_file.create(str(home / "x.rec"))
    assert str(caught.value) == f"{(USER,) * 3} {(GROUP,) * 3}"


@pytest.fixture
def secret(open_folder: Path) -> Path:
    """A file that only root may read."""
    path = open_folder / "secret"
    path.write_bytes(RECORDING)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("linked", [False, True])
def test_report_reads_no_file_of_roots(house: House, secret: Path, home: Path, linked: bool) -> None:
    if linked:
        (home / "x.rec").symlink_to(secret)
    path = home / "x.rec" if linked else secret
    assert house.run("report", str(path)).returncode == 0, "plain root may"
    house.environment = ENVIRONMENT
    run = house.run("report", str(path))
    assert (run.returncode, run.stdout) == (1, "") and f"cannot read {path}: Permission denied" in run.stderr
    assert "belongs to root: report it as that user, or run sudo cat FILE |" in run.stderr
    os.chown(secret, USER, GROUP)
    assert house.run("report", str(path)).returncode == 0


def test_a_log_is_read_with_the_users_groups(house: House, open_folder: Path) -> None:
    """As those of syslog daemons are made: for root, and a group of those who may read them."""
    path = open_folder / "kern.log"
    path.write_bytes(b"[    1.000000] Linux\n")
    path.chmod(0o640)
    os.chown(path, 0, OTHER_GROUP)
    house.environment = ENVIRONMENT
    words = ("host", "--since", "1d", "--log", str(path))
    assert house.run(*words).returncode == 1
    with in_group(open_folder):
        assert house.run(*words).returncode == 0


def configured(home: Path) -> Path:
    """Return a file that only root may read, which stands where the configuration is looked for."""
    folder = home / "perfdiag"
    folder.mkdir(parents=True)
    path = folder / "config.toml"
    path.write_text('password_of_root = "x"\n')
    path.chmod(0o600)
    return path


COMMANDS = ["report {recording}", "explain CPU-BOUND", "latency --pid {pid} --duration 0.1", "host --duration 0.1"]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_configuration_of_roots_is_told(
    house: House, sleeper: subprocess.Popen[bytes], secret: Path, home: Path, command: str
) -> None:
    os.chown(secret, USER, GROUP)
    words = command.format(recording=secret, pid=sleeper.pid).split()
    path = configured(home)
    house.environment = {"XDG_CONFIG_HOME": str(home)}
    assert "unknown key 'password_of_root'" in house.run(*words).stderr, "plain root is told"
    house.environment |= ENVIRONMENT
    run = house.run(*words)
    assert "password" not in run.stderr and run.returncode == 1
    assert f"error: {path}: cannot be read: Permission denied\nHINT: " in run.stderr
    home.chmod(0o700)
    os.chown(home, 0, 0)  # as HOME is under sudo: nobody's business, and no reason to fail
    assert house.run(*words).returncode == 0


@pytest.mark.usefixtures("behind_sudo")
def test_the_configuration_of_the_user_behind_sudo_is_in_their_home(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """Sudo sets HOME to root's.  Whoever has become the user cannot ask any more: it is theirs then."""
    monkeypatch.setenv("HOME", "/root")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    entry = pwd.struct_passwd(("somebody", "x", USER, GROUP, "", str(home), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", {USER: entry}.__getitem__)
    where = home / ".config/perfdiag/config.toml"
    assert config.files() == [config.SYSTEM_FILE, where]
    pid = os.fork()
    if not pid:
        privileges.become_caller()
        os._exit(config.files()[1:] != [where])
    assert os.waitpid(pid, 0)[1] == 0
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)  # of no user that this host knows
    assert config.files() == [config.SYSTEM_FILE]


def test_nothing_is_imported_once_report_is_the_user(house: House, secret: Path, open_folder: Path) -> None:
    """Who may start perfdiag as root may be unable to read where it stands."""
    os.chown(secret, USER, GROUP)
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    shutil.copytree(Path(privileges.__file__).parents[1], closed / "lib/perfdiag")
    (closed / "build").mkdir()
    shutil.copytree(house.root / "build/bin", closed / "build/bin")
    (closed / "build/venv").symlink_to(house.root / "build/venv")
    for extra in ([], ["--json"]):
        run = House(closed, environment=ENVIRONMENT).run("report", str(secret), *extra)
        assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("ids", [(USER, 0, 0), (0, USER, 0), (USER, USER, 0), (USER, USER, USER)])
@pytest.mark.usefixtures("behind_sudo")
def test_sudo_is_believed_of_root_only(monkeypatch: pytest.MonkeyPatch, ids: tuple[int, int, int]) -> None:
    """Who came to be root by a set-user-id file has whatever environment somebody gave to it."""
    assert privileges.invoking_user() == (USER, GROUP)
    monkeypatch.setattr(os, "getresuid", lambda: ids)
    assert privileges.invoking_user() is None


def test_no_engine_is_led_by_the_users_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs as root, and takes programs to run from the directory that HOME leads to."""
    (tmp_path / "docker").write_text(f'#!/bin/sh\necho "$HOME $DOCKER_HOST" >>{tmp_path}/log\n')
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setattr(container_engines, "PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(container_engines, "DEADLINE_S", 30)
    monkeypatch.setenv("HOME", "/evil")
    monkeypatch.setenv("DOCKER_HOST", "unix:///evil")
    container_engines.ids("web")
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    container_engines.ids("web")
    assert (tmp_path / "log").read_text() == "/evil unix:///evil\n \n"
