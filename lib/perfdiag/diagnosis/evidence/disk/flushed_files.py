"""The files whose flushes threads wait for."""

from perfdiag.common.units import first_of, plural
from perfdiag.diagnosis.rule import Evidence
from perfdiag.diagnosis.significance import brief, duration
from perfdiag.model.model import FileFlush, Model

SHOWN = 2
LEAST = 0.1  # of the time of all on that device


def flushed_files(model: Model, device: str) -> str:
    """Return which files of a device ("254:0") are flushed most: "counts.db-wal and counts.db", "" if none is known."""
    names = [each.name for each in _large(model, device)]
    if not names:
        return ""
    return brief(" and ".join(names) if len(names) <= SHOWN else first_of(names, SHOWN))


def flushes_shown(model: Model, device: str) -> list[Evidence]:
    """Return as evidence how often these files were flushed, and for how long threads waited for that."""
    return [
        Evidence(
            f"{each.name}: {plural(each.waits, 'wait')} for its flushes, {duration(each.waited_ns)}",
            float(each.waited_ns),
            "ns",
            "ledger",
        )
        for each in _large(model, device)[:SHOWN]
    ]


def _large(model: Model, device: str) -> list[FileFlush]:
    found = [each for each in model.files_flushed if each.device == device]
    whole_ns = sum(each.waited_ns for each in found)
    return [each for each in found if each.waited_ns >= LEAST * whole_ns]
