"""Where requests come in, as a report shows it."""

from collections.abc import Iterable

from perfdiag.common.text import printable
from perfdiag.common.units import first_of
from perfdiag.recording import schema

_SHOWN = 2


def places(lines: Iterable[schema.Silent | schema.Exchange | schema.RequestLeft]) -> str:
    """Return where the first of these are, as it is shown."""
    return first_of(list(dict.fromkeys(place(line.object) for line in lines)), _SHOWN)


def place(object: str) -> str:
    """Return where requests come in, as it is shown."""
    return printable(object.replace("port:", "port ", 1))


__all__ = ["place", "places"]
