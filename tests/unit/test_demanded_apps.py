"""--app NAME: the report is made all the same, and the command fails where that application was not read."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.command_line import run
from unit.support.jvm import counters, java

READ = schema.Application(pid=100, kind="postgresql", version="15.18", processes=6, reads="my_wait_event_info")
UNREAD = schema.Application(pid=100, kind="postgresql", version="9.6", processes=6, reads="", lack="it is too old")
SILENT = schema.Application(pid=100, kind="postgresql", version="9.6", processes=6, reads="")


def server(application: schema.Application) -> Builder:
    return Builder(comm="postgres").thread("postgres", cpu_user="1 s").line(application)


@pytest.mark.parametrize(
    ("builder", "names", "said"),
    [
        (server(READ), ["postgresql"], ""),
        (server(READ), ["mysql"], "--app mysql: none was recognised among the targets"),
        (server(READ), ["postgresql", "java"], "--app java: none was recognised among the targets"),
        (server(UNREAD), ["postgresql"], "--app postgresql: recognised, but not read: it is too old"),
        (server(SILENT), ["postgresql"], "--app postgresql: recognised, but not read: nothing says why"),
        (java(counters(), counters(young=3)), ["java"], ""),
    ],
)
def test_what_is_demanded_is_read_or_the_command_fails(
    builder: Builder, names: list[str], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.rec"
    path.write_bytes(builder.bytes())
    done = run("report", *(f"--app={name}" for name in names), str(path))
    assert "TRUST" in done.stdout
    assert done.returncode == (1 if said else 0), done.stderr
    assert said in done.stderr.partition("\n")[0] if said else not done.stderr


def test_others_are_no_names() -> None:
    done = run("report", "--app=oracle", "x.rec")
    assert done.returncode == 2 and "mariadb" in done.stderr
