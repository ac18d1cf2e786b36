"""An installed perfdiag on a host that has nothing but it: no Python, no shared library, no shell."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import ROOT

PROGRAM = ROOT / "build/bin/perfdiag"
Run = Callable[..., subprocess.CompletedProcess[str]]
# In a mount namespace of its own, so that nothing stays mounted.
BARE = """
root=$1; shift
for each in proc sys dev; do mkdir -p $root/$each; mount --rbind /$each $root/$each; done
exec chroot $root "$@"
"""


@pytest.fixture
def bare(tmp_path: Path) -> Run:
    """What runs perfdiag's launcher in a folder that holds it and its recorder, with an empty usr/bin."""
    root = tmp_path / "root"
    for folder in ("bin", "lib/perfdiag/python/perfdiag", "usr/bin", "out"):
        (root / folder).mkdir(parents=True)
    shutil.copy(PROGRAM, root / "bin")
    shutil.copy(ROOT / "build/bin/perfdiag-recorder", root / "lib/perfdiag")
    shutil.copy(ROOT / "lib/perfdiag/__main__.py", root / "lib/perfdiag/python/perfdiag")

    def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
        command = ["unshare", "-m", "--propagation", "private", "sh", "-ec", BARE, "sh", root, "/bin/perfdiag", *words]
        return subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=60, env=os.environ | environment
        )

    return run


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "120"]) as process:
        try:
            yield process
        finally:
            process.kill()


def test_record(bare: Run, tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    recorded = bare("record", "-o", "/out/x.rec", "--pid", sleeper.pid, "--duration", "500ms")
    assert recorded.returncode == 0, recorded.stderr
    made = tmp_path / "root/out/x.rec"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    report = subprocess.run([PROGRAM, "report", made], capture_output=True, text=True)
    assert report.returncode == 0 and f"sleep ({sleeper.pid})" in report.stdout, report.stderr


def test_the_file_is_the_callers_behind_sudo(bare: Run, tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    words = ("record", "-o", "/out/x.rec", "--pid", sleeper.pid, "--duration", "100ms")
    refused = bare(*words, SUDO_UID="1234", SUDO_GID="1234", SUDO_USER="somebody")
    assert refused.returncode == 1 and "Permission denied" in refused.stderr, "the folder is root's"
    os.chown(tmp_path / "root/out", 1234, 1234)
    recorded = bare(*words, SUDO_UID="1234", SUDO_GID="1234", SUDO_USER="somebody")
    assert recorded.returncode == 0, recorded.stderr
    assert (tmp_path / "root/out/x.rec").stat().st_uid == 1234


@pytest.mark.parametrize("words", [("latency", "--pid", "1"), ("report", "x"), ("explain", "CPU-BOUND"), ()])
def test_what_needs_python_says_so(bare: Run, words: tuple[str, ...]) -> None:
    told = bare(*words)
    assert told.returncode == 1 and not told.stdout
    first, second = told.stderr.splitlines()
    assert first.startswith("error: perfdiag ") and "needs Python 3.11 to 3.14" in first and second.startswith("HINT: ")


def test_python_that_others_can_change_is_left_alone(bare: Run, tmp_path: Path) -> None:
    python = tmp_path / "root/usr/bin/python3.12"
    shutil.copy(PROGRAM, python)  # anything that can be run
    for owner, mode in ((1234, 0o755), (0, 0o775), (0, 0o757)):
        os.chown(python, owner, owner)
        python.chmod(mode)
        assert "this host has none" in bare("explain", "CPU-BOUND").stderr, (owner, mode)
    python.chmod(0o755)
    os.chown(python, 0, 0)
    (tmp_path / "root/usr/bin").chmod(0o777)
    assert "this host has none" in bare("explain", "CPU-BOUND").stderr
    (tmp_path / "root/usr/bin").chmod(0o755)
    assert "this host has none" not in bare("explain", "CPU-BOUND").stderr, "it is run now"


def test_an_old_python_is_named(bare: Run, tmp_path: Path) -> None:
    usr = tmp_path / "root/usr/bin"
    shutil.copy(PROGRAM, usr / "python3.9")
    (usr / "python3").symlink_to("python3.9")
    assert "this host has /usr/bin/python3.9" in bare("report", "x").stderr
