"""The .deb on stock kernels: installed in a guest, where nothing of this checkout is, it diagnoses a process."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from lab.support.guest import ROOT, Guest


@pytest.mark.timeout(900)
def test_latency_runs_from_the_package_alone(guest: Guest, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("package")  # of this host
    words = ["make", "-C", ROOT, "deb", f"DIST={folder}/dist", f"TREES={folder}/trees"]
    subprocess.run(words, check=True, capture_output=True, env={"PATH": os.environ["PATH"]})
    [package] = (folder / "dist").glob("perfdiag_*.deb")
    shutil.copy(package, guest.folder / "perfdiag.deb")
    try:
        guest.run("dpkg --force-depends --install /lab/perfdiag.deb")
        report = guest.run(
            "cd /; sh -c 'while :; do :; done' & spinner=$!\n"
            "trap 'kill $spinner' EXIT\n"
            "/usr/bin/perfdiag latency --pid $spinner --duration 3 --full"
        )
        assert "cpu.user" in report and "TRUST " in report
    finally:
        guest.run("dpkg --purge perfdiag; [ ! -e /usr/lib/perfdiag ]")
