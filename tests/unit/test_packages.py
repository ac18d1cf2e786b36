"""The packages: the same bytes each time, no file of another package's, small; what they say of themselves is so."""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from perfdiag import __version__

from conftest import ROOT
from unit.test_install import make

MOST_BYTES = 25_000_000


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that is packed, once."""
    folder = tmp_path_factory.mktemp("packages")
    make("deb", "rpm", "wheel", f"DIST={folder}/dist", f"TREES={folder}/trees")
    return folder / "dist"


def contents(package: Path) -> dict[str, int]:
    """Files of a .deb with their sizes."""
    told = subprocess.check_output(["dpkg-deb", "-c", package], text=True).splitlines()
    rows = [line.split(maxsplit=5) for line in told]
    assert {row[1] for row in rows} == {"root/root"}
    return {row[5].removeprefix("."): int(row[2]) for row in rows if not row[0].startswith("d")}


def both(built: Path, suffix: str) -> list[Path]:
    """The packages of one format: perfdiag, perfdiag-tools."""
    return sorted(built.glob(f"*.{suffix}"), key=lambda path: "tools" in path.name)


def debs(built: Path) -> list[dict[str, int]]:
    return [contents(path) for path in both(built, "deb")]


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.mark.timeout(180)
def test_two_builds_have_the_same_bytes(built: Path, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        make("deb", "rpm", "wheel", f"DIST={tmp_path}/dist", f"TREES={tmp_path}/another/place")
    finally:
        os.umask(before)
    assert digests(tmp_path / "dist") == digests(built)
    machine = platform.machine()
    debian = {"x86_64": "amd64", "aarch64": "arm64"}[machine]
    assert sorted(digests(built)) == [
        f"perfdiag-{__version__}-1.{machine}.rpm",
        f"perfdiag-{__version__}-py3-none-any.whl",
        f"perfdiag-{__version__}.tar.gz",
        f"perfdiag-tools-{__version__}-1.noarch.rpm",
        f"perfdiag-tools_{__version__}-1_all.deb",
        f"perfdiag_{__version__}-1_{debian}.deb",
    ]


def test_nothing_tells_where_it_was_built() -> None:
    for name in ("perfdiag", "perfdiag-recorder"):
        assert os.fsencode(ROOT) not in (ROOT / "build/bin" / name).read_bytes(), name


def test_every_file_has_our_name(built: Path) -> None:
    """So none is another package's: bpftrace has a runqlat.bt of its own, and its page."""
    for files in debs(built):
        assert files
        assert [name for name in files if "perfdiag" not in name] == []


def test_the_two_packages_share_no_file_and_miss_none(built: Path) -> None:
    main, tools = (set(files) for files in debs(built))
    assert not main & tools
    names = {Path(name).name.removesuffix(".gz") for name in main | tools}
    scripts = {path.name for folder in ("tools", "dtrace") for path in (ROOT / folder).glob("*.*")}
    pages = {path.name for path in (ROOT / "build/man").iterdir()}
    assert scripts and pages and scripts | pages <= names
    assert {name for name in main if re.search(r"/(tools|dtrace)/[a-z]+\.", name)} == {
        "/usr/share/perfdiag/dtrace/ledger.d",
        "/usr/share/perfdiag/tools/ledger.bt",
        "/usr/share/perfdiag/tools/ledger.py",
    }, "what the recorder itself can run"


def test_both_formats_have_the_same_files(built: Path) -> None:
    if not shutil.which("rpm"):
        pytest.skip("rpm is not installed: make test-packages reads the .rpm")
    for deb, rpm in zip(debs(built), both(built, "rpm"), strict=True):
        told = subprocess.check_output(["rpm", "-qp", "--qf", "[%{FILEMODES:perms} %{FILENAMES}\n]", rpm], text=True)
        files = {line.split(maxsplit=1)[1] for line in told.splitlines() if not line.startswith("d")}
        zsh = "/usr/share/zsh/vendor-completions", "/usr/share/zsh/site-functions"
        assert files == {name.replace(*zsh) for name in deb}


def test_it_is_small_when_installed(built: Path) -> None:
    assert sum(sum(files.values()) for files in debs(built)) < MOST_BYTES / 2, "byte code is as large again"


def test_the_rule_of_sudo_is_the_one_of_the_page() -> None:
    page = (ROOT / "man/perfdiag.8").read_bytes()
    rule = subprocess.run([ROOT / "packaging/sudoers.sh"], input=page, capture_output=True, check=True).stdout.decode()
    lines = rule.splitlines()
    assert lines[0] == "Cmnd_Alias PERFDIAG = \\" and lines[-1] == "%operators ALL = (root) NOPASSWD: PERFDIAG"
    assert all(line.startswith("  /usr/bin/perfdiag ^") for line in lines[1:-1]) and len(lines) == 4
    if shutil.which("visudo", path="/usr/sbin"):
        subprocess.run(["/usr/sbin/visudo", "-c", "-f", "-"], input=rule, text=True, check=True, capture_output=True)


def test_scripts_mean_the_versions_of_python_that_the_launcher_takes() -> None:
    minors = re.findall(r"^PYTHON_MINORS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0]
    script, description = ((ROOT / "packaging" / name).read_text() for name in ("postinstall.sh", "perfdiag.yaml"))
    assert f"for minor in {minors}; do" in script
    assert re.findall(r"- /usr/bin/python3\.(\d+)$", description, re.MULTILINE) == minors.split()


@pytest.mark.timeout(120)
def test_a_wheel_reports_and_says_that_it_cannot_record(built: Path, tmp_path: Path) -> None:
    python, program = tmp_path / "bin/python", tmp_path / "bin/perfdiag"
    subprocess.run(["/usr/bin/python3", "-m", "venv", tmp_path], check=True)
    pip = [python, "-m", "pip", "install", "-q", "--no-index", "--find-links", ROOT / "build/wheels"]
    subprocess.run([*pip, *built.glob("*.whl")], check=True, capture_output=True)
    recording = tmp_path / "proxy.rec"
    recording.write_bytes(gzip.decompress((ROOT / "tests/data/recordings/proxy.jsonl.gz").read_bytes()))
    report = subprocess.run([program, "report", recording], capture_output=True, text=True)
    assert report.stdout.count("\n") > 5 and not report.returncode, report.stderr
    refused = subprocess.run([program, "latency", "--pid", "1"], capture_output=True, text=True)
    assert refused.returncode == 2 and "HINT: a wheel only reports" in refused.stderr
