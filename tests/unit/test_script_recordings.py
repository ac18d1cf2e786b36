"""Recordings that scripts print: what is read of them, what is not known, and that nothing unknown is fine."""

from __future__ import annotations

import io
import json
import time

import pytest
from perfdiag.common.errors import RecordingError
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rules import RULES
from perfdiag.model.builder import build
from perfdiag.recording import reader
from perfdiag.recording.accounts import ACCOUNTS
from perfdiag.recording.script_recordings import ScriptLines

KNOWN = ["cpu.user", "cpu.kernel", "runq.busy", "disk.read", "kernel.other", "unexplained"]
HEADER = {
    "type": "header",
    "schema": 1,
    "perfdiag": "ledger.bt",
    "engine": "bpftrace",
    "realtime_ns": 1_700_000_000_000_000_000,
    "start_ns": 1_000,
    "options": {"duration_ns": 0, "interval_ns": 0, "descendants": False, "stacks": "none"},
    "targets": [{"pid": 7, "namespace_pid": 7}],
    "accounts": KNOWN,
}
FOOTER = {
    "type": "footer",
    "at_ns": 2_000_001_000,
    "reason": "signal",
    "threads_seen": 1,
    "lost": {"storage_failed": 0},
    "cost": {"programs": []},
}
SECOND = 1_000_000_000


def thread(sums: str, comm: str) -> str:
    return (
        '{"type":"thread","at_ns":2000001000,"serial":1,"pid":7,"tid":7,"namespace_tid":7,"state":"alive",'
        f'"start_ns":1000,"wall_ns":2000000000,"user_ns":0,"kernel_ns":0,"accounts":[{sums}],"comm":"{comm}"}}\n'
    )


def recorded(*lines: str, greeting: str = "") -> reader.Recording:
    text = greeting + json.dumps(HEADER) + "\n" + "".join(lines) + json.dumps(FOOTER) + "\n"
    return reader.read(io.BytesIO(text.encode("utf-8", "surrogateescape")))


@pytest.mark.parametrize("greeting", ["", "Attaching 42 probes...\n", "Attached 1 probe\n"])
def test_the_least_recording(greeting: str) -> None:
    recording = recorded(thread("[0,1000000000,3,9],[3,1000000000,2,700000000]", "job"), greeting=greeting)
    assert not recording.problems
    model = build(recording)
    assert {name: total.ns for name, total in model.accounts.items()} == {"cpu.user": SECOND, "disk.read": SECOND}
    assert model.coverage.closed_error == 0 and recording.header.targets[0].comm == "job"
    assert model.header.host.cpus_online is None


def test_waits_are_for_nothing_in_particular() -> None:
    """A script names no object: rules see one row of each account, CPU time has none."""
    recording = recorded(thread("[0,1000000000,3,9],[2,1000000000,4,700000000]", "job"))
    (row,) = recording.details.values()
    assert (row.account, row.object, row.sum_ns, row.count, row.max_ns) == ("runq.busy", "", SECOND, 4, 700_000_000)
    assert "CPU-CONTENTION" in {finding.id for finding in diagnose(build(recording)).findings}


@pytest.mark.parametrize("behind", ["", "\n", "\n\n\n"], ids=["", "blank", "blanks"])
@pytest.mark.parametrize(
    "comm", ["fl\nush", "a\n", "\n\n", 'x"}\ny', '"}\n{"type":"', 'x"}\n{"a":1}', '"}\n\n"}\n\n"}\n', '"}', "job"]
)
def test_a_name_may_have_line_breaks(comm: str, behind: str) -> None:
    """What ends a line may be a part of the name, too."""
    recording = recorded(thread("[0,2000000000,1,0]", comm) + behind)
    (line,) = recording.threads.values()
    assert line.comm == comm and not recording.problems


def test_a_thread_that_is_missing_is_missed() -> None:
    whole = recorded(thread("[0,2000000000,1,0]", "job"))
    assert not build(whole).coverage.contradictions
    (told,) = build(recorded()).coverage.contradictions
    assert told == "it has seen 1 thread, 0 are there"


@pytest.mark.parametrize("comm", ['a"b', "a\\", 'x","pid":1,"y":"', "\x1b[31m", '"}', "é", "tab\t"])
def test_a_name_is_what_stands_there(comm: str) -> None:
    recording = recorded(thread("[0,2000000000,1,0]", comm))
    (row,) = recording.threads.values()
    assert (row.comm, row.pid) == (comm, 7) and not recording.problems


def test_a_name_that_is_no_text() -> None:
    (row,) = recorded(thread("[0,2000000000,1,0]", "a\udcffb")).threads.values()
    assert row.comm == "a�b"


