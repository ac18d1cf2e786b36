"""A report as one JSON document."""

from __future__ import annotations

from typing import Any

import msgspec

from perfdiag.text import whole


def render(report: msgspec.Struct) -> bytes:
    """Return the document, indented, with a newline at its end; no text of it can command a terminal."""
    return msgspec.json.format(msgspec.json.encode(_escaped(msgspec.to_builtins(report))), indent=2) + b"\n"


def _escaped(value: Any) -> Any:
    """Return a value whose texts are printable: whoever adds a field to a report need not think of it."""
    match value:
        case str():
            return whole(value)
        case dict():
            return {whole(str(name)): _escaped(each) for name, each in value.items()}
        case list() | tuple():
            return [_escaped(each) for each in value]
    return value


__all__ = ["render"]
