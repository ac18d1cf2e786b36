"""Recordings that contradict themselves: their books may close, and nothing that is found in them is sure."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis import engine
from perfdiag.model import builder
from perfdiag.model.model import Model
from perfdiag.recording import reader
from perfdiag.recording.laws.contradictions import ROWS_LOST
from perfdiag.recording.laws.exchange_laws import EVENTS
from perfdiag.report import assembly

from conftest import ROOT
from unit.support import Builder
from unit.support.shown import plain

Lines = list[dict[str, Any]]


def recorded(name: str) -> Lines:
    """Return the lines of a recording that was made by a fault, and whose diagnosis is right."""
    (path,) = (ROOT / "tests/data").glob(f"*/{name}.jsonl.gz")
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def read(lines: Lines) -> Model:
    return builder.build(reader.read(io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines))))


def scaled(type: str, factor: float, *fields: str) -> Callable[[Lines], Lines]:
    """Return what multiplies fields of all lines of a type."""

    def change(lines: Lines) -> Lines:
        return [
            {**line, **{name: int(line[name] * factor) for name in fields}} if line["type"] == type else line
            for line in lines
        ]

    return change


def changed(type: str, **values: Any) -> Callable[[Lines], Lines]:
    return lambda lines: [{**line, **values} if line["type"] == type else line for line in lines]


PARKED = {"type": "request_parked", "pid": 1, "object": "futex:1:2", "over_slo": False, "count": 1, "sum_ns": 10**14}
CANNOT_TELL = "Cannot tell: the recording contradicts itself:"
FLUSH, NFS, GUEST, PROXY = "slow-flush.flush-50ms", "nfs-commit.flush-50ms", "emulated-device.ide", "proxy"
# One of ten at once of four threads on two CPUs, without its facts.  The recorder of the time read waits that had no
# room in a thread's record after that record, and was kept from a CPU in between.
LATE = "rows-read-late"


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        (LATE, lambda lines: lines, r"rows of runq.busy are 9.74 s, the account 9.54 s"),
        (FLUSH, scaled("detail", 10, "sum_ns", "max_ns"), r"rows of disk.flush are [0-9.]+ s, the account [0-9.]+ s"),
        (FLUSH, changed("thread", accounts=[]), r"rows of disk.flush are [0-9.]+ s, the account 0 ns"),
        (FLUSH, changed("thread", wall_ns=0), "are booked to threads that took no time"),
        (FLUSH, lambda lines: [lines[0], lines[-1], *lines[1:-1]], "not in order: line 3 stands behind its end"),
        (FLUSH, changed("footer", at_ns=0), "before its begin"),
        (NFS, scaled("nfs_flush", 1000, "sum_ns"), "flushes of NFS took"),
        (GUEST, scaled("vm_exit", 40, "running_ns"), "exits of virtual CPUs took"),
        (GUEST, changed("vm_exit", halted_ns=2**40), "halts of virtual CPUs took"),
        (PROXY, changed("thread", at_ns="bad"), "rows of wait.events are [0-9.]+ s, the account 0 ns"),
        (PROXY, scaled("exchange", 1000, "over_slo"), "over_slo of requests or calls is 29,000, their count 306"),
        (PROXY, changed("exchange", whole=10**6), "whole of requests or calls is 1,000,000, their count 306"),
        (PROXY, scaled("exchange", 1000, "over_slo_ns"), "over_slo_ns of requests or calls is"),
        (PROXY, scaled("exchange", 1000, "over_slo_whole_ns"), "over_slo_whole_ns of requests or calls is"),
        (PROXY, changed("exchange", held_ns=10**15), "held_ns of requests or calls is"),
        (PROXY, changed("exchange", accounts=[["disk.flush", 10**14]]), "the sum of accounts of"),
        (PROXY, changed("exchange", sum_ns=2**62), "longer than since boot"),
        (PROXY, changed("exchange", turns=10**6), "turns of requests or calls is 1,000,000, their count 306"),
        *((PROXY, changed("exchange", **{name: 2**62}), f"{name} of requests or calls is") for name in EVENTS),
        *((PROXY, changed("exchange", **{name: 2**62}), f"{name} of req") for name in ("bytes_in", "bytes_out")),
        (PROXY, changed("exchange", open=1, oldest_ns=2**62), "the oldest of 1 open"),
        (PROXY, changed("exchange", open=0, oldest_ns=10**9), "the oldest of 0 open"),
        (PROXY, changed("exchange", unanswered_longest_ns=10**9), "the longest of 0 unanswered requests"),
        (PROXY, changed("exchange", unanswered=1, unanswered_longest_ns=2**62), "the longest of 1 unanswered requests"),
        (PROXY, changed("exchange", busy_ns=2**62), "busy_ns of calls is"),
        (PROXY, changed("exchange", peers_ns=2**62), "requests waited [0-9.,a-z ]+ for [0-9,]+ calls"),
        (PROXY, changed("exchange", over_slo_peers_ns=2**62), "over_slo_peers_ns of requests or calls is"),
        (
            PROXY,
            changed("latency", count=10**6),
            "buckets of a line 'latency' hold 306, its count is 1,000,000",
        ),
        (
            PROXY,
            changed("latency", count=900, buckets=[[9, 900]]),
            r"306 requests or calls have 900 in their distribution",
        ),
        (PROXY, changed("latency", sum_ns=2**62), "sum_ns of requests or calls is .*, in their distribution"),
        (PROXY, changed("latency", object="port:9"), "is of requests or calls that do not stand there"),
        (PROXY, lambda lines: [*lines[:-1], PARKED, lines[-1]], "requests were parked"),
        (PROXY, lambda lines: [*lines[:-1], *(x for x in lines if x["type"] == "exchange"), lines[-1]], "2 times"),
        (PROXY, lambda lines: [*lines[:-1], *(x for x in lines if x["type"] == "latency"), lines[-1]], "2 times"),
    ],
)
def test_a_contradiction_is_said_and_makes_nothing_sure(name: str, change: Callable[[Lines], Lines], said: str) -> None:
    model = read(change(recorded(name)))
    assert any(re.search(said, text) for text in model.coverage.contradictions), model.coverage.contradictions
    diagnosis = engine.diagnose(model)
    assert all(finding.confidence.value == "low" for finding in diagnosis.findings)
    made = assembly.make(model, diagnosis, Config())
    assert made.verdict.kind not in ("elsewhere", "profile")
    assert made.verdict.text.startswith(("The recording contradicts itself: see TRUST. ", CANNOT_TELL))
    assert made.coverage.contradictions == list(model.coverage.contradictions)
    shown = " ".join(plain(made, full=True).split())
    assert re.search(said, shown.partition(" TRUST ")[2])


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_doubt_is_left_out_for_no_other_sentence(width: int) -> None:
    model = read(scaled("detail", 10, "sum_ns", "max_ns")(recorded("slow-flush.flush-500ms")))
    made = assembly.make(model, engine.diagnose(model), Config())
    words = made.verdict.text + " Another sentence, which is not quite short." * 12
    made = msgspec.structs.replace(made, verdict=msgspec.structs.replace(made.verdict, text=words))
    shown = " ".join(plain(made, width=width).partition("\nPROBLEM ")[2].split())
    assert shown.startswith("The recording contradicts itself: see TRUST. Probably: ")


def without(type: str) -> Callable[[Lines], Lines]:
    return lambda lines: [line for line in lines if line["type"] != type]


def booked_as_events(lines: Lines) -> Lines:
    """Return what a forger makes of slow reads: waiting for events, which is idle."""
    books = [line for line in lines if line["type"] == "thread"]
    for line in books:
        line["accounts"] = [["wait.events" if x[0].startswith("disk.") else x[0], *x[1:]] for x in line["accounts"]]
    return lines


def later(lines: Lines) -> Lines:
    return [*lines[:-1], {**lines[-1], "at_ns": lines[-1]["at_ns"] + 100 * 10**9}]


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("slow-flush.flush-500ms", without("detail"), "disk.flush is 5.86 s, its rows 0 ns"),
        ("slow-reads.read-3ms", booked_as_events, "rows of disk.read are 457 ms, the account 0 ns"),
        ("slow-child.child-400ms", later, "its end is 99.9 s later than what was read after it"),
        ("slow-child.child-400ms", lambda x: later(without("fact")(x)), "its end is 100 s later than its last rows"),
    ],
)
def test_nobody_is_acquitted_by_a_recording_that_contradicts_itself(
    name: str, change: Callable[[Lines], Lines], said: str
) -> None:
    model = read(change(recorded(name)))
    made = assembly.make(model, engine.diagnose(model), Config())
    assert made.verdict.kind == "cannot tell" and made.verdict.text == f"{CANNOT_TELL} {said}. Record again."


@pytest.mark.parametrize("counter", sorted(ROWS_LOST))
def test_rows_that_were_lost_contradict_nothing_and_acquit_nobody(counter: str) -> None:
    lines = without("detail")(recorded("slow-flush.flush-500ms"))
    lines[-1]["lost"][counter] = 1
    model = read(lines)
    made = assembly.make(model, engine.diagnose(model), Config())
    assert not model.coverage.contradictions and made.verdict.kind == "cannot tell"
    said = "the recording does not show what it waited 5.86 s for (disk.flush)"
    assert made.verdict.text.startswith(f"Cannot tell: {said}")


def test_an_engine_without_rows_contradicts_nothing() -> None:
    lines = without("detail")(recorded("slow-flush.flush-500ms"))
    lines[0]["engine"] = "bpftrace"
    model = read(lines)
    assert not model.coverage.contradictions
    assert assembly.make(model, engine.diagnose(model), Config()).verdict.kind == "cannot tell"


@pytest.mark.parametrize("counter", ["storage_failed", "ring_buffer", "exited_folded_full", "programs_skipped"])
def test_more_that_was_lost_than_is_there_acquits_nobody(counter: str) -> None:
    lines = recorded("slow-flush.twin")
    lines[-1]["lost"][counter] = 10**6
    model = read(lines)
    made = assembly.make(model, engine.diagnose(model), Config())
    assert made.verdict.kind == "cannot tell"
    said = "as much was lost as was recorded: 1,000,000 records lost, 790 there"
    assert made.verdict.text.startswith(f"Cannot tell: {said}")


SOUND = sorted(each for each in (ROOT / "tests/data").glob("*/*.jsonl.gz") if not each.name.startswith(LATE))


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.name)
def test_what_a_recorder_wrote_does_not_contradict_itself(path: Path) -> None:
    assert not read(recorded(path.name.removesuffix(".jsonl.gz"))).coverage.contradictions


def test_switches_that_were_not_announced_took_no_time_of_the_books_that_contradict_themselves() -> None:
    coverage = read(recorded(LATE)).coverage
    assert coverage.lost["switches_missing"] == 3 and coverage.worst_thread_error == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines,
        scaled("detail", 1.01, "sum_ns"),  # read a moment later
        scaled("nfs_flush", 1.02, "sum_ns"),
        lambda lines: [*lines, {**lines[0], "host": "another"}],  # a second recording: told as such
        lambda lines: [
            line | {"turns": line["count"] + 1} if "turns" in line else line for line in lines
        ],  # counted since
    ],
)
def test_a_sound_recording_has_none(change: Callable[[Lines], Lines]) -> None:
    for name in (FLUSH, NFS, GUEST, PROXY):
        assert not read(change(recorded(name))).coverage.contradictions


def test_rows_of_a_recording_without_an_end_are_newer_than_its_accounts() -> None:
    lines = recorded(FLUSH)[:-1]
    for line in lines:
        if line["type"] == "thread":
            line["accounts"] = [[name, ns // 10, count, longest // 10] for name, ns, count, longest in line["accounts"]]
    assert not read(lines).coverage.contradictions


def test_books_without_any_time_do_not_close() -> None:
    assert read(changed("thread", wall_ns=0)(recorded(FLUSH))).coverage.closed_error == 1.0


def test_books_that_do_not_close_make_nothing_sure() -> None:
    """They were said to close, to 100 %, and causes stayed nearly as sure as they were."""

    def shorter(lines: Lines, part: float) -> Lines:
        """Return threads that began later."""
        for line in lines:
            if line["type"] == "thread":
                line["wall_ns"] = int(part * line["wall_ns"])
                line["start_ns"] = line["at_ns"] - line["wall_ns"]
        return lines

    model = read(shorter(recorded(FLUSH), 0.5))
    diagnosis = engine.diagnose(model)
    assert diagnosis.findings and all(finding.confidence.value == "low" for finding in diagnosis.findings)
    made = assembly.make(model, diagnosis, Config())
    assert made.verdict.text.startswith("The recording does not add up: see TRUST. Probably: ")
    assert "accounted time differs from the threads' time by" in str(diagnosis.findings[0].limits[0])
    closes = read(shorter(recorded(FLUSH), 0.995))
    assert any(finding.confidence.value == "high" for finding in engine.diagnose(closes).findings)


@pytest.mark.parametrize("last", ["untaken", "held"])
@pytest.mark.parametrize(("arriving", "told"), [(0.3, False), (0.4, True)])
def test_parts_of_requests_that_follow_each_other_are_no_more_than_the_whole(
    last: str, arriving: float, told: bool
) -> None:
    parts = {"sum": 1, "read_delay": 0.3, "arriving": arriving, "untaken": 0, "held": 0, last: 0.4}
    ns = {f"{name}_ns": int(10**12 * part) for name, part in parts.items()}
    ns |= {f"over_slo_{name}".replace("slo_sum", "slo"): part for name, part in ns.items()}
    lines = [
        line | ns if line["type"] == "exchange" and line["direction"] == "accepted" else line
        for line in recorded(PROXY)
    ]
    said = " ".join(read(lines).coverage.contradictions)
    assert (f"the sum of read_delay_ns, arriving_ns, {last}_ns of requests or calls is" in said) is told
    assert (f"the sum of over_slo_read_delay_ns, over_slo_arriving_ns, over_slo_{last}_ns of" in said) is told


def test_an_account_that_stands_twice_counts_twice() -> None:
    lines = [
        {**line, "accounts": line["accounts"] * 2} if line["type"] == "thread" else line for line in recorded(FLUSH)
    ]
    assert read(lines).coverage.closed_error == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("name", [FLUSH, NFS, GUEST, "cpu-quota.quota-20-percent", "huge-directory.60000-files"])
def test_every_rule_answers_where_the_window_has_no_length(name: str) -> None:
    lines = recorded(name)
    model = read(changed("footer", at_ns=lines[0]["start_ns"])(lines))
    assert model.window_ns == 0
    diagnosis = engine.diagnose(model)
    assert not [silence for silence in diagnosis.silences if "the rule itself failed" in silence.reason]
    assembly.make(model, diagnosis, Config())


def test_a_line_that_is_missing_is_noticed() -> None:
    """Since its end says how many there were; which one is gone nobody knows."""
    lines = changed("footer", lines=len(recorded(FLUSH)) - 1)(recorded(FLUSH))
    assert not read(lines).coverage.contradictions
    without = [line for line in lines if line["type"] != "device"]
    (said,) = read(without).coverage.contradictions
    assert f"{len(lines) - 1:,} lines came before its end, {len(without) - 1:,} are there" == said
    assert not read(changed("footer", lines=None)(without)).coverage.contradictions


def test_nobody_is_acquitted_by_what_a_damaged_line_may_have_said() -> None:
    lines = [json.dumps(line) for line in recorded("network-loss.loss-10-percent")]
    damaged = [line.replace('"object": "peer', '"object":peer') if '"socket"' in line else line for line in lines]
    model = builder.build(reader.read(io.BytesIO("".join(f"{line}\n" for line in damaged).encode())))
    made = assembly.make(model, engine.diagnose(model), Config())
    assert made.verdict.text.startswith("Cannot tell: the recording is damaged: 1 line cannot be read."), made.verdict


def test_nobody_is_acquitted_for_want_of_a_number() -> None:
    """Eight threads on two CPUs: of whoever does not say how many there were, nothing is known."""
    header, *rest = recorded("own-threads.eight")
    del header["host"]["cpus_online"]
    model = read([header, *rest])
    made = assembly.make(model, engine.diagnose(model), Config())
    assert made.verdict.text.startswith("Cannot tell: the number of CPUs was not recorded:"), made.verdict


@pytest.mark.parametrize(("name", "shift_s"), [("slow-child.child-400ms", -100), ("slow-disk.flush-500ms", 10)])
def test_a_begin_that_is_another_is_noticed(name: str, shift_s: int) -> None:
    header, *rest = recorded(name)
    header["start_ns"] += shift_s * 10**9
    model = read([header, *rest])
    assert any("begin" in said for said in model.coverage.contradictions), model.coverage.contradictions
    made = assembly.make(model, engine.diagnose(model), Config())
    assert "contradicts itself" in made.verdict.text, made.verdict


@pytest.mark.parametrize("type", ["thread", "interval"])
def test_time_that_goes_back_is_noticed(type: str) -> None:
    """The last line of a thread, and the last interval, count: an older one there would hide what came after it."""
    lines = Builder().thread("app", disk_read="4 s").bytes().splitlines()
    made = [json.loads(line) for line in lines]
    place = next(number for number, line in enumerate(made) if line["type"] == type)
    older = made[place] | {"at_ns": made[place]["at_ns"] - 10**9}
    assert not read([*made[:place], older, *made[place:]]).coverage.contradictions
    back = read([*made[: place + 1], older, *made[place + 1 :]]).coverage.contradictions
    assert f"it is not in order: line {place + 2} is older than the one it replaces" in back
    cut = read([*made[: place + 1], older]).coverage.contradictions
    assert f"it is not in order: line {place + 2} is older than the one it replaces" in cut


@pytest.mark.parametrize(
    ("name", "account"),
    [("nfs-commit.flush-500ms", "nfs.commit"), ("cpu-quota.quota-20-percent", "runq.throttled")],
)
def test_accounts_that_are_not_known_here_acquit_nobody(name: str, account: str) -> None:
    """As a newer recorder may have: no rule of this version judges their time."""
    (path,) = (ROOT / "tests/data").glob(f"*/{name}.jsonl.gz")
    text = gzip.decompress(path.read_bytes()).replace(f'"{account}"'.encode(), f'"{account}_v2"'.encode())
    model = builder.build(reader.read(io.BytesIO(text)))
    told = assembly.make(model, engine.diagnose(model), Config()).verdict
    assert told.kind == "cannot tell" and "in states that this version does not know" in told.text, told


def test_a_cause_of_a_damaged_recording_is_said_behind_that() -> None:
    lines = gzip.decompress((ROOT / f"tests/data/incidents/{FLUSH}.jsonl.gz").read_bytes()).splitlines(keepends=True)
    model = builder.build(reader.read(io.BytesIO(b"".join([*lines[:9], b"{\n", *lines[9:]]))))
    told = assembly.make(model, engine.diagnose(model), Config()).verdict
    assert told.text.startswith("The recording is damaged: see TRUST. ") and "DISK-FLUSH-SLOW" in told.ids, told
