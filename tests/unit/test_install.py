"""`make install` leaves a tree that runs from wherever it stands, and `make uninstall` takes it away again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from perfdiag import __version__

from conftest import ROOT
from unit.support.waiting import until


def called(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(["make", "-C", ROOT, *words], capture_output=True, text=True, env=environment, check=False)


def make(*words: str) -> None:
    run = called(*words)
    assert run.returncode == 0, run.stdout + run.stderr


MINORS = list(
    map(int, re.findall(r"\d+", re.findall(r"^PYTHON_MINORS := (.*)$", (ROOT / "Makefile").read_text(), re.M)[0]))
)


def number(text: str, pattern: str) -> int:
    found = re.search(pattern, text)
    assert found, pattern
    return int(found[1])


def pythons() -> dict[Path, int]:
    """Interpreters of this host with the minor of their version: the distribution's, and those beside it."""
    found = {}
    for folder in (Path("/usr/bin"), Path("/usr/local/bin"), *(Path.home() / ".pyenv/versions").glob("*/bin")):
        for path in folder.glob("python3.*"):
            if match := re.fullmatch(r"python3\.(\d+)", path.name):
                found[path] = int(match[1])
    return found


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


@pytest.mark.timeout(180)
def test_install_moves_and_uninstalls(tmp_path: Path) -> None:
    make("install", f"DESTDIR={tmp_path}/staged", "PREFIX=/opt/perfdiag")
    moved = tmp_path / "moved"
    (tmp_path / "staged/opt/perfdiag").rename(moved)
    there = files(moved)
    assert {"bin/perfdiag", "lib/perfdiag/perfdiag-recorder", "share/man/man5/perfdiag-recording.5"} <= there
    assert {"share/man/man8/perfdiag.8", "share/man/man8/perfdiag-latency.8"} <= there
    assert {"share/bash-completion/completions/perfdiag", "share/zsh/site-functions/_perfdiag"} <= there
    assert {"share/perfdiag/tools/runqlat.bt", "share/man/man8/perfdiag-runqlat.bt.8"} <= there
    assert {"share/perfdiag/dtrace/lib/freebsd.d", "share/man/man8/perfdiag-runqlat.d.8"} <= there
    assert {"share/perfdiag/tools/sqlq.py", "share/man/man8/perfdiag-sqlq.py.8"} <= there
    compiled = [name for name in there if name.endswith(".so")]
    assert sorted(number(name, r"cpython-3(\d+)-") for name in compiled) == MINORS, "one for each Python"
    assert os.access(moved / "share/perfdiag/tools/runqlat.bt", os.X_OK)
    assert os.access(moved / "share/perfdiag/dtrace/runqlat.d", os.X_OK)
    assert [name for name in there if "pytest" in name or "mypy" in name] == [], "only what is needed to run"

    environment = {"PATH": "/usr/bin:/bin"}  # nothing of this checkout, not its venv either
    run = subprocess.run(
        [moved / "bin/perfdiag", "--version"], capture_output=True, text=True, env=environment, cwd="/", timeout=60
    )
    assert (run.stdout, run.stderr, run.returncode) == (f"perfdiag {__version__}\n", "", 0)
    with subprocess.Popen([moved / "bin/perfdiag", "report", "-"], stdin=subprocess.PIPE, env=environment) as reader:
        command = Path(f"/proc/{reader.pid}/cmdline")
        until(lambda: command.read_bytes().startswith(b"/usr/bin/python3\0-ISB\0"), "no modules of the host's")
        reader.kill()
    version = subprocess.run([moved / "lib/perfdiag/perfdiag-recorder", "--version"], capture_output=True, text=True)
    assert __version__ in version.stdout
    linked = subprocess.run(["ldd", moved / "lib/perfdiag/perfdiag-recorder"], capture_output=True, text=True)
    assert "not a dynamic executable" in linked.stderr

    superfluous = "/(pygments|markdown_it)|/RECORD$"  # never imported, or pip's own
    assert [name for name in there if re.search(superfluous, name)] == []
    page = (moved / "share/man/man8/perfdiag.8").read_text()
    assert "/usr/local/lib/perfdiag" not in page and "/opt/perfdiag/lib/perfdiag" in page
    assert "/usr/local is\n" not in page and "/opt/perfdiag is\nwhere it was installed to" in page

    main = moved / "lib/perfdiag/python/perfdiag/__main__.py"
    oldest, newest = MINORS[0], MINORS[-1]
    assert pythons(), "at least the one that runs this"
    for python, minor in pythons().items():
        told = subprocess.run([python, "-ISB", main, "explain", "CPU-BOUND"], capture_output=True, text=True, env={})
        if oldest <= minor <= newest:
            assert told.stdout.startswith("CPU-BOUND\n") and not told.returncode, (python, told.stderr)
        else:
            assert [line.split(":")[0] for line in told.stderr.splitlines()] == ["error", "HINT"], (python, told.stderr)
            assert told.returncode == 1 and f"Python 3.{oldest}" in told.stderr

    (tmp_path / "staged/opt").mkdir(exist_ok=True)
    moved.rename(tmp_path / "staged/opt/perfdiag")
    make("uninstall", f"DESTDIR={tmp_path}/staged", "PREFIX=/opt/perfdiag")
    assert list((tmp_path / "staged").iterdir()) == [], "no empty directory either"


