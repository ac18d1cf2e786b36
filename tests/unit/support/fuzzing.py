"""Recordings that nobody should have made: deep, wide, long, repeated, contradictory, with hostile numbers and names.

Lines of sound recordings are taken apart and changed; what a change does is drawn by hypothesis, which makes it smaller
until as little as possible is left of what fails.
"""

from __future__ import annotations

import copy
import gzip
import io
import time
from functools import cache
from itertools import islice
from typing import Any

import msgspec
from hypothesis import strategies as st
from perfdiag.common.config import Config
from perfdiag.common.errors import RecordingError
from perfdiag.diagnosis.engine import diagnose
from perfdiag.model import builder
from perfdiag.recording import reader
from perfdiag.render import json_document, terminal
from perfdiag.report import assembly

from conftest import ROOT
from unit.support import Builder
from unit.support.bound import BYTES_PER_SECOND, FIRST_SECONDS
from unit.support.full import Full

NUMBERS = st.sampled_from(
    [
        0,
        1,
        -1,
        7,
        31,
        32,
        255,
        447,
        448,
        1000,
        2**31,
        2**32,
        2**53 + 1,
        2**62,
        2**63 - 1,
        2**63,
        2**64,
        10**400,
        1.5,
        1e308,
    ]
)
NAMES = st.sampled_from(
    [
        "",
        " ",
        "\x1b[31mred\x07",
        "[bold]x[/]",
        "\u202eevil\u200b",
        "\u5bbd" * 16,
        "a\u0301" * 8,
        "\n\nerror: no",
        "%s%n",
        "../../etc/passwd",
        "wait.parked",
        "cpu.user",
        "lock.futex",
        "nfs.commit",
        "net.request",
        "futex:0x7f00",
        "device:8:0",
        "device:999999999999:0",
        "mount:0:45",
        "peer:10.0.0.1:5432",
        "peer:[::1]:x",
        "task:100:app",
        "own:100:app",
        "unix:::",
        "file:8:1:2:\x00",
        "cgroup:18446744073709551616",
        "idle:99",
        "idle:-1:left",
        "order:99999999999",
        "syscall:ioctl",
        "vmexit:vmx:48",
        "port:70000",
        "begin",
        "end",
        "series",
        "exited",
        "oom_kill",
        "exec",
        "x" * 128,
        "9" * 128,
    ]
) | st.text(max_size=12)
# fmt: off
TEXTS = st.lists(
    st.sampled_from(
        ["0", "-1", "max", "9" * 30, "1.5", ":", ",", "-", "/", "\n", "\t", " ", "kB", "cpu0", "Tcp:", "0::/", "8:0",
         "0-", "1-0", "0-99999999", "some", "total=1", "(", ")", " - ", "nfs4", "cgroup2", "\x00", "\u2028",
         "Out of memory", "Killed process", "3,1,1,-;", "/a" * 50, "Cpus_allowed_list:\t", "Max open files  ", "=",
         "\\040", "\\777"]
    ) | st.text(max_size=5),
    max_size=60,
).map("".join)
# fmt: on
MANY = st.sampled_from([2, 40, 300, 3000])


@cache
def samples() -> list[dict[str, Any]]:
    """Return lines of every kind, the header first and the footer last."""
    sound = Builder(slo="1 ms").thread("app", cpu_user="5 s", disk_read="1 s").bytes().splitlines()
    real = gzip.decompress((ROOT / "tests/data/recordings/proxy.jsonl.gz").read_bytes()).splitlines()
    kinds: dict[str, list[dict[str, Any]]] = {}
    for line in [*map(msgspec.json.decode, [*sound, *real]), *islice(Full(0.1).lines(), 0, None, 211)]:
        kinds.setdefault(line["type"], []).append(line)
    facts = {line["path"]: line for line in kinds["fact"]}
    body = [
        line for kind, lines in sorted(kinds.items()) if kind not in ("header", "footer", "fact") for line in lines[:6]
    ]
    return [kinds["header"][0], *body, *facts.values(), kinds["footer"][0]]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where anything in a value is."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(*path, key) for key, _ in inside] + [place for key, each in inside for place in places(each, (*path, key))]


