"""Programs that are called like a server of SQL: probes are set in that server alone, at the beginning of functions."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest
from perfdiag.recording import schema

from live.support.changed_code import changed_code
from live.support.fixtures import Attach, Cleanup
from live.support.workload import ROOT
from unit.support.c_programs import compile_c

OTHER, NO_PLACE = "it is another one", "no probe can be set where statements begin"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its instructions are those of x86-64")
@pytest.mark.parametrize(
    ("marks", "place", "probes", "lack"),
    [
        (["-DMARKS"], "FUNCTION", 1, None),
        ([], "FUNCTION", 0, OTHER),
        (["-DMARKS", "-DEMPTY_MARK"], "FUNCTION", 0, OTHER),
        (["-DMARKS"], "MIDDLE", 0, NO_PLACE),
        (["-DMARKS"], "DATA", 0, NO_PLACE),
    ],
)
def test_only_functions_of_the_server_itself_get_a_probe(
    marks: list[str], place: str, probes: int, lack: str | None, tmp_path: Path, attach: Attach, cleanup: Cleanup
) -> None:
    program = tmp_path / "mariadbd"
    source = str(ROOT / "tests/workloads/pretender.c")
    compile_c(["-O1", "-rdynamic", f"-DPLACE={place}", *marks, "-o", str(program), source])
    process = cleanup.enter_context(subprocess.Popen([program]))
    cleanup.callback(process.kill)
    recorder = attach(process.pid)
    assert len(changed_code(process.pid, program)) == probes
    [application] = recorder.stop().of(schema.Application)
    assert application.version == "10.11.6"
    assert lack in application.statements_lack if lack and application.statements_lack else not lack
