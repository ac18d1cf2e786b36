"""File descriptors that the kernel refused, as the recorder's events say it."""

from __future__ import annotations

from perfdiag.model.model import Model
from perfdiag.recording import schema

EMFILE, ENFILE = REFUSALS = ("EMFILE", "ENFILE")  # the limit of the process, of the system


def refusals(model: Model) -> list[schema.Event]:
    """Return the events of descriptors refused in the window."""
    return [event for event in model.events if any(map(words_of(event).__contains__, REFUSALS))]


def words_of(event: schema.Event) -> str:
    """Return all words of an event."""
    return f"{event.name} {event.text}"


__all__ = ["EMFILE", "ENFILE", "refusals", "words_of"]