@pytest.mark.timeout(180)
def test_scripts_are_in_one_package_with_their_library(tmp_path: Path) -> None:
    make(f"{tmp_path}/.stamp", f"TREES={tmp_path}")
    main, tools = (files(tmp_path / name / "usr/share/perfdiag") for name in ("perfdiag", "perfdiag-tools"))
    assert main == {"dtrace/ledger.d", "tools/ledger.bt", "tools/ledger.py"}, "which the recorder runs"
    assert {"tools/runqlat.bt", "dtrace/runqlat.d", "dtrace/lib/freebsd.d"} <= tools


@pytest.mark.parametrize("goal", ["install", "uninstall"])
@pytest.mark.parametrize("prefix", ["/my apps", "/my'apps", "/my$$(touch ran)", "/my;true", "apps", "/my*"])
def test_a_prefix_that_is_no_plain_path_is_refused(goal: str, prefix: str, tmp_path: Path) -> None:
    """A blank in it made two names, of which the first was removed."""
    precious = tmp_path / "my/data"
    precious.parent.mkdir()
    precious.touch()
    for where in (f"PREFIX={tmp_path if prefix[0] == '/' else ''}{prefix}", f"DESTDIR={tmp_path}/{prefix}"):
        if where == f"DESTDIR={tmp_path}/apps":
            continue  # a plain path
        run = called("-s", goal, where)
        assert run.returncode == 2 and run.stderr.startswith("make: PREFIX "), run
    assert list(tmp_path.rglob("*")) == [precious.parent, precious] and not (ROOT / "ran").exists()


def test_what_is_installed_with_a_closed_umask_is_open(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        make("install", f"DESTDIR={tmp_path}/staged", "PREFIX=/usr/local")
    finally:
        os.umask(before)
    there = list((tmp_path / "staged/usr/local").rglob("*"))
    assert len(there) > 500 and [path for path in there if not path.stat().st_mode & 0o004] == []


def test_nothing_is_imported_that_is_not_installed() -> None:
    """make install leaves out what rich needs only for source code and Markdown."""
    program = (
        "import pkgutil, importlib, sys, perfdiag\n"
        "for found in pkgutil.walk_packages(perfdiag.__path__, 'perfdiag.'):\n"
        "    found.name.endswith('__main__') or importlib.import_module(found.name)\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True, cwd=ROOT / "lib").split()
    makefile = (ROOT / "Makefile").read_text()
    unused = re.findall(r"\w+", re.findall(r"^UNUSED := (.*)$", makefile, re.MULTILINE)[0])
    assert len(unused) == 3 and "rich" in loaded and not set(unused) & set(loaded)


def test_launcher_and_makefile_mean_the_same_versions_of_python() -> None:
    header = (ROOT / "lib/recorder/launcher/find_python.h").read_text()
    bounds = [number(header, rf"#define {which}_PYTHON_MINOR (\d+)") for which in ("OLDEST", "NEWEST")]
    assert list(range(bounds[0], bounds[1] + 1)) == MINORS
    required = number((ROOT / "pyproject.toml").read_text(), r'requires-python = ">=3\.(\d+)"')
    assert required == bounds[0]


def test_make_test_says_first_how_long_it_takes() -> None:
    recipe = re.search(r"^test: .*\n\t\$\(Q\)(.*\\\n.*)\n", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe and "test-duration" in recipe[1] and "leave the machine alone" in recipe[1]
