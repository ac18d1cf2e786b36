"""What many unit tests are given; and property tests have no deadline: a busy host must not fail them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir
from perfdiag.capture import target
from perfdiag.common.errors import PerfdiagError

from conftest import ROOT
from unit.support.c_programs import SOURCES, build, compile_c
from unit.support.house import House

set_hypothesis_home_dir(ROOT / "build/hypothesis")

settings.register_profile("perfdiag", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("perfdiag")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> House:
    root = tmp_path_factory.mktemp("house")
    root.chmod(0o755)
    return House.build(root)


@pytest.fixture(scope="session")
def _pids_of_the_host() -> None:
    try:
        target.check_namespaces()
    except PerfdiagError as error:
        pytest.skip(str(error))


@pytest.fixture
def house(_pids_of_the_host: None, built: House, tmp_path: Path) -> House:
    built.root.joinpath("log").unlink(missing_ok=True)
    return House(built.root)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def resolver() -> Path:
    """The program that names functions of other processes."""
    return build("resolve", "plain")


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A program whose functions are to be named."""
    program = tmp_path / "victim"
    compile_c(["-O2", "-Wall", "-Werror", "-rdynamic", "-o", str(program), str(SOURCES / "victim.c")])
    return program
