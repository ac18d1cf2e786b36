"""What sessions of PostgreSQL say they wait for: the objects of a recording, and their names."""

from __future__ import annotations

import pytest
from perfdiag.model.waits.postgres_wait_names import BY_VERSION, STABLE, name_of
from perfdiag.model.waits.postgres_waits import major_of, parse
from perfdiag.recording.schema import Application
from perfdiag.report import header

from unit.support import Builder


def application(version: str, *, reads: str = "my_wait_event_info", kind: str = "postgresql") -> Application:
    return Application(pid=100, kind=kind, version=version, processes=3, reads=reads)


@pytest.mark.parametrize(
    ("key", "major", "text"),
    [
        ("postgres:3:5", None, "Lock: transactionid"),
        ("postgres:3:4", 17, "Lock: tuple"),
        ("postgres:1:8", None, "LWLock: WALWrite"),
        ("postgres:1:56", 15, "LWLock: BufferContent"),
        ("postgres:1:56", 16, "LWLock 56"),
        ("postgres:6:0", None, "Client: ClientRead"),
        ("postgres:6:0:transaction", None, "Client: ClientRead, in a transaction"),
        ("postgres:10:70", 15, "IO: WALSync"),
        ("postgres:10:70", None, "IO 70"),
        ("postgres:1:0", None, "LWLock 0"),
        ("postgres:99:1", None, "wait class 99 1"),
    ],
)
def test_names(key: str, major: int | None, text: str) -> None:
    wait = parse(key, major)
    assert wait and wait.text == text


@pytest.mark.parametrize(
    "key", ["", "futex:0x1", "postgres:", "postgres:3", "postgres:3:x", "postgres:-3:5", "postgres:3:" + "9" * 40]
)
def test_damaged_objects_say_nothing(key: str) -> None:
    assert parse(key) is None


@pytest.mark.parametrize(
    ("versions", "major"),
    [
        (["15.18"], 15),
        (["17beta1"], None),
        (["15.18", "15.2"], 15),
        (["15.18", "16.1"], None),
        ([""], None),
        ([], None),
    ],
)
def test_the_version_decides_only_where_it_is_one(versions: list[str], major: int | None) -> None:
    assert major_of([application(version) for version in versions]) == major


def test_a_server_whose_waits_are_not_read_decides_nothing() -> None:
    assert major_of([application("16.1", reads=""), application("15.1")]) == 15
    assert major_of([application("8.0", kind="mysql")]) is None


def test_what_never_changed_is_the_same_in_the_versions_that_are_listed() -> None:
    for major, classes in BY_VERSION.items():
        for class_, names in classes.items():
            for event, name in enumerate(STABLE.get(class_, "").split()):
                assert name == "-" or name_of(class_, event, major) == name, (major, class_, event, names[:20])


def test_rows_are_called_what_the_server_calls_them() -> None:
    builder = Builder(comm="postgres").thread("postgres")
    builder.row("lock.database", "postgres:1:56", "1 s").line(application("15.18"))
    assert [row.object for row in builder.model().rows_of("lock.database")] == ["LWLock: BufferContent"]


def missing(builder: Builder) -> list[str]:
    return [each.reason for each in builder.model().not_measured if "sessions of PostgreSQL" in each.what]


def test_a_server_that_does_not_tell_is_not_measured() -> None:
    lack = "its program exports no my_wait_event_info"
    old = Application(pid=100, kind="postgresql", version="13.4", processes=3, reads="", lack=lack)
    builder = Builder(comm="postgres").thread("postgres").line(old)
    [said] = [each for each in builder.model().not_measured if "PostgreSQL 13.4" in each.what]
    assert said.reason == lack and "pg_stat_activity" in said.fix


def test_a_server_that_was_not_recognised_is_not_measured() -> None:
    assert missing(Builder(comm="postgres").thread("postgres")) == ["the recorder did not recognise it"]
    assert missing(Builder(comm="postgres").thread("postgres").line(application("15.18"))) == []
    assert missing(Builder(comm="postgresx").thread("postgresx")) == []


def test_a_report_says_what_was_recognised_and_how_it_was_read() -> None:
    builder = Builder(comm="postgres").thread("postgres").line(application("15.18\x1b[31m"))
    [shown] = header.applications(builder.model())
    assert (shown.kind, shown.means, shown.processes) == ("postgresql", "my_wait_event_info", 3)
    assert "\x1b" not in shown.version
