"""File descriptors that the kernel refuses: the recorder's events say it, or no descriptor is left."""

from perfdiag.model.model import Model
from perfdiag.recording import schema

EMFILE, ENFILE = REFUSALS = ("EMFILE", "ENFILE")  # the limit of the process, of the system


def refusals(model: Model) -> list[schema.Event]:
    """Return the events of descriptors refused in the window."""
    return [event for event in model.events if any(map(words_of(event).__contains__, REFUSALS))]


def are_refused(model: Model) -> bool:
    """Return whether the kernel refuses descriptors."""
    return bool(refusals(model) or readers_without_any(model))


def readers_without_any(model: Model) -> set[int]:
    """Return the processes that read requests and have no descriptor left; none where refusals are seen: these tell."""
    if model.measured("operations"):
        return set()
    full = {each.pid for each in model.facts.descriptors.values() if (each.part or 0.0) >= 1}
    return full & {thread.pid for thread in model.threads if thread.requests_read}


def words_of(event: schema.Event) -> str:
    """Return all words of an event."""
    return f"{event.name} {event.text}"