def test_a_script_records_one_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a script can write is far less than what the recorder can, and what a report may take goes by that."""
    other = thread("[0,2000000000,1,0]", "job").replace('"pid":7', '"pid":8')
    with pytest.raises(RecordingError, match=r"line 3: pid of a line 'thread' .*one process") as told:
        recorded(thread("[0,2000000000,1,0]", "job"), other)
    assert told.value.hint
    for targets in ([], [{"pid": 7, "namespace_pid": 7}, {"pid": 8, "namespace_pid": 8}]):
        monkeypatch.setitem(HEADER, "targets", targets)
        with pytest.raises(RecordingError, match=r"targets has [02]"):
            recorded()


def test_a_script_has_room_for_so_many_threads_and_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SCRIPT_THREADS", 2)
    lines = [thread("[0,2000000000,1,0]", "job").replace('"serial":1', f'"serial":{serial}') for serial in (1, 2, 3)]
    assert len(recorded(*lines[:2]).threads) == 2
    with pytest.raises(RecordingError, match="more than 2 lines of the type 'thread'"):
        recorded(*lines)
    monkeypatch.setitem(HEADER, "accounts", [account.name for account in ACCOUNTS])
    with pytest.raises(RecordingError, match=r"header .*accounts"):
        recorded()


def test_an_account_that_is_not_listed_is_a_bad_line() -> None:
    recording = recorded(thread("[6,2000000000,1,0]", "job"))
    assert not recording.threads and recording.bad_lines == 1


def test_a_line_takes_no_longer_than_its_length() -> None:
    """Each of its times was looked behind to the end of the line: 640 kB took four minutes."""
    line = b'"at_ns":1,' * 300_000 + b"\n"
    begin = time.process_time()
    assert ScriptLines(KNOWN[:1]).proper(line) == line
    assert time.process_time() - begin < 2


@pytest.mark.parametrize("line", [b"", b"\n", b"[1,", b',"comm":"', b'{"type":"thread","comm":"a"'])
def test_lines_that_are_cut_off_stay_as_they_are(line: bytes) -> None:
    assert ScriptLines(KNOWN[:1]).proper(line) == line


def test_recordings_of_the_recorder_are_left_alone() -> None:
    header = HEADER | {"accounts": []}
    text = json.dumps(header) + "\n" + thread("[0,2000000000,1,0]", "job") + json.dumps(FOOTER) + "\n"
    assert reader.read(io.BytesIO(text.encode())).bad_lines == 1


def test_what_it_cannot_tell_is_not_measured_and_never_fine() -> None:
    model = build(recorded(thread("[0,1000000000,3,9],[3,1000000000,2,700000000]", "job")))
    diagnosis = diagnose(model)
    unseen = {account.name for account in ACCOUNTS} - set(KNOWN)
    for check in diagnosis.checks:
        assert not unseen & {name for name in RULES[check.id].accounts}, check
    silent = {silence.id for silence in diagnosis.silences}
    assert {"NET-PEER-SLOW", "LOCK-CONTENTION", "CPU-QUOTA-THROTTLED"} <= silent
    assert any("nfs.commit" in item.what and "runq.busy" not in item.what for item in model.not_measured)
    assert not any("the rule itself failed" in silence.reason for silence in diagnosis.silences)


def stated(number: int, at_ns: int = 1_500_001_000) -> str:
    """Return the line of a thread that reads for a second, and runs in the kernel until `at_ns`."""
    line = thread("[1,500000000,3,0],[3,1000000000,2,700000000]", "job").replace('"wall_ns":2000', '"wall_ns":1500')
    return line.replace('"state":"alive"', f'"state":{number}').replace("2000001000", str(at_ns))


def test_a_thread_is_in_its_account_until_the_end() -> None:
    """D has no loops: what a script for DTrace prints of a thread is as old as what the thread did last."""
    recording = recorded(stated(3))
    (row,) = recording.threads.values()
    assert (row.state, row.at_ns, row.wall_ns) == ("alive", 2_000_001_000, 2 * SECOND) and not recording.problems
    assert {each.account: (each.sum_ns, each.count, each.max_ns) for each in row.accounts} == {
        "cpu.kernel": (SECOND // 2, 3, 0),
        "disk.read": (3 * SECOND // 2, 3, 700_000_000),
    }
    assert row.open and (row.open.account, row.open.since_ns) == ("disk.read", 1_500_001_000)
    assert build(recording).coverage.closed_error == 0
    (detail,) = (row for row in recording.details.values() if row.account == "disk.read")
    assert detail.sum_ns == 3 * SECOND // 2


@pytest.mark.parametrize(("place", "name"), [(0, "cpu.user"), (1, "cpu.kernel")])
def test_a_thread_runs_until_the_end(place: int, name: str) -> None:
    (row,) = recorded(stated(place)).threads.values()
    assert sum(each.sum_ns for each in row.accounts) == row.wall_ns == 2 * SECOND
    assert row.open is None and row.state == "alive"
    assert (row.user_ns, row.kernel_ns) == ((SECOND // 2, 0) if name == "cpu.user" else (0, SECOND // 2))


def test_a_thread_has_ended_or_did_something_after_the_end() -> None:
    """Its line is not made longer then."""
    (row,) = recorded(stated(-1)).threads.values()
    assert (row.state, row.open, row.wall_ns) == ("exited", None, 3 * SECOND // 2)
    (row,) = recorded(stated(3, 2_000_003_000)).threads.values()
    assert (row.state, row.at_ns, row.wall_ns) == ("alive", 2_000_003_000, 3 * SECOND // 2)


@pytest.mark.parametrize("number", [6, 99, -2])
def test_a_state_that_is_none(number: int) -> None:
    assert recorded(stated(number)).bad_lines == 1


def test_a_text_that_the_recorder_wrote_stays_as_it_is() -> None:
    """The kernel logs "segfault ... in app[0,1000]", which looks like the place of an account."""
    line = b'{"type":"fact","at_ns":1,"phase":"begin","path":"/dev/kmsg","text":"6,1,2,-;app[0,1000]"}\n'
    assert ScriptLines(["cpu.user"]).proper(line) == line
