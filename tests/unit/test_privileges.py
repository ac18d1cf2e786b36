"""Root is given up in time, for the right user, and nothing of the environment can make it run other code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from perfdiag.capture import recorder
from perfdiag.common import privileges
from perfdiag.common.errors import PerfdiagError

from conftest import ROOT
from unit.support.house import House

ROOT_OWNS = os.geteuid() == 0


def test_no_privilege_names_the_command_that_works(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    house.plan = "refused"
    arguments = ["latency", "--pid", str(sleeper.pid), "--name-is-no-option"][:3]
    run = house.run(*arguments, "--slo", "250ms")
    assert run.returncode == 3
    first, second = run.stderr.splitlines()
    assert first == "error: the kernel refuses BPF programs: Operation not permitted"
    if ROOT_OWNS:
        assert second.startswith("HINT: root lacks CAP_BPF")
    else:
        assert second == f"HINT: sudo {house.program} latency --pid {sleeper.pid} --slo 250ms"


@pytest.mark.parametrize(
    ("uid", "gid", "user"),
    [
        ("1234", "4321", (1234, 4321)),
        ("0", "0", None),
        ("4294967294", "0", (4294967294, 0)),
    ],
)
def test_who_is_behind_sudo(monkeypatch: pytest.MonkeyPatch, uid: str, gid: str, user: tuple[int, int] | None) -> None:
    monkeypatch.setenv("SUDO_UID", uid)
    monkeypatch.setenv("SUDO_GID", gid)
    assert privileges.invoking_user() == user


@pytest.mark.parametrize(
    ("uid", "gid"),
    [
        ("-1", "1"),
        ("1", "-1"),
        ("4294967295", "1"),  # setresuid(-1) would leave root as it is
        ("1", "4294967295"),
        ("99999999999", "1"),
        ("9" * 5000, "1"),
        ("x", "1"),
        ("", "1"),
        ("1", ""),
        (" 1", "1"),
        ("1_0", "1"),
        ("\uff11\uff12\uff13\uff14", "1"),  # digits, but no C program takes them for some
        ("1234", None),
        (None, "1234"),
    ],
)
def test_who_behind_sudo_cannot_be_is_refused(
    monkeypatch: pytest.MonkeyPatch, house: House, uid: str | None, gid: str | None
) -> None:
    """He counted as nobody: then root is not given up for him."""
    monkeypatch.setattr(os, "getresuid", lambda: (0, 0, 0))
    for name, value in (("SUDO_UID", uid), ("SUDO_GID", gid)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    with pytest.raises(PerfdiagError, match="SUDO_UID and SUDO_GID name no user and group"):
        privileges.invoking_user()
    if ROOT_OWNS:
        house.environment |= {name: os.environ[name] for name in ("SUDO_UID", "SUDO_GID") if name in os.environ}
        run = house.run("report", "/dev/null")
        assert run.returncode == 1 and len(run.stderr.splitlines()) == 2
        assert run.stderr.startswith("error: SUDO_UID and SUDO_GID name no user and group\nHINT: ")


def test_a_user_behind_sudo_whose_name_no_user_has(monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[tuple[int, int, list[int]]] = []
    monkeypatch.setattr(privileges, "invoking_user", lambda: (1234, 4321))
    monkeypatch.setattr(privileges, "_become", lambda *ids: became.append(ids))
    for name in ("\udcff", "nobody-has-that-name"):
        monkeypatch.setenv("SUDO_USER", name)
        privileges.become_caller()
    assert became == [(1234, 4321, [4321])] * 2


@pytest.mark.parametrize("user", [{}, {"SUDO_UID": "1234", "SUDO_GID": "4321"}])
@pytest.mark.skipif(not ROOT_OWNS, reason="only root can give up root")
def test_root_is_given_up_before_the_first_byte_is_read(
    tmp_path: Path, sleeper: subprocess.Popen[bytes], user: dict[str, str]
) -> None:
    """And nothing is imported afterwards: nobody may be unable to read the modules."""
    script = """
import os, sys
from importlib.abc import MetaPathFinder
import perfdiag.commands.latency, perfdiag.cli
from perfdiag.common import privileges
from perfdiag.recording import reader

