"""File descriptors that the kernel refuses: the recorder's events say it, or no descriptor is left."""

from __future__ import annotations

from perfdiag.model.model import Model
from perfdiag.recording import schema

EMFILE, ENFILE = REFUSALS = ("EMFILE", "ENFILE")  # the limit of the process, of the system


def refusals(model: Model) -> list[schema.Event]:
    """Return the events of descriptors refused in the window."""
    return [event for event in model.events if any(map(words_of(event).__contains__, REFUSALS))]


def are_refused(model: Model) -> bool:
    """Return whether the kernel refuses descriptors: who reads the target's requests has none left, where refusals are
    not seen."""
    if refusals(model) or model.measured("operations"):
        return bool(refusals(model))
    readers = {thread.pid for thread in model.threads if thread.requests_read}
    return any((each.part or 0.0) >= 1 for each in model.facts.descriptors.values() if each.pid in readers)


def words_of(event: schema.Event) -> str:
    """Return all words of an event."""
    return f"{event.name} {event.text}"


__all__ = ["EMFILE", "ENFILE", "are_refused", "refusals", "words_of"]
