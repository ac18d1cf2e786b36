"""Where requests come in, as a report shows it."""

from collections.abc import Iterable

from perfdiag.common.text import printable
from perfdiag.common.units import first_of
from perfdiag.model.object_names import file_parts
from perfdiag.recording import schema

_SHOWN = 2


def places(lines: Iterable[schema.Silent | schema.Exchange | schema.RequestLeft]) -> str:
    """Return where the first of these are, as it is shown."""
    return first_of(list(dict.fromkeys(place(line.object) for line in lines)), _SHOWN)


def place(object: str) -> str:
    """Return where requests come in, as it is shown: a port, or a unix socket by the name of its file."""
    file = file_parts(object)
    if file and file[2]:
        return printable(file[2])
    return printable(object.replace("port:", "port ", 1))


__all__ = ["place", "places"]