class Late(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        print("LATE IMPORT", name, file=sys.stderr)

drop, read = privileges.drop, reader.read
def then_watch():
    drop()
    sys.meta_path.insert(0, Late())
def watched(stream):
    status = open("/proc/self/status").read()
    fields = dict(line.split(":\\t", 1) for line in status.splitlines() if ":\\t" in line)
    print("AS", os.getresuid(), os.getresgid(), os.getgroups(), fields["CapPrm"], fields["NoNewPrivs"], file=sys.stderr)
    return read(stream)
privileges.drop, reader.read = then_watch, watched
sys.argv = ["perfdiag", *sys.argv[1:]]
sys.exit(perfdiag.cli.main())
"""
    house = House.build(tmp_path / "house")
    (house.root / "lib").unlink()
    (house.root / "lib/perfdiag").mkdir(parents=True)
    source = f"import sys; sys.path.insert(0, {str(Path(recorder.__file__).parents[2])!r})\n" + script
    (house.root / "lib/perfdiag/__main__.py").write_text(source)
    house.environment = user
    for options in ([], ["--json"], ["--full"]):
        run = house.run("latency", "--pid", str(sleeper.pid), "--duration", "0.1", *options)
        assert run.returncode == 0 and run.stdout, run.stderr
        uid, gid = (1234, 4321) if user else (65534, 65534)
        assert f"AS {(uid,) * 3} {(gid,) * 3} [] 0000000000000000 1" in run.stderr
        assert "LATE IMPORT" not in run.stderr, run.stderr


def test_nothing_can_be_slipped_in_by_the_environment(
    house: House, sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    evil = tmp_path / "evil"
    evil.mkdir()
    for name in ("click.py", "perfdiag.py", "sitecustomize.py"):
        (evil / name).write_text("raise SystemExit('evil')")
    house.environment = {
        "PYTHONPATH": str(evil),
        "PYTHONHOME": str(evil),
        "PERFDIAG_CONTROL_FD": "0",
        "PERFDIAG_RECORDER_PID": "1",
    }
    run = house.run("latency", "--pid", str(sleeper.pid), "--duration", "0.1", cwd=evil)
    assert run.returncode == 0 and "evil" not in run.stderr
    assert house.run("--version", cwd=evil).stdout.startswith("perfdiag ")


@pytest.mark.parametrize("name", ["PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__"])
def test_python_takes_no_other_place_for_its_own(house: House, name: str, tmp_path: Path) -> None:
    """Also isolated it believes these two, and runs what stands in the packages of the place that they name."""
    packages = tmp_path / f"evil/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    packages.mkdir(parents=True)
    (packages / "evil.pth").write_text("import sys; sys.stderr.write('evil')\n")
    (tmp_path / "evil/pyvenv.cfg").write_text("home = /usr/bin\n")
    house.environment = {name: str(tmp_path / "evil/bin/python")}
    isolated = subprocess.run(
        [sys.executable, "-I", "-c", ""], env=house.environment, capture_output=True, text=True, check=False
    )
    assert "evil" in isolated.stderr, "the trap is none"
    run = house.run("--version")
    assert run.stdout.startswith("perfdiag ") and not run.stderr


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_AUDIT"])
def test_the_linker_loads_nothing_that_the_environment_names(name: str, tmp_path: Path) -> None:
    """Sudo takes these away; a shell of root's does not."""
    source, library = tmp_path / "evil.c", tmp_path / "evil.so"
    source.write_text(
        "#include <unistd.h>\n"
        "unsigned int la_version(unsigned int version) { return version; }\n"
        '__attribute__((constructor)) static void evil(void) { (void)!write(2, "evil", 4); }\n'
    )
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    trap = subprocess.run(["/bin/true"], env={name: str(library)}, capture_output=True, text=True, check=False)
    assert "evil" in trap.stderr, "the trap is none"
    launcher = ROOT / "build/bin/perfdiag"  # static, as it is installed
    run = subprocess.run([launcher, "--version"], env={name: str(library)}, capture_output=True, text=True, check=False)
    assert run.stdout.startswith("perfdiag ") and not run.stderr


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("         0       1000          1\n", True),
        ("         0          0          1\n", False),  # root outside, too: its files could be read
        ("         0          0 4294967295\n", False),
        ("         0       1000          1\n         1     100000      65536\n", False),
        ("", False),
    ],
)
def test_who_is_alone(text: str, alone: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "uid_map").write_text(text)
    monkeypatch.setattr(privileges, "UID_MAP", tmp_path / "uid_map")
    assert privileges.is_alone() is alone


def test_whose_map_cannot_be_read_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privileges, "UID_MAP", tmp_path / "none")
    assert not privileges.is_alone()


def test_who_is_alone_keeps_no_capability() -> None:
    """As root of a namespace of its own, made by an ordinary user."""
    code = "from perfdiag.common import privileges as p; p.drop(); print(open('/proc/self/status').read())"
    command = [
        "unshare",
        "-Ur",
        sys.executable,
        "-I",
        "-c",
        f"import sys; sys.path.insert(0, {str(ROOT / 'lib')!r}); {code}",
    ]
    as_nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *command]
    run = subprocess.run(as_nobody if os.geteuid() == 0 else command, capture_output=True, text=True, check=False)
    if "unshare failed" in run.stderr:
        pytest.skip(f"no user namespaces here: {run.stderr.strip()}")
    assert not run.returncode, run.stderr
    sets = dict(line.split(":\t") for line in run.stdout.splitlines() if line.startswith("Cap"))
    assert {int(sets[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}, sets
