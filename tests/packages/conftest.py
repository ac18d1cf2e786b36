"""Clean roots of Debian, each made once, in which every test installs on a layer of its own."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT
from packages.support import OTHERS, Root

ROOTS = ROOT / "build/packages-roots"
# Debian 12 stays without man-db: it has to do without.
SUITES = {"bookworm": "python3", "trixie": "python3,man-db", "testing": "python3,man-db"}


def mirror() -> str:
    """Return where this host gets Debian's packages from."""
    lines = subprocess.check_output(["apt-get", "indextargets", "--format", "$(LABEL)|$(REPO_URI)"], text=True)
    return next(line.removeprefix("Debian|") for line in lines.splitlines() if line.startswith("Debian|"))


def make_root(suite: str) -> Path:
    """Return a minimal Debian; others' packages, that ours must not collide with, lie in it, not unpacked."""
    path = ROOTS / suite
    if (path.with_suffix(".made")).exists():
        return path
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    words = ["debootstrap", "--variant=minbase", f"--include={SUITES[suite]}", suite, str(path), mirror()]
    made = subprocess.run(words, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
    (path / "others").mkdir()
    shutil.copy("/etc/resolv.conf", path / "etc/resolv.conf")
    # A copy of the archive may lag behind, and testing's list expires after a week: the keys still vouch for it.
    apt = "apt-get -qq -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false"
    ask = f"{apt} update && cd /others && {apt} download {' '.join(OTHERS)}"
    got = subprocess.run(["chroot", path, "sh", "-c", ask], capture_output=True, text=True)
    assert got.returncode == 0, got.stderr
    path.with_suffix(".made").touch()
    return path


def unmount(path: Path) -> None:
    subprocess.run(["umount", "--recursive", "--lazy", path], check=True)


@pytest.fixture(params=SUITES)
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Root]:
    """A clean Debian, for one test alone."""
    if os.geteuid() != 0:
        pytest.fail("make test-packages needs root: it mounts and enters the roots")
    lower, merged = make_root(request.param), tmp_path / "root"
    for name in ("root", "upper", "work"):
        (tmp_path / name).mkdir()
    layers = f"lowerdir={lower},upperdir={tmp_path}/upper,workdir={tmp_path}/work"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, merged], check=True)
    try:
        subprocess.run(["mount", "-t", "proc", "proc", merged / "proc"], check=True)
        for name in ("sys", "dev"):
            subprocess.run(["mount", "--rbind", f"/{name}", merged / name], check=True)
        yield Root(request.param, merged)
    finally:
        unmount(merged)


@pytest.fixture
def recording(root: Root) -> Path:
    """A recording that somebody has made, in the root."""
    path = root.path / "root/proxy.rec"
    path.write_bytes(gzip.decompress((ROOT / "tests/data/recordings/proxy.jsonl.gz").read_bytes()))
    return path


@pytest.fixture(scope="session")
def next_version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with packages of a later version."""
    folder = tmp_path_factory.mktemp("next")
    words = ["make", "-C", ROOT, "deb", "rpm", "VERSION=0.1.99", f"DIST={folder}/dist", f"TREES={folder}/trees"]
    made = subprocess.run(words, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
    assert made.returncode == 0, made.stderr
    return folder / "dist"
