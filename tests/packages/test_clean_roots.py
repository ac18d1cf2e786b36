"""Installed in clean roots of Debian: from the package to the first report, upgraded, removed without a trace."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from perfdiag import __version__

from packages.support import DIST, Root

MOST_SECONDS = 30  # from package to first report
MOST_KIB = 25_000_000 / 1024
# Directories that such a system's own packages have, and Debian's do not: perfdiag's must not claim them.
OF_RPM_SYSTEMS = {
    *("usr/share/zsh", "usr/share/zsh/site-functions"),
    *("usr/share/fish", "usr/share/fish/vendor_completions.d"),
    *("usr/share/bash-completion", "usr/share/bash-completion/completions"),
    *(f"usr/share/man{name}" for name in ("", "/man5", "/man7", "/man8")),
}


def pages(root: Root) -> set[str]:
    installed = root.run("dpkg", "-L", "perfdiag", "perfdiag-tools")
    return set(re.findall(r"/man\d/(\S+)\.\d\.gz$", installed, re.MULTILINE))


def test_the_first_report(root: Root, recording: Path) -> None:
    began = time.monotonic()
    root.install()
    report = root.run("/usr/bin/perfdiag", "report", "/root/proxy.rec")
    took = time.monotonic() - began
    assert "TRUST " in report
    assert took < MOST_SECONDS
    print(f"{root.suite}: {took:.1f} s from package to first report")
    assert root.run("/usr/bin/perfdiag", "--version") == f"perfdiag {__version__}\n"
    assert "perfdiag latency --pid" in root.run("/usr/bin/perfdiag", status=2)
    used = int(root.run("du", "-sk", "/usr/lib/perfdiag", "/usr/share/perfdiag").split()[0])
    assert used < MOST_KIB, "byte code included"
    print(f"{root.suite}: {used} KiB in /usr/lib/perfdiag")


def test_byte_code_is_for_the_python_of_the_root(root: Root) -> None:
    root.install()
    minor = root.run("python3", "-c", "import sys; print(sys.version_info.minor)").strip()
    made = {path.name.split(".")[1] for path in root.path.glob("usr/lib/perfdiag/python/perfdiag/__pycache__/*.pyc")}
    assert made == {f"cpython-3{minor}"}


@pytest.mark.timeout(300)
def test_a_live_process(root: Root) -> None:
    """Its recorder, its launcher and its Python: nothing of this checkout."""
    root.install()
    with subprocess.Popen(["chroot", root.path, "sh", "-c", "while :; do :; done"]) as spinner:
        try:
            report = root.run("/usr/bin/perfdiag", "latency", "--pid", spinner.pid, "--duration", 2, "--full")
            root.run("/usr/bin/perfdiag", "record", "-o", "/root/a.rec", "--pid", spinner.pid, "--duration", 1)
        finally:
            spinner.kill()
    assert "cpu.user" in report and "TRUST " in report
    assert "cpu.user" in root.run("/usr/bin/perfdiag", "report", "--full", "/root/a.rec")


def test_man_finds_every_page(root: Root) -> None:
    root.install()
    names = pages(root)
    assert "perfdiag-runbook" in names and "perfdiag-runqlat.bt" in names
    if root.suite == "bookworm":  # made without man-db: that the installation did not mind is the test
        assert not (root.path / "usr/bin/man").exists()
        return
    listed = set(re.findall(r"^(\S+) \(\d\)", root.run("man", "-k", "perfdiag"), re.MULTILINE))
    assert listed == names
    assert root.run("man", "-w", "nfsfsync") == "/usr/share/man/man8/perfdiag-nfsfsync.bt.8.gz\n"


def test_completion_for_three_shells_is_where_they_look(root: Root) -> None:
    root.install()
    told = root.run("bash", "-c", "source /usr/share/bash-completion/completions/perfdiag; complete -p perfdiag")
    assert "_perfdiag_completion" in told
    assert (root.path / "usr/share/zsh/vendor-completions/_perfdiag").read_text().startswith("#compdef perfdiag")
    assert "perfdiag" in (root.path / "usr/share/fish/vendor_completions.d/perfdiag.fish").read_text()


def test_beside_the_packages_of_others(root: Root) -> None:
    """dpkg refuses a file that another package has; what those packages depend on does not matter for that."""
    others = sorted(f"/others/{path.name}" for path in (root.path / "others").glob("*.deb"))
    assert len(others) >= 6
    root.run("dpkg", "--force-depends", "--unpack", *others)
    before = root.run("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n")
    assert "bpftrace unpacked" in before and "bpfcc-tools unpacked" in before and "systemtap unpacked" in before
    root.install()
    assert root.run("dpkg", "--verify", "bpftrace", "bpfcc-tools", "libbpf-tools", "systemtap") == ""


def test_an_upgrade_keeps_recordings_and_configuration(root: Root, recording: Path, next_version: Path) -> None:
    root.install()
    (root.path / "etc/perfdiag").mkdir()
    settings = root.path / "etc/perfdiag/config.toml"
    settings.write_text('runbook_url = "https://wiki.example/perfdiag/{id}"\n')
    before = recording.read_bytes()
    old = root.path / "usr/lib/perfdiag/python/perfdiag/gone.py"  # as of a version that had more modules
    old.write_text("")
    root.install(next_version)
    assert "0.1.99" in root.run("dpkg-query", "-W", "perfdiag")
    assert recording.read_bytes() == before and "wiki.example" in settings.read_text()
    assert "wiki.example" in root.run("/usr/bin/perfdiag", "explain", "DISK-FLUSH-SLOW")
    root.run("/usr/bin/perfdiag", "report", "/root/proxy.rec")


def test_a_purge_leaves_nothing_but_recordings(root: Root, recording: Path) -> None:
    before = root.files()
    root.install()
    assert len(root.files() - before) > 500
    root.run("/usr/bin/perfdiag", "report", "/root/proxy.rec")
    root.run("dpkg", "--purge", "perfdiag", "perfdiag-tools")
    assert root.files() == before
    assert "perfdiag" not in root.run("dpkg-query", "-W", "-f", "${Package}\n")


def test_without_the_path_of_root(root: Root, recording: Path) -> None:
    root.install()
    root.run("/usr/bin/env", "-i", "/usr/bin/perfdiag", "report", "/root/proxy.rec")


def test_half_an_installation_says_how_to_mend_it(root: Root) -> None:
    root.install()
    (root.path / "usr/lib/perfdiag/perfdiag-recorder").unlink()
    told = root.run("/usr/bin/perfdiag", "latency", "--pid", 1, "--duration", 1, status=1)
    assert "HINT: install perfdiag again" in told
    shutil.rmtree(root.path / "usr/lib/perfdiag/python/msgspec")
    assert "install perfdiag again" in root.run("/usr/bin/perfdiag", "explain", "CPU-BOUND", status=1)


def test_a_kernel_without_types_is_named_with_the_remedy(root: Root) -> None:
    root.install()
    script = "mount -t tmpfs none /sys/kernel/btf && exec perfdiag latency --pid $$ --duration 1"
    error, hint = root.run("unshare", "--mount", "sh", "-c", script, status=1).splitlines()
    assert error.startswith("error: ") and "/sys/kernel/btf/vmlinux" in error
    assert hint.startswith("HINT: ") and "bpftrace" in hint


@pytest.mark.timeout(300)
def test_rpm_installs_upgrades_and_removes(root: Root, recording: Path, next_version: Path) -> None:
    """With rpm of this host, in a root of Debian: no distribution with RPM is to be had here."""
    before = root.files()
    rpm = ["rpm", "--root", str(root.path), "--nodeps", "--force-debian"]
    for words in (["--install", *DIST.glob("*.rpm")], ["--upgrade", *next_version.glob("*.rpm")]):
        assert len(words) == 3
        subprocess.run([*rpm, *words], check=True, capture_output=True)
        assert "TRUST " in root.run("/usr/bin/perfdiag", "report", "/root/proxy.rec")
        assert list(root.path.glob("usr/lib/perfdiag/python/perfdiag/__pycache__/*.pyc"))
    subprocess.run([*rpm, "--erase", "perfdiag", "perfdiag-tools"], check=True, capture_output=True)
    left = root.files() - before
    assert [name for name in left if "perfdiag" in name or not (root.path / name).is_dir()] == []
    assert left <= OF_RPM_SYSTEMS
