"""Recordings of incidents, shrunk: with them the diagnosis is tested where no lab runs."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path

import msgspec
from perfdiag.common.config import Config
from perfdiag.diagnosis import engine
from perfdiag.model import builder
from perfdiag.recording import reader
from perfdiag.report import assembly
from perfdiag.report.contract import Report

from incidents.support.incident import Case

SUFFIX = ".jsonl.gz"
LARGEST_BYTES = 60_000
# What no finding of a whole window is made of: sums by interval; and what few are: what the kernel said since it was
# booted.
INTERVALS, KERNEL_LOG = '{"type":"interval"', '"path":"/dev/kmsg"'


class Shrunk(Exception):
    """A recording that says something else, or is still too large, once it is shrunk."""


def report_of(recording: bytes) -> Report:
    """Report a recording, here."""
    model = builder.build(reader.read(io.BytesIO(recording)))
    return assembly.make(model, engine.diagnose(model), Config())


def shrink(recording: bytes) -> bytes:
    """Return a recording, compressed and without what its findings do not need.  Raises Shrunk."""
    found = _found(report_of(recording))
    kept = _without(recording, INTERVALS, KERNEL_LOG)
    if _found(report_of(kept)) != found:
        kept = _without(recording, INTERVALS)
    if _found(report_of(kept)) != found:
        raise Shrunk("its findings are others once it is shrunk")
    small = gzip.compress(kept, 9, mtime=0)
    if len(small) > LARGEST_BYTES:
        raise Shrunk(f"{len(small):,} bytes are too many")
    return small


def keep(case: Case, recording: Path, directory: Path) -> None:
    """Write the recording of a case, shrunk, to where the unit tests find it.  Raises Shrunk, OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{case.incident}.{case.name}{SUFFIX}").write_bytes(shrink(recording.read_bytes()))


def kept(directory: Path) -> Iterator[tuple[str, Path]]:
    """Yield "INCIDENT/NAME" and the recording of every case that was kept."""
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        yield path.name.removesuffix(SUFFIX).replace(".", "/", 1), path


def _without(recording: bytes, *parts: str) -> bytes:
    lines = recording.decode().splitlines(keepends=True)
    return "".join(line for line in lines if not any(part in line[:200] for part in parts)).encode()


def _found(made: Report) -> list[bytes]:
    return [msgspec.json.encode(finding) for finding in made.findings]


__all__ = ["LARGEST_BYTES", "Shrunk", "keep", "kept", "report_of", "shrink"]