def changed(draw: st.DrawFn, line: dict[str, Any]) -> dict[str, Any]:
    """Return a line with something in it replaced."""
    line = copy.deepcopy(line)
    place = draw(st.sampled_from(places(line)))
    if place == ("type",):
        return line
    inner: Any = line
    for key in place[:-1]:
        inner = inner[key]
    old = inner[place[-1]]
    how = draw(st.sampled_from([*["value"] * 12, "other", "gone", "many", "deep"]))
    if how == "gone" and isinstance(inner, dict):
        del inner[place[-1]]
    elif how == "many":
        inner[place[-1]] = (old * draw(MANY))[:20_000] if isinstance(old, (list, str)) else [old] * draw(MANY)
    elif how == "deep":
        for _ in range(draw(MANY) % 500):
            old = [old]
        inner[place[-1]] = old
    elif how == "other" or not isinstance(old, (int, str)):
        inner[place[-1]] = draw(st.one_of(NUMBERS, NAMES, st.none(), st.booleans(), st.just([]), st.just({})))
    else:
        text = TEXTS if place == ("text",) else NAMES
        inner[place[-1]] = draw(NUMBERS if isinstance(old, int) else text)
    return line


def repeated(line: dict[str, Any], times: int) -> list[dict[str, Any]]:
    """Return a line many times, each about something else."""
    found = []
    for number in range(times):
        one = dict(line)
        for name in ("pid", "tid", "serial", "root_tid", "waker_tid", "cpu"):
            if isinstance(one.get(name), int):
                one[name] += number
        for name in ("object", "root_object", "comm", "name", "device", "path"):
            if isinstance(one.get(name), str):
                one[name] = f"{one[name]}{number}"
        found.append(one)
    return found


@st.composite
def recordings(draw: st.DrawFn) -> bytes:
    """Return a recording that was tampered with."""
    head, *body, foot = samples()
    chosen = draw(st.lists(st.sampled_from(body), max_size=25))
    lines: list[dict[str, Any]] = [head]
    for line in chosen:
        for _ in range(draw(st.sampled_from([0, 1, 1, 2, 3]))):
            line = changed(draw, line)
        lines += repeated(line, draw(MANY)) if draw(st.integers(0, 9)) == 0 else [line]
    lines.append(foot)
    for _ in range(draw(st.sampled_from([0, 0, 0, 0, 1, 2]))):  # most changes of these have it refused
        where = draw(st.sampled_from([0, -1]))
        lines[where] = changed(draw, lines[where])
    if draw(st.integers(0, 9)) == 0:
        lines.reverse()
        lines.insert(0, head)
    data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    if draw(st.integers(0, 9)) == 0:
        data = data[: draw(st.integers(0, len(data)))]
    return data


def check(data: bytes) -> None:
    """Report a recording in every form: it is refused with a hint, or reported within the bound, without a command to a
    terminal in it."""
    begun = time.process_time()
    try:
        model = builder.build(reader.read(io.BytesIO(data)))
    except RecordingError as error:
        assert error.hint and "\n" not in str(error) and str(error).isprintable(), repr(str(error))
        return
    diagnosis = diagnose(model)
    made = assembly.make(model, diagnosis, Config())
    for full in (False, True):
        for line in terminal.lines(made, full=full):
            assert line.plain.isprintable(), repr(line.plain)
    msgspec.json.decode(b"".join(json_document.pieces(made)))
    took = time.process_time() - begun
    assert not [silence.reason for silence in diagnosis.silences if "the rule itself failed" in silence.reason]
    # Three reports were made of it.
    assert took <= 3 * (FIRST_SECONDS + len(data) / BYTES_PER_SECOND), f"{len(data):,} bytes took {took:.2f} s"


__all__ = ["check", "recordings"]
